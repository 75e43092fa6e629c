/** Values as text: Go's default formatting (`%v`) and JSON as Go's encoder writes it. */

import { BudgetExceeded, fault } from "./error.ts";
import { MONTHS, WEEKDAYS } from "./go_calendar.ts";
import { durationText } from "./go_duration.ts";
import { formatTime, timeText } from "./go_time_format.ts";
import type { RunContext } from "./run_context.ts";
import { compareStrings } from "./utf8.ts";
import {
  AnyMap,
  elementType,
  GoDuration,
  GoFunction,
  GoTime,
  GoZone,
  isNilList,
  mapElementType,
  NamedInt,
  objectOf,
  type Value,
  type ValueMap,
} from "./values.ts";

/**
 * Longest text that one conversion may produce, in UTF-16 units. By sharing, a small value can stand for a huge text.
 */
const MAX_TEXT_LENGTH = 4_000_000;

const MAX_PIECES = 1_000_000;
/** Steps for one piece of a text, and for one entry of a map, since maps are sorted. */
const STEPS_PER_PIECE = 2;
const STEPS_PER_ENTRY = 8;

/** A text that grows piece by piece, up to {@link MAX_TEXT_LENGTH}. */
class TextBuilder {
  text = "";
  readonly context: RunContext | undefined;
  #pieces = 0;

  constructor(context: RunContext | undefined) {
    this.context = context;
  }

  add(piece: string): void {
    this.text += piece;
    this.context?.step(STEPS_PER_PIECE + piece.length / 64);
    if (++this.#pieces > MAX_PIECES) throw new BudgetExceeded("memory budget exceeded");
    if (this.text.length > MAX_TEXT_LENGTH) throw new BudgetExceeded("memory budget exceeded");
  }
}

/** Runs a conversion; a value that is too deeply nested for the stack becomes a fault. */
function build(context: RunContext | undefined, write: (out: TextBuilder) => void): string {
  const out = new TextBuilder(context);
  try {
    write(out);
  } catch (error) {
    if (error instanceof RangeError) fault("value is nested too deeply");
    throw error;
  }
  return out.text;
}

/**
 * A float as `%v` writes it: shortest digits, exponent form below 1e-4 and from 1e6 on… with two exponent digits.
 */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const size = Math.abs(value);
  // Here JavaScript writes the same text.
  if (size >= 1e-4 && size < 1e6) return String(value);
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  const digits = String(Math.abs(exponent)).padStart(2, "0");
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${digits}`;
}

/**
 * Any value as Go's `%v` writes it.
 * @param context the evaluation that pays for it; nobody by default
 * @throws {BudgetExceeded} when the text would be longer than {@link MAX_TEXT_LENGTH}
 */
export function goString(value: Value, context?: RunContext): string {
  if (typeof value === "string") return value;
  return build(context, (out) => writeGoString(out, value));
}

function writeGoString(out: TextBuilder, value: Value): void {
  switch (typeof value) {
    case "string":
      return out.add(value);
    case "number":
      return out.add(floatText(value));
    case "bigint":
    case "boolean":
      return out.add(String(value));
  }
  if (value === null) return out.add("<nil>");
  if (Array.isArray(value)) return writeList(out, value);
  if (value instanceof Uint8Array) {
    out.context?.step(value.length / 2);
    return out.add(`[${value.join(" ")}]`);
  }
  if (value instanceof AnyMap) {
    out.context?.step(value.entries.size * STEPS_PER_ENTRY);
    return writeEntries(out, [...value.entries].sort(byAnyKey));
  }
  const scalar = scalarText(value);
  if (scalar !== undefined) return out.add(scalar);
  writeEntries(out, sortedEntries(out, value as ValueMap));
}

function writeList(out: TextBuilder, list: readonly Value[]): void {
  out.add("[");
  for (const [i, item] of list.entries()) {
    if (i > 0) out.add(" ");
    writeGoString(out, item);
  }
  out.add("]");
}

function writeEntries(out: TextBuilder, entries: readonly (readonly [Value, Value])[]): void {
  out.add("map[");
  for (const [i, [key, item]] of entries.entries()) {
    if (i > 0) out.add(" ");
    writeGoString(out, key);
    out.add(":");
    writeGoString(out, item);
  }
  out.add("]");
}

/** The text of values that are objects of our classes, but neither lists nor maps. */
function scalarText(value: Value): string | undefined {
  if (value instanceof GoDuration) return durationText(value.ns);
  if (value instanceof GoTime) return timeText(value);
  if (value instanceof GoZone) return value.name;
  if (value instanceof NamedInt) return namedIntText(value);
  if (value instanceof GoFunction) return "func";
  return objectOf(value)?.text;
}

function namedIntText({ kind, value }: NamedInt): string {
  switch (kind) {
    case "uint8":
    case "int64":
    case "uint64":
      return String(value);
    case "time.Month":
      return MONTHS[Number(value) - 1] ?? `%!Month(${value})`;
    case "time.Weekday":
      return WEEKDAYS[Number(value)] ?? `%!Weekday(${value})`;
  }
}

function sortedEntries(out: TextBuilder, map: ValueMap): [string, Value][] {
  const entries = Object.entries(map);
  if (entries.length > 1) out.context?.step(entries.length * STEPS_PER_ENTRY);
  return entries.sort(([a], [b]) => compareStrings(a, b));
}

/** Go shows the keys of a map by type, in the order in which its types lie in memory. */
const KEY_TYPES = ["<nil>", "string", "uint8", "int64", "int", "float64", "bool", "time.Month"];

/** Keys of one type are in the order of their values; those that have none, by their text. */
function byAnyKey([a]: readonly [Value, Value], [b]: readonly [Value, Value]): number {
  const [one, other] = [goTypeName(a), goTypeName(b)];
  if (one !== other) return typeRank(one) - typeRank(other);
  const [low, high] = [sortKey(a), sortKey(b)];
  if (typeof low === "bigint" || typeof low === "number") return Number(low) - Number(high);
  return compareStrings(goString(a), goString(b));
}

function typeRank(type: string): number {
  const rank = KEY_TYPES.indexOf(type);
  return rank < 0 ? KEY_TYPES.length : rank;
}

/** Bytes, months and durations are in the order of their numbers. */
function sortKey(key: Value): Value {
  if (key instanceof GoDuration) return key.ns;
  return key instanceof NamedInt ? key.value : key;
}

/**
 * A value as JSON text: keys sorted, `<`, `>` and `&` escaped.
 * @param indent blanks for each level; 0 for one line
 * @param context the evaluation that pays for it; nobody by default
 * @throws {Fault} when the value has no JSON form (infinite numbers, functions, maps with other keys than strings)
 * @throws {BudgetExceeded} when the text would be longer than {@link MAX_TEXT_LENGTH}
 */
export function toJsonText(value: Value, indent = 0, context?: RunContext): string {
  return build(context, (out) => writeJson(out, value, indent, "\n"));
}

function writeJson(out: TextBuilder, value: Value, indent: number, newline: string): void {
  switch (typeof value) {
    case "string":
      return addJsonString(out, value);
    case "number":
      return out.add(jsonNumber(value));
    case "bigint":
    case "boolean":
      return out.add(String(value));
  }
  if (value === null) return out.add("null");
  if (Array.isArray(value)) {
    if (isNilList(value)) return out.add("null");
    out.context?.step(value.length);
    const items = value.map((item) => (inner: string) => writeJson(out, item, indent, inner));
    return writeBrackets(out, "[]", items, indent, newline);
  }
  const scalar = jsonScalar(value);
  if (scalar !== undefined) return out.add(scalar);
  const entries = sortedEntries(out, value as ValueMap).map(([key, item]) => (inner: string) => {
    addJsonString(out, key);
    out.add(indent > 0 ? ": " : ":");
    writeJson(out, item, indent, inner);
  });
  writeBrackets(out, "{}", entries, indent, newline);
}

function writeBrackets(
  out: TextBuilder,
  brackets: string,
  items: readonly ((newline: string) => void)[],
  indent: number,
  newline: string,
): void {
  if (items.length === 0) return out.add(brackets);
  const inner = newline + " ".repeat(indent);
  out.add(brackets.charAt(0));
  for (const [i, write] of items.entries()) {
    if (i > 0) out.add(",");
    if (indent > 0) out.add(inner);
    write(inner);
  }
  if (indent > 0) out.add(newline);
  out.add(brackets.charAt(1));
}

/** Escapes take longer than other characters, and each makes the text longer. */
function addJsonString(out: TextBuilder, text: string): void {
  out.context?.step(text.length / 32);
  const json = jsonString(text);
  out.context?.step((json.length - text.length) / 2);
  out.add(json);
}

function jsonScalar(value: Value): string | undefined {
  if (value instanceof Uint8Array) return `"${base64Encode(value)}"`;
  if (value instanceof GoDuration) return String(value.ns);
  if (value instanceof NamedInt) return String(value.value);
  if (value instanceof GoZone) return "{}";
  if (value instanceof GoTime) return jsonString(jsonTime(value));
  if (value instanceof AnyMap) {
    return fault(`json: unsupported type: map[interface {}]${value.elementType}`);
  }
  if (value instanceof GoFunction) return fault("json: unsupported type: func");
  const object = objectOf(value);
  return object === undefined ? undefined : jsonString(object.text);
}

function jsonTime(time: GoTime): string {
  const text = formatTime(time, "2006-01-02T15:04:05.999999999Z07:00");
  if (!/^\d{4}-/.test(text)) {
    fault("json: error calling MarshalJSON for type time.Time: year outside of range [0,9999]");
  }
  return text;
}

/** A float as JSON; JavaScript's shortest form has the same exponent rules. */
function jsonNumber(value: number): string {
  if (!Number.isFinite(value)) fault(`json: unsupported value: ${floatText(value)}`);
  return Object.is(value, -0) ? "-0" : String(value);
}

// deno-lint-ignore no-control-regex
const JSON_SPECIAL = /["\\<>&\u0000-\u001f\u2028\u2029]/g;
const JSON_SHORT = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** A JSON string literal; each invalid byte becomes the escape of U+FFFD. */
export function jsonString(text: string): string {
  const escaped = text.replace(
    JSON_SPECIAL,
    (char) => JSON_SHORT.get(char) ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const isValid = escaped.isWellFormed();
  return `"${isValid ? escaped : escaped.replace(/\p{Surrogate}/gu, "\\ufffd")}"`;
}

/** JSON text in which `<`, `>` and `&` are not escaped. */
export function unescapeHtml(json: string): string {
  return json.replace(/\\\\|\\u003[ce]|\\u0026/g, (escape) => {
    if (escape === "\\\\") return escape;
    return String.fromCharCode(parseInt(escape.slice(2), 16));
  });
}

/** Standard base64 with padding. */
export function base64Encode(bytes: Uint8Array): string {
  const chunks: string[] = [];
  for (let i = 0; i < bytes.length; i += 0x6000) {
    chunks.push(btoa(String.fromCharCode(...bytes.subarray(i, i + 0x6000))));
  }
  return chunks.join("");
}

/** Name of a value's type, as Go's `%T` writes it: `float64`, `map[string]interface {}`. */
export function goTypeName(value: Value): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "number":
      return "float64";
    case "bigint":
      return "int";
    case "boolean":
      return "bool";
  }
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[]${elementType(value)}`;
  if (value instanceof Uint8Array) return "[]uint8";
  if (value instanceof AnyMap) return `map[interface {}]${value.elementType}`;
  if (value instanceof GoDuration) return "time.Duration";
  if (value instanceof GoTime) return "time.Time";
  if (value instanceof GoZone) return "*time.Location";
  if (value instanceof NamedInt) return value.kind;
  if (value instanceof GoFunction) return value.typeName;
  return objectOf(value)?.typeName ?? `map[string]${mapElementType(value)}`;
}
