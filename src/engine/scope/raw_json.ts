/** JSON texts in which numbers keep the form in which they were written. */
import type { Json } from "../../base/json.ts";
import { checkDepth } from "../../base/json_text.ts";
import { compactJson, goJsonFault } from "./expressions.ts";

/** Tells whether a text is a JSON object or list. */
export function isJsonContainer(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * A JSON list of JSON texts, without blanks.
 * @throws {Error} with the wording of the reference when one of them is not JSON
 */
export function listOfJsonTexts(texts: readonly string[]): string {
  return `[${texts.map((text) => (parseJson(text), compact(text))).join(",")}]`;
}

/**
 * A JSON list of what texts hold when all of them are JSON objects or lists, or else of the texts. What they hold is read as the
 * reference reads it, so members come out sorted and numbers as floats.
 */
export function listOfValues(texts: readonly string[]): string {
  if (texts.every(isJsonContainer)) {
    try {
      return compactJson(texts.map((text) => JSON.parse(text) as Json));
    } catch {
      // A number is too large for a float.
    }
  }
  return compactJson([...texts]);
}

/**
 * Reads JSON.
 * @throws {Error} with the wording of the reference when the text is not JSON; when it nests deeper than a body may
 */
export function parseJson(text: string): unknown {
  checkDepth(text);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(goJsonFault(text));
  }
}

/** A number whose text matters, such as `2.50` or `3e2`. JSON.rawJSON makes it, and JSON.stringify writes it back. */
interface RawNumber {
  rawJSON: string;
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): RawNumber };

/**
 * Reads JSON. Numbers that JavaScript would write differently keep their text.
 * @throws {Error} with the wording of the reference when the text is not JSON
 */
export function parseExactJson(text: string): unknown {
  const plain = parseJson(text);
  // Without digits there are no numbers.
  if (!/\d/.test(text)) return plain;
  const keep = (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && source !== String(value)
      ? rawJSON(source)
      : value;
  };
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}

function isRawNumber(value: object): value is RawNumber {
  return Object.hasOwn(value, "rawJSON") && Object.isFrozen(value);
}

/** Tells whether an item is a map with members. */
export function isPlainMap(item: Json): item is { [key: string]: Json } {
  return typeof item === "object" && item !== null && !Array.isArray(item) && !isRawNumber(item);
}

/** Compact JSON, with members and numbers as they were written. */
export function exactJson(value: Json): string {
  return writeJson(value, compactJson);
}

/** @param write writes texts, and what JavaScript writes as it was written */
function writeJson(value: Json, write: (value: Json) => string): string {
  if (Array.isArray(value)) return `[${value.map((one) => writeJson(one, write)).join(",")}]`;
  if (isPlainMap(value)) return jsonMap(value, Object.keys(value), write);
  return typeof value === "object" && value !== null ? value["rawJSON"] as string : write(value);
}

/** A part of a loop's item: a text as it is, or JSON in which `<`, `>` and `&` are not escaped. */
export function partText(part: Json): string {
  return typeof part === "string" ? part : writeJson(part, JSON.stringify);
}

/** The same value, with the members of all maps sorted. */
export function withSortedMembers(value: Json): Json {
  if (Array.isArray(value)) return value.map(withSortedMembers);
  if (!isPlainMap(value)) return value;
  const members = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return Object.fromEntries(members.map(([key, part]) => [key, withSortedMembers(part)]));
}

/** The same, with the members of the value itself, but not those of its parts, sorted. */
export function sortedJson(value: Json): string {
  return isPlainMap(value)
    ? jsonMap(value, Object.keys(value).sort(), compactJson)
    : exactJson(value);
}

function jsonMap(
  value: { [key: string]: Json },
  keys: readonly string[],
  write: (value: Json) => string,
): string {
  const members = keys.map((key) => `${write(key)}:${writeJson(value[key] ?? null, write)}`);
  return `{${members.join(",")}}`;
}

const ESCAPED: Readonly<Record<string, string>> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
};

/** Removes blanks outside of strings, and escapes characters of HTML. */
export function compact(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => part.startsWith('"') ? part : "")
    .replace(/[<>&]/g, (char) => ESCAPED[char] ?? char);
}
