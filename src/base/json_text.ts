/**
 * JSON text in and out. Reading takes the first value of a text, as clients of the reference rely on, and refuses what
 * nests too deep or has too many members; writing escapes what could end a script element.
 */
import { jsonFault } from "./json_fault.ts";
import { invalid, Problem, ProblemCode } from "./problem.ts";
import { isJsonObject, type Json, type JsonObject, setMember } from "./json.ts";

/** Deepest nesting that is read; everything that walks a value may recurse this deep. */
export const MAX_JSON_DEPTH = 500;

/** Default limit on the members of a value: objects, lists, and what they contain. */
export const MAX_JSON_MEMBERS = 250_000;

/**
 * Reads the first JSON value of a text and ignores what follows it; undefined when the text is blank.
 * @param maxMembers limit on objects, lists, and what they contain. Their number decides what parsing costs, far more
 * than the length of the text, so they are counted first
 * @throws {Problem} InvalidArgument when the text does not begin with a JSON value, or it nests too deep;
 * ResourceExhausted (413) when it has more members
 */
export function readFirstJson(text: string, maxMembers = MAX_JSON_MEMBERS): Json | undefined {
  // A member takes at least one character.
  if (text.length > maxMembers && hasMoreMembers(text, maxMembers)) {
    throw tooManyMembers(maxMembers);
  }
  if (isShallow(text)) {
    try {
      return parseWhole(text);
    } catch {
      // No value, more than one, or a mistake: handled below.
    }
  }
  const start = startOfValue(text);
  if (start === text.length) return undefined;
  const end = endOfValue(text, start);
  try {
    return parseWhole(text.slice(start, end));
  } catch {
    throw invalid(`the body is not JSON: ${jsonFault(text)}`);
  }
}

/**
 * Parses a text. Half of a surrogate pair, which only an escape can bring in, becomes U+FFFD, as in the reference: it is
 * no character, and not every store could keep it.
 */
function parseWhole(text: string): Json {
  const value = JSON.parse(text) as Json;
  return /\\u[dD][89a-fA-F]/.test(text) ? wellFormed(value) : value;
}

function wellFormed(value: Json): Json {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const key in value) setMember(copy, key.toWellFormed(), wellFormed(value[key] ?? null));
  return copy;
}

/**
 * Refuses a text that nests deeper than what is read, before it is parsed: that would take long.
 * @throws {Problem} InvalidArgument
 */
export function checkDepth(text: string): void {
  if (!isShallow(text)) endOfValue(text, startOfValue(text));
}

/** Parses a text that may be damaged; undefined when it is not JSON. */
export function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Writes compact JSON with `<`, `>`, `&` and the two line separators escaped. */
export function writeJson(value: unknown): string {
  return escapeMarkup(JSON.stringify(value));
}

/** Characters that could be mistaken for markup, and their JSON escapes. */
const MARKUP = ["<", ">", "&", "\u2028", "\u2029"].map((char) =>
  [char, `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`] as const
);

/** JSON text with `<`, `>`, `&` and the two line separators escaped, as Go's encoder writes it. */
export function escapeMarkup(json: string): string {
  if (!/[<>&\u2028\u2029]/.test(json)) return json;
  let text = json;
  // One pass for each character is far cheaper than a function call for each match.
  for (const [char, escape] of MARKUP) text = text.replaceAll(char, escape);
  return text;
}

/** The refusal of a value with too many members. */
function tooManyMembers(maxMembers: number): Problem {
  return new Problem(
    ProblemCode.ResourceExhausted,
    `more than ${maxMembers} members (objects, lists, and what is in them); send less at a time, or ask for a larger ` +
      "--max-body-members",
    { status: 413 },
  );
}

/**
 * Tells whether a text has more members than this. Each member begins after an opening bracket or a comma, so those are
 * counted, except in strings. The text need not be JSON.
 */
function hasMoreMembers(text: string, most: number): boolean {
  let count = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === 0x5c) at++;
      else if (code === 0x22) isInString = false;
    } else if (code === 0x22) isInString = true;
    else if (code === 0x2c || code === 0x7b || code === 0x5b) {
      if (++count > most) return true;
    }
  }
  return false;
}

/** True when there are too few brackets for nesting that deep, so that most bodies need no closer look. */
function isShallow(text: string): boolean {
  let count = 0;
  for (const open of "{[") {
    for (let at = text.indexOf(open); at >= 0; at = text.indexOf(open, at + 1)) {
      if (++count > MAX_JSON_DEPTH) return false;
    }
  }
  return true;
}

function startOfValue(text: string): number {
  let at = 0;
  while (at < text.length && " \t\r\n".includes(text.charAt(at))) at++;
  return at;
}

/** Position after the value that starts at `start`; only brackets and strings matter here. */
function endOfValue(text: string, start: number): number {
  const first = text.charAt(start);
  if (first === '"') return endOfString(text, start);
  if (first !== "{" && first !== "[") {
    let at = start;
    while (at < text.length && !" \t\r\n,:]}[{".includes(text.charAt(at))) at++;
    return Math.max(at, start + 1);
  }
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at) - 1;
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > MAX_JSON_DEPTH) throw invalid(`JSON nests deeper than ${MAX_JSON_DEPTH}`);
    } else if (code === 0x7d || code === 0x5d) {
      if (--depth === 0) return at + 1;
    }
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at++;
    else if (code === 0x22) return at + 1;
  }
  return text.length;
}
