/** Pure: what jq's operators do with JSON values, and what that takes from the budget. */
import { isJsonObject, type Json } from "../../base/json.ts";
import { Fault } from "../../expr/values/error.ts";
import { toJsonText, unescapeHtml } from "../../expr/values/go_text.ts";
import { fromJson } from "../../expr/values/values.ts";
import type { RunContext } from "../../expr/values/run_context.ts";
import { indexOfText, splitText as splitAt } from "../../expr/values/text_search.ts";

/** Steps that each key of an object takes where they are listed or sorted. */
const STEPS_PER_KEY = 4;
/** More than an output parameter may hold, characters. */
const MAX_TEXT = 1024 * 1024;

/** A jq filter that can't be read, or does not fit what it is given. */
export class JqError extends Error {}

export function typeName(value: Json): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

export function isTrue(value: Json): boolean {
  return value !== null && value !== false;
}

const ORDER = ["null", "boolean", "number", "string", "array", "object"];

/** jq's order of all values: null, false, true, numbers, strings, arrays, objects. */
export function compareValues(a: Json, b: Json, context: RunContext): number {
  context.step();
  if (a === b) return 0;
  const [left, right] = [typeName(a), typeName(b)];
  if (left !== right) return ORDER.indexOf(left) - ORDER.indexOf(right);
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b, context);
  if (isJsonObject(a) && isJsonObject(b)) {
    const [mine, others] = [sortedKeys(a, context), sortedKeys(b, context)];
    return compareLists(mine, others, context) ||
      compareLists(
        mine.map((key) => a[key] ?? null),
        others.map((key) => b[key] ?? null),
        context,
      );
  }
  if (typeof a === "string" && typeof b === "string") {
    context.step(Math.min(a.length, b.length) / 64);
  }
  const [one, other] = [a, b] as [number, number];
  return one === other ? 0 : one < other ? -1 : 1;
}

function compareLists(a: readonly Json[], b: readonly Json[], context: RunContext): number {
  for (const [at, one] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    const order = compareValues(one, other, context);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

export function sortedKeys(value: { [key: string]: Json }, context: RunContext): string[] {
  const keys = Object.keys(value);
  context.step(keys.length * STEPS_PER_KEY);
  return keys.sort();
}

/** `.name`, `.["name"]`, `.[0]`; what is not there is null. */
export function memberOf(value: Json, key: Json): Json {
  if (value === null && (typeof key === "string" || typeof key === "number")) return null;
  if (isJsonObject(value) && typeof key === "string") {
    return Object.hasOwn(value, key) ? value[key] ?? null : null;
  }
  if (Array.isArray(value) && typeof key === "number") return value.at(Math.floor(key)) ?? null;
  const shown = typeof key === "string" ? `"${key}"` : typeName(key);
  throw new JqError(`Cannot index ${typeName(value)} with ${shown}`);
}

/** `.[]`; those of an object in the order of their keys. */
export function elementsOf(value: Json, context: RunContext): Json[] {
  if (Array.isArray(value)) return value;
  if (!isJsonObject(value)) throw new JqError(`Cannot iterate over ${typeName(value)}`);
  return sortedKeys(value, context).map((key) => value[key] ?? null);
}

/** A value as text: text as it is, anything else as JSON. */
export function asText(value: Json, context: RunContext): string {
  return typeof value === "string" ? value : jsonText(value, context);
}

/** A value as JSON, with the keys of objects sorted. A small value can stand for a huge text: that is paid for as it is made. */
export function jsonText(value: Json, context: RunContext): string {
  return unescapeHtml(escapedJson(value, context));
}

/** The same as the reference writes a result: what HTML would read is escaped. */
export function escapedJson(value: Json, context: RunContext): string {
  try {
    return toJsonText(fromJson(value), 0, context);
  } catch (error) {
    if (error instanceof Fault) throw new JqError(error.message);
    throw error;
  }
}

type Operation = (a: Json, b: Json, context: RunContext) => Json | undefined;

const OPERATIONS: Record<string, Operation> = {
  "==": (a, b, context) => compareValues(a, b, context) === 0,
  "!=": (a, b, context) => compareValues(a, b, context) !== 0,
  "<": (a, b, context) => compareValues(a, b, context) < 0,
  "<=": (a, b, context) => compareValues(a, b, context) <= 0,
  ">": (a, b, context) => compareValues(a, b, context) > 0,
  ">=": (a, b, context) => compareValues(a, b, context) >= 0,
  "+": add,
  "-": (a, b, context) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (!Array.isArray(a) || !Array.isArray(b)) return undefined;
    return a.filter((one) => !b.some((other) => compareValues(one, other, context) === 0));
  },
  "*": (a, b, context) => {
    if (typeof a === "number" && typeof b === "number") return a * b;
    if (typeof a === "string" && typeof b === "number") {
      if (!(b > 0)) return null;
      produce(a.length * b, context);
      return a.repeat(Math.max(1, b));
    }
    return isJsonObject(a) && isJsonObject(b) ? merged(a, b, context) : undefined;
  },
  "/": (a, b, context) => {
    if (typeof a === "string" && typeof b === "string") return splitText(a, b, context);
    if (typeof a !== "number" || typeof b !== "number") return undefined;
    if (b === 0) throw new JqError(`${a} and 0 cannot be divided because the divisor is zero`);
    return a / b;
  },
  "%": (a, b) => {
    if (typeof a !== "number" || typeof b !== "number") return undefined;
    if (Math.trunc(b) === 0) throw new JqError("the divisor is zero");
    return Math.trunc(a) % Math.abs(Math.trunc(b));
  },
};

/** Applies a binary operator of jq. */
export function operate(operator: string, a: Json, b: Json, context: RunContext): Json {
  context.step();
  const result = OPERATIONS[operator]?.(a, b, context);
  if (result === undefined) {
    throw new JqError(`${typeName(a)} ${operator} ${typeName(b)} makes no sense`);
  }
  return result;
}

/** The parts of a text between separators. */
export function splitText(text: string, by: string, context: RunContext): string[] {
  context.step(text.length / 16);
  const parts = splitAt(text, by);
  context.spend(parts.length);
  context.step(parts.length / 2);
  return parts;
}

function add(a: Json, b: Json, context: RunContext): Json | undefined {
  if (a === null) return b;
  if (b === null) return a;
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (typeof a === "string" && typeof b === "string") {
    produce(a.length + b.length, context);
    return a + b;
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    context.spend(a.length + b.length);
    return a.concat(b);
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return undefined;
  context.step((Object.keys(a).length + Object.keys(b).length) * STEPS_PER_KEY);
  return { ...a, ...b };
}

/** Takes a text that is about to be made from the budget. */
export function produce(length: number, context: RunContext): void {
  if (length > MAX_TEXT) throw new JqError("the text becomes too long");
  context.produce(length);
}

function merged(
  a: { [key: string]: Json },
  b: { [key: string]: Json },
  context: RunContext,
): Json {
  context.step((Object.keys(a).length + Object.keys(b).length) * STEPS_PER_KEY);
  const result = { ...a };
  for (const [key, value] of Object.entries(b)) {
    const old = result[key];
    result[key] = isJsonObject(old) && isJsonObject(value) ? merged(old, value, context) : value;
  }
  return result;
}

/** Tells whether a value has another in it, as `contains` means it. */
export function contains(context: RunContext, whole: Json, part: Json): boolean {
  context.step();
  if (typeof whole === "string" && typeof part === "string") {
    context.step((whole.length + part.length) / 16);
    return indexOfText(whole, part) >= 0;
  }
  if (Array.isArray(whole) && Array.isArray(part)) {
    return part.every((one) => whole.some((other) => contains(context, other, one)));
  }
  if (isJsonObject(whole) && isJsonObject(part)) {
    const entries = Object.entries(part);
    context.step(entries.length);
    return entries.every(([key, one]) =>
      Object.hasOwn(whole, key) && contains(context, whole[key] ?? null, one)
    );
  }
  return compareValues(whole, part, context) === 0;
}
