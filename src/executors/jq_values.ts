/** Pure: what jq's operators do with JSON values. */
import { isJsonObject, type Json } from "../base/json.ts";

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
export function compareValues(a: Json, b: Json): number {
  const [left, right] = [typeName(a), typeName(b)];
  if (left !== right) return ORDER.indexOf(left) - ORDER.indexOf(right);
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b);
  if (isJsonObject(a) && isJsonObject(b)) {
    const [mine, others] = [sortedKeys(a), sortedKeys(b)];
    return compareLists(mine, others) ||
      compareLists(mine.map((key) => a[key] ?? null), others.map((key) => b[key] ?? null));
  }
  const [one, other] = [a, b] as [number, number];
  return one === other ? 0 : one < other ? -1 : 1;
}

function compareLists(a: readonly Json[], b: readonly Json[]): number {
  for (const [at, one] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    const order = compareValues(one, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

export function sortedKeys(value: { [key: string]: Json }): string[] {
  return Object.keys(value).sort();
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

/** `.[]`. */
export function elementsOf(value: Json): Json[] {
  if (Array.isArray(value)) return value;
  if (isJsonObject(value)) return Object.values(value);
  throw new JqError(`Cannot iterate over ${typeName(value)}`);
}

/** A value as text: text as it is, anything else as JSON. */
export function asText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

type Operation = (a: Json, b: Json) => Json | undefined;

const OPERATIONS: Record<string, Operation> = {
  "==": (a, b) => compareValues(a, b) === 0,
  "!=": (a, b) => compareValues(a, b) !== 0,
  "<": (a, b) => compareValues(a, b) < 0,
  "<=": (a, b) => compareValues(a, b) <= 0,
  ">": (a, b) => compareValues(a, b) > 0,
  ">=": (a, b) => compareValues(a, b) >= 0,
  "+": add,
  "-": (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (!Array.isArray(a) || !Array.isArray(b)) return undefined;
    return a.filter((one) => !b.some((other) => compareValues(one, other) === 0));
  },
  "*": (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a * b;
    if (typeof a === "string" && typeof b === "number") {
      return b > 0 ? bounded(a.length * b) && a.repeat(Math.max(1, b)) : null;
    }
    return isJsonObject(a) && isJsonObject(b) ? merged(a, b) : undefined;
  },
  "/": (a, b) => {
    if (typeof a === "string" && typeof b === "string") return a.split(b);
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
export function operate(operator: string, a: Json, b: Json): Json {
  const result = OPERATIONS[operator]?.(a, b);
  if (result === undefined) {
    throw new JqError(`${typeName(a)} ${operator} ${typeName(b)} makes no sense`);
  }
  return result;
}

function add(a: Json, b: Json): Json | undefined {
  if (a === null) return b;
  if (b === null) return a;
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (typeof a === "string" && typeof b === "string") {
    bounded(a.length + b.length);
    return a + b;
  }
  if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b];
  return isJsonObject(a) && isJsonObject(b) ? { ...a, ...b } : undefined;
}

function bounded(length: number): true {
  if (length > MAX_TEXT) throw new JqError("the text becomes too long");
  return true;
}

function merged(a: { [key: string]: Json }, b: { [key: string]: Json }): Json {
  const result = { ...a };
  for (const [key, value] of Object.entries(b)) {
    const old = result[key];
    result[key] = isJsonObject(old) && isJsonObject(value) ? merged(old, value) : value;
  }
  return result;
}
