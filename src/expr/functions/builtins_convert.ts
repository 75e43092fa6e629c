/** Built-in functions that convert: types, JSON, base64, times. */

import { type Builtin, type BuiltinTable, INTEGER_KINDS, oneOf } from "./builtin.ts";
import { fault } from "../values/error.ts";
import { parseDuration } from "../values/go_duration.ts";
import { goJsonFault } from "../values/go_json_fault.ts";
import { parseTime } from "../values/go_time_parse.ts";
import { parseGoFloat } from "../values/go_number.ts";
import { base64Encode, goString, goTypeName, toJsonText } from "../values/go_text.ts";
import { loadZone, UTC } from "../values/go_zone.ts";
import { asString, floatToInt } from "../values/operators.ts";
import {
  ANY,
  DURATION,
  FLOAT,
  INT,
  type Signature,
  type StaticType,
  STRING,
  TIME,
  ZONE,
} from "../values/types.ts";
import type { RunContext } from "../values/run_context.ts";
import { utf8Bytes, utf8String, wellFormed } from "../values/utf8.ts";
import {
  AnyMap,
  fromJson,
  GoDuration,
  GoFunction,
  GoTime,
  GoZone,
  isPlainInt,
  NamedInt,
  type Value,
} from "../values/values.ts";

const MAX_INT = 2n ** 63n - 1n;
const MIN_INT = -(2n ** 63n);

function signature(params: readonly StaticType[], result: StaticType): Signature {
  return { params, result };
}

/** `int(value)`, also the helper `asInt`. @throws {Fault} */
export function toIntValue(value: Value): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return floatToInt(value);
  if (value instanceof NamedInt) return value.value;
  if (value instanceof GoDuration) return value.ns;
  if (value === null) return fault("reflect: call of reflect.Value.Type on zero Value");
  if (typeof value !== "string") return fault(`invalid operation: int(${goTypeName(value)})`);
  if (/^[+-]?\d{1,40}$/.test(value)) {
    const number = BigInt(value.replace(/^\+/, ""));
    if (number >= MIN_INT && number <= MAX_INT) return number;
  }
  return fault(`invalid operation: int(${value})`);
}

/** `float(value)`, also the helper `asFloat`. @throws {Fault} */
export function toFloatValue(value: Value): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (isPlainInt(value)) return Number(value.value);
  if (typeof value !== "string") return fault(`invalid operation: float(${goTypeName(value)})`);
  return parseGoFloat(value) ?? fault(`invalid operation: float(${value})`);
}

/** Name of a value's type, as `type(value)` gives it. */
export function typeOf(value: Value): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "number":
      return "float";
    case "bigint":
      return "int";
    case "boolean":
      return "bool";
  }
  if (value === null) return "nil";
  if (Array.isArray(value) || value instanceof Uint8Array) return "array";
  if (value instanceof AnyMap) return "map";
  if (value instanceof GoFunction) return "func";
  if (value instanceof NamedInt) return namedIntType(value);
  if (value instanceof GoTime) return "time.Time";
  if (value instanceof GoDuration) return "time.Duration";
  if (value instanceof GoZone) return "time.Location";
  return "map";
}

function namedIntType({ kind }: NamedInt): string {
  if (kind === "int64") return "int";
  return kind.startsWith("uint") ? "uint" : kind;
}

/** Reads JSON text. @throws {Fault} */
export function parseJsonText(text: string, context: RunContext): Value {
  context.step(1 + text.length / 2);
  const source = wellFormed(text);
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    return fault(goJsonFault(source));
  }
  // Only these texts can give infinite numbers or lone surrogates.
  if (/\d[eE]\+?\d{3}|\d{300}|\\u[dD]/.test(source)) return repaired(value);
  return fromJson(value);
}

/** Go rejects numbers that are out of range, and has no lone surrogates. */
function repaired(value: unknown): Value {
  if (typeof value === "number" && !Number.isFinite(value)) {
    return fault("json: cannot unmarshal number into Go value of type float64");
  }
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(repaired);
  if (typeof value !== "object" || value === null) return fromJson(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), repaired(item)]),
  );
}

const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

/** The bytes of standard base64 with padding; line breaks are skipped. @throws {Fault} */
export function base64Decode(text: string): Uint8Array {
  const plain = text.replace(/[\r\n]/g, "");
  if (!BASE64.test(plain)) fault(`illegal base64 data at input byte ${badByte(text)}`);
  const binary = atob(plain);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/**
 * The offset of the mistake, as Go counts it: that of the character that can't stand there. If the last group lacks
 * letters, as many characters before the end as it has.
 */
function badByte(text: string): number {
  let inGroup = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (/[A-Za-z\d+/]/.test(char)) inGroup = (inGroup + 1) % 4;
    else if (char !== "\n" && char !== "\r") {
      if (char !== "=" || inGroup < 2) return at;
      const next = afterBreaks(text, at + 1);
      if (inGroup === 3 || next === text.length) return next;
      return text.charAt(next) === "=" ? afterBreaks(text, next + 1) : next - 1;
    }
  }
  return text.length - inGroup;
}

function afterBreaks(text: string, from: number): number {
  let at = from;
  while (text.charAt(at) === "\n" || text.charAt(at) === "\r") at++;
  return at;
}

/** Layouts that `date` tries, each with a pattern of the texts that may fit it. */
const DATE_LAYOUTS: readonly (readonly [layout: string, shape: RegExp])[] = [
  ["2006-01-02", /^\d{4}-\d\d-\d\d$/],
  ["15:04:05", /^\d{1,2}:/],
  ["2006-01-02 15:04:05", /^\d{4}-\d\d-\d\d /],
  ["2006-01-02T15:04:05Z07:00", /^\d{4}-\d\d-\d\dT/],
  ["02 Jan 06 15:04 MST", /^\d\d [A-Za-z]/],
  ["Monday, 02-Jan-06 15:04:05 MST", /^[A-Za-z]{3,}day,/i],
  ["Mon, 02 Jan 2006 15:04:05 MST", /^[A-Za-z]{3},/],
];

/** `date(text)`, `date(text, layout)`, `date(text, layout, zone)`, each also with a zone value before it. */
function parseDate(args: readonly Value[]): GoTime {
  const [first] = args;
  const given = first instanceof GoZone ? first : UTC;
  const rest = first instanceof GoZone ? args.slice(1) : args;
  if (rest.length === 0) fault("runtime error: index out of range [0] with length 0");
  const text = asString(rest[0] ?? null);
  if (rest.length === 2) return parseTime(asString(rest[1] ?? null), text, given);
  if (rest.length === 3) {
    const layout = asString(rest[1] ?? null);
    return parseTime(layout, text, loadZone(asString(rest[2] ?? null)));
  }
  const layout = DATE_LAYOUTS.find(([, shape]) => shape.test(text))?.[0];
  const time = layout === undefined ? undefined : tryParse(layout, text, given);
  return time ?? fault(`invalid date ${text}`);
}

function tryParse(layout: string, text: string, zone: GoZone): GoTime | undefined {
  try {
    return parseTime(layout, text, zone);
  } catch {
    return undefined;
  }
}

/** Steps that a date or a zone costs; they are slow compared to other functions. */
const TIME_STEPS = 300;

/** Conversions by name. */
export const CONVERT_BUILTINS: BuiltinTable = new Map<string, Builtin>([
  ["type", { check: [signature([ANY], STRING)], run: ([value = null]) => typeOf(value) }],
  ["int", {
    check: oneOf(
      [...INTEGER_KINDS, "float", "string"],
      () => INT,
      (type) => `invalid argument for int (type ${type})`,
    ),
    run: ([value = null]) => toIntValue(value),
  }],
  ["float", {
    check: oneOf(
      [...INTEGER_KINDS, "float", "string"],
      () => FLOAT,
      (type) => `invalid argument for float (type ${type})`,
    ),
    run: ([value = null]) => toFloatValue(value),
  }],
  ["string", {
    check: [signature([ANY], STRING)],
    run: ([value = null], context) => {
      const text = goString(value, context);
      context.produce(text.length);
      return text;
    },
  }],
  ["toJSON", {
    check: [signature([ANY], STRING)],
    run: ([value = null], context) => {
      const text = toJsonText(value, 2, context);
      context.produce(text.length);
      return text;
    },
  }],
  ["fromJSON", {
    check: [signature([STRING], ANY)],
    run: ([text = null], context) => {
      const source = asString(text);
      return parseJsonText(source, context);
    },
  }],
  ["toBase64", {
    check: [signature([STRING], STRING)],
    run: ([text = null], context) => {
      const source = asString(text);
      context.step(1 + source.length);
      const encoded = base64Encode(utf8Bytes(source));
      context.produce(encoded.length);
      return encoded;
    },
  }],
  ["fromBase64", {
    check: [signature([STRING], STRING)],
    run: ([text = null], context) => {
      const source = asString(text);
      context.step(1 + source.length);
      return utf8String(base64Decode(source));
    },
  }],
  ["now", {
    // What is known to be a zone may be given, as with `date`.
    check: (args) =>
      args.length === 0 || (args.length === 1 && args[0]?.kind === "zone")
        ? TIME
        : { error: `invalid number of arguments (expected 0, got ${args.length})` },
    run: ([zone = null], context) => {
      const ms = context.now();
      const seconds = Math.floor(ms / 1_000);
      const nanos = Math.round((ms - seconds * 1_000) * 1e6);
      return new GoTime(seconds, nanos, zone instanceof GoZone ? zone : UTC);
    },
  }],
  ["duration", {
    check: [signature([STRING], DURATION)],
    run: ([text = null], context) => {
      const source = asString(text);
      context.step(10 + source.length * 2);
      return new GoDuration(parseDuration(source));
    },
  }],
  ["date", {
    check: (args) => {
      const [first] = args;
      if (first === undefined) {
        return { error: "invalid number of arguments (expected at least 1, got 0)" };
      }
      // What is known to be a zone may come before the text, the layout and the name of a zone.
      const most = first.kind === "zone" ? 4 : 3;
      return args.length <= most
        ? TIME
        : { error: `invalid number of arguments (expected at most ${most}, got ${args.length})` };
    },
    run: (args, context) => {
      context.step(TIME_STEPS);
      for (const arg of args) if (typeof arg === "string") context.step(arg.length * 6);
      return parseDate(args);
    },
  }],
  ["timezone", {
    check: [signature([STRING], ZONE)],
    run: ([name = null], context) => {
      const source = asString(name);
      context.step(TIME_STEPS + source.length);
      return loadZone(source);
    },
  }],
]);
