/** Pure: jq's functions about texts, and its formats. */
import { Buffer } from "node:buffer";
import { isJsonObject, type Json } from "../../base/json.ts";
import { Fault } from "../../expr/values/error.ts";
import { compileRegex } from "../../expr/values/regex.ts";
import { MeteredText } from "../../expr/values/regex_input.ts";
import type { RunContext } from "../../expr/values/run_context.ts";
import { asText, compareValues, JqError, jsonText, produce, typeName } from "./jq_values.ts";

/** A function with one result and no filters as arguments; an argument is evaluated first. */
export type Plain = (context: RunContext, input: Json, argument: Json) => Json;

export const TEXTS: Record<string, Plain> = {
  "tostring/0": (context, input) => asText(input, context),
  "tojson/0": (context, input) => jsonText(input, context),
  "test/1": (context, input, pattern) =>
    patternOf(textOf(pattern, "test"), context).matches(textOf(input, "test"), context),
  "startswith/1": (context, input, text) =>
    textOf(input, "startswith").startsWith(asText(text, context)),
  "endswith/1": (context, input, text) => textOf(input, "endswith").endsWith(asText(text, context)),
  "ltrimstr/1": (_, input, text) =>
    typeof input === "string" && typeof text === "string" && input.startsWith(text)
      ? input.slice(text.length)
      : input,
  "rtrimstr/1": (_, input, text) =>
    typeof input === "string" && typeof text === "string" && text !== "" && input.endsWith(text)
      ? input.slice(0, -text.length)
      : input,
  "trim/0": (context, input) => paid(textOf(input, "trim"), context).trim(),
  "ltrim/0": (context, input) => paid(textOf(input, "ltrim"), context).trimStart(),
  "rtrim/0": (context, input) => paid(textOf(input, "rtrim"), context).trimEnd(),
  "ascii_downcase/0": (context, input) =>
    paid(textOf(input, "ascii_downcase"), context).replace(/[A-Z]+/g, (run) => run.toLowerCase()),
  "ascii_upcase/0": (context, input) =>
    paid(textOf(input, "ascii_upcase"), context).replace(/[a-z]+/g, (run) => run.toUpperCase()),
  "utf8bytelength/0": (context, input) =>
    Buffer.byteLength(paid(textOf(input, "utf8bytelength"), context)),
  "fromdate/0": (_, input) => secondsOf(textOf(input, "fromdate")),
  "fromdateiso8601/0": (_, input) => secondsOf(textOf(input, "fromdateiso8601")),
  "todate/0": (_, input) => dateText(input),
  "todateiso8601/0": (_, input) => dateText(input),
  "@json/0": (context, input) => jsonText(input, context),
  "@text/0": (context, input) => asText(input, context),
  "@base64/0": (context, input) =>
    Buffer.from(paid(asText(input, context), context)).toString("base64"),
  "@base64d/0": (context, input) =>
    Buffer.from(paid(textOf(input, "@base64d"), context), "base64").toString("utf8"),
  "@uri/0": (context, input) => made(uri(paid(asText(input, context), context)), context),
  "@html/0": (context, input) =>
    made(escaped(paid(asText(input, context), context), /[<>&'"]/g, HTML), context),
  "@sh/0": (context, input) => rowOf(input, "@sh", " ", quoted, context),
  "@csv/0": (context, input) =>
    rowOf(
      listOf(input, "@csv"),
      "@csv",
      ",",
      (text) => `"${text.replaceAll('"', '""')}"`,
      context,
    ),
  "@tsv/0": (context, input) =>
    rowOf(
      listOf(input, "@tsv"),
      "@tsv",
      "\t",
      (text) => escaped(text, /[\t\n\r\\]/g, TSV),
      context,
    ),
};

/** A text, paid for as one that is read and written anew. */
export function paid(text: string, context: RunContext): string {
  context.step(text.length / 16);
  produce(text.length, context);
  return text;
}

export function textOf(input: Json, name: string): string {
  if (typeof input !== "string") {
    throw new JqError(`${name} of ${typeName(input)} makes no sense`);
  }
  return input;
}

export function listOf(input: Json, name: string): Json[] {
  if (!Array.isArray(input)) throw new JqError(`${name} of ${typeName(input)} makes no sense`);
  return input;
}

function patternOf(text: string, context: RunContext): ReturnType<typeof compileRegex> {
  try {
    return compileRegex(text, context);
  } catch (error) {
    if (error instanceof Fault) throw new JqError(error.message);
    throw error;
  }
}

/** The text with the first match of a pattern replaced, or with all. */
export function replaced(
  text: string,
  pattern: string,
  { by, isGlobal }: { by: string; isGlobal: boolean },
  context: RunContext,
): string {
  if (/\(\?P?</.test(pattern)) throw new JqError("groups with names are not supported in sub");
  const compiled = patternOf(pattern, context);
  const metered = new MeteredText(paid(text, context).toWellFormed(), context);
  let result = "";
  let end = 0;
  for (let from = 0; from <= text.length;) {
    const [start = -1, stop = -1] = compiled.find(metered, from, false) ?? [];
    if (start < 0) break;
    result += text.slice(end, start) + by;
    produce(result.length, context);
    context.step(1 + by.length / 16);
    end = stop;
    from = stop > start ? stop : stop + 1;
    if (!isGlobal) break;
  }
  return result + text.slice(end);
}

function secondsOf(text: string): number {
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(ms)) throw new JqError(`"${text.slice(0, 100)}" is not a date`);
  return ms / 1000;
}

function dateText(input: Json): string {
  const ms = typeof input === "number" ? Math.floor(input) * 1000 : NaN;
  if (Math.abs(ms) <= 8.64e15) return `${new Date(ms).toISOString().slice(0, -5)}Z`;
  throw new JqError(`todate of ${typeName(input)} makes no sense`);
}

const HTML: Readonly<Record<string, string>> = {
  "<": "&lt;",
  ">": "&gt;",
  "&": "&amp;",
  "'": "&#39;",
  '"': "&quot;",
};
const TSV: Readonly<Record<string, string>> = {
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
  "\\": "\\\\",
};

function escaped(text: string, what: RegExp, by: Readonly<Record<string, string>>): string {
  return text.replace(what, (char) => by[char] ?? char);
}

function uri(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function made(text: string, context: RunContext): string {
  produce(text.length, context);
  return text;
}

/** Values beside each other. */
function rowOf(
  input: Json,
  name: string,
  glue: string,
  write: (text: string) => string,
  context: RunContext,
): string {
  const cells = (Array.isArray(input) ? input : [input]).map((cell) => {
    context.step();
    if (typeof cell === "string") return made(write(paid(cell, context)), context);
    if (Array.isArray(cell) || isJsonObject(cell)) {
      throw new JqError(`${name} of ${typeName(cell)} makes no sense`);
    }
    return cell === null && name !== "@sh" ? "" : jsonText(cell, context);
  });
  return made(cells.join(glue), context);
}

/** Where a part stands in a text, or a value in an array: the places from its beginning. */
export function placesOf(whole: Json, part: Json, context: RunContext): number[] {
  const found: number[] = [];
  if (typeof whole === "string" && typeof part === "string") {
    context.step(1 + whole.length / 16);
    if (part === "") return found;
    for (let at = whole.indexOf(part); at >= 0; at = whole.indexOf(part, at + 1)) {
      context.spend(1);
      context.step(1 + part.length / 16);
      found.push(at);
    }
    return found;
  }
  for (const [at, one] of listOf(whole, "indices").entries()) {
    if (compareValues(one, part, context) !== 0) continue;
    context.spend(1);
    found.push(at);
  }
  return found;
}

/** The text between quotation marks. @throws {JqError} for an unknown escape */
export function textIn(raw: string): string {
  // deno-lint-ignore no-control-regex -- JSON has no control characters in texts, jq has
  const escaped = raw.replace(/[\u0000-\u001f]/g, (char) => JSON.stringify(char).slice(1, -1));
  try {
    return JSON.parse(`"${escaped}"`) as string;
  } catch {
    throw new JqError(`"${raw}" has an escape that does not exist`);
  }
}
