/** What operators do with values: arithmetic, equality, order, containment. */

import { fault } from "./error.ts";
import { goPower } from "./go_power.ts";
import { goTypeName } from "./go_text.ts";
import { addToTime, compareTimes, timeDifference } from "./go_time_methods.ts";
import type { RunContext } from "./run_context.ts";
import { compareStrings, joinText } from "./utf8.ts";
import {
  AnyMap,
  elementType,
  GoDuration,
  GoFunction,
  GoTime,
  GoZone,
  isListOfCompounds,
  isNilList,
  isPlainInt,
  isValueMap,
  mapElementType,
  NamedInt,
  objectOf,
  type Value,
} from "./values.ts";

/** Wraps to 64 bits. */
export function wrap(value: bigint): bigint {
  return BigInt.asIntN(64, value);
}

/** A number as arithmetic sees it: bytes count as ints. Undefined for everything else. */
function numeric(value: Value): bigint | number | undefined {
  if (typeof value === "number" || typeof value === "bigint") return value;
  return isPlainInt(value) ? value.value : undefined;
}

function mismatch(operator: string, left: Value, right: Value): never {
  return fault(`invalid operation: ${goTypeName(left)} ${operator} ${goTypeName(right)}`);
}

/** `+` */
export function add(left: Value, right: Value, context: RunContext): Value {
  if (typeof left === "string" && typeof right === "string") {
    context.produce(left.length + right.length);
    return joinText(left, right);
  }
  const a = numeric(left);
  const b = numeric(right);
  if (a !== undefined && b !== undefined) {
    return typeof a === "bigint" && typeof b === "bigint" ? wrap(a + b) : Number(a) + Number(b);
  }
  if (left instanceof GoTime && right instanceof GoDuration) return addToTime(left, right.ns);
  if (left instanceof GoDuration && right instanceof GoTime) return addToTime(right, left.ns);
  if (left instanceof GoDuration && right instanceof GoDuration) {
    return new GoDuration(left.ns + right.ns);
  }
  return mismatch("+", left, right);
}

/** `-` */
export function subtract(left: Value, right: Value): Value {
  const a = numeric(left);
  const b = numeric(right);
  if (a !== undefined && b !== undefined) {
    return typeof a === "bigint" && typeof b === "bigint" ? wrap(a - b) : Number(a) - Number(b);
  }
  if (left instanceof GoTime && right instanceof GoTime) return timeDifference(left, right);
  if (left instanceof GoTime && right instanceof GoDuration) {
    // The shortest duration has no opposite: it stays what it is.
    return addToTime(left, wrap(-right.ns));
  }
  if (left instanceof GoDuration && right instanceof GoDuration) {
    return new GoDuration(left.ns - right.ns);
  }
  return mismatch("-", left, right);
}

/** `*`: a duration times a float is a float. */
export function multiply(left: Value, right: Value): Value {
  const a = left instanceof GoDuration ? left.ns : numeric(left);
  const b = right instanceof GoDuration ? right.ns : numeric(right);
  if (a === undefined || b === undefined) return mismatch("*", left, right);
  if (typeof a !== "bigint" || typeof b !== "bigint") return Number(a) * Number(b);
  const isDuration = left instanceof GoDuration || right instanceof GoDuration;
  return isDuration ? new GoDuration(a * b) : wrap(a * b);
}

/** `/`: always a float. */
export function divide(left: Value, right: Value): number {
  const a = numeric(left);
  const b = numeric(right);
  if (a === undefined || b === undefined) return mismatch("/", left, right);
  return Number(a) / Number(b);
}

/** `%`: ints only, with the sign of the dividend. */
export function modulo(left: Value, right: Value): bigint {
  const a = numeric(left);
  const b = numeric(right);
  if (typeof a !== "bigint" || typeof b !== "bigint") return mismatch("%", left, right);
  if (b === 0n) fault("runtime error: integer divide by zero");
  return wrap(a % b);
}

/** `**`: always a float. */
export function power(left: Value, right: Value): number {
  const a = numeric(left);
  const b = numeric(right);
  if (a === undefined || b === undefined) return mismatch("**", left, right);
  return goPower(Number(a), Number(b));
}

/** Unary `-` */
export function negate(value: Value): Value {
  if (typeof value === "number") return -value;
  if (typeof value === "bigint") return wrap(-value);
  if (isPlainInt(value)) return negateInt(value);
  return fault(`invalid operation: - ${goTypeName(value)}`);
}

/** Keeps the width and wraps around in it. */
function negateInt({ kind, value }: NamedInt): NamedInt {
  if (kind === "int64") return new NamedInt(kind, wrap(-value));
  return new NamedInt(kind, BigInt.asUintN(kind === "uint8" ? 8 : 64, -value));
}

/** Compares two values; NaN if one of them is NaN. @throws {Fault} when they have no order */
export function compare(
  operator: string,
  left: Value,
  right: Value,
  context: RunContext,
): number {
  if (typeof left === "number" && typeof right === "number") {
    return left - right || equalInfinity(left, right);
  }
  if (typeof left === "string" && typeof right === "string") {
    payForComparison(left, right, context);
    return compareStrings(left, right);
  }
  const a = numeric(left);
  const b = numeric(right);
  if (a !== undefined && b !== undefined) return compareNumbers(a, b);
  if (left instanceof GoTime && right instanceof GoTime) return compareTimes(left, right);
  if (left instanceof GoDuration && right instanceof GoDuration) {
    return compareNumbers(left.ns, right.ns);
  }
  return mismatch(operator, left, right);
}

/** Takes the steps for comparing long texts. */
function payForComparison(left: string, right: string, context: RunContext): void {
  const shared = Math.min(left.length, right.length);
  if (shared > 32) context.step(shared / 16);
}

/** Infinity minus infinity is NaN, although the two are equal. */
function equalInfinity(left: number, right: number): number {
  return left === right ? 0 : left - right;
}

/** Mixed kinds are compared as floats, as in Go. */
function compareNumbers(a: bigint | number, b: bigint | number): number {
  if (typeof a === "bigint" && typeof b === "bigint") return a < b ? -1 : a > b ? 1 : 0;
  const left = Number(a);
  const right = Number(b);
  return left < right ? -1 : left > right ? 1 : left === right ? 0 : NaN;
}

/** nil, or a nil list. */
export function isNil(value: Value): boolean {
  return value === null || isNilList(value);
}

/** `==`: numbers by value, lists element by element, maps strictly. */
export function equal(left: Value, right: Value, context: RunContext): boolean {
  if (typeof left === "string" && left.length > 256) context.step(left.length / 256);
  if (left === right) return !Array.isArray(left) || equalLists(left, left, context);
  if (typeof left === "string" || typeof left === "boolean") return false;
  const a = numeric(left);
  if (a !== undefined) {
    const b = numeric(right);
    if (b !== undefined) return compareNumbers(a, b) === 0;
    return false;
  }
  if (Array.isArray(left)) {
    if (Array.isArray(right)) {
      // Only lists of scalars and of any values are compared across their types.
      return isListOfCompounds(left) || isListOfCompounds(right)
        ? strictlyEqual(left, right, context)
        : equalLists(left, right, context);
    }
    if (right instanceof Uint8Array) return equal(right, left, context);
  }
  if (left instanceof Uint8Array && Array.isArray(right)) {
    return equalLists(Array.from(left, BigInt), right, context);
  }
  if (left instanceof GoTime && right instanceof GoTime) return compareTimes(left, right) === 0;
  if (isNil(left) && isNil(right)) return true;
  return strictlyEqual(left, right, context);
}

function equalLists(left: readonly Value[], right: readonly Value[], context: RunContext): boolean {
  if (left.length !== right.length) return false;
  for (let i = 0; i < left.length; i++) {
    context.step();
    if (!equal(left[i] as Value, right[i] as Value, context)) return false;
  }
  return true;
}

/** Equality that also requires the same types, all the way down; maps are compared this way. */
export function strictlyEqual(left: Value, right: Value, context: RunContext): boolean {
  context.step(typeof left === "string" ? 1 + left.length / 256 : 1);
  if (left === right) return true;
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") {
    return false;
  }
  if (Array.isArray(left)) {
    return Array.isArray(right) && isNilList(left) === isNilList(right) &&
      elementType(left) === elementType(right) && left.length === right.length &&
      left.every((item, i) => strictlyEqual(item, right[i] as Value, context));
  }
  if (Array.isArray(right)) return false;
  const object = objectOf(left);
  if (object !== undefined) return object.text === objectOf(right)?.text;
  if (isValueMap(left)) {
    if (!isValueMap(right) || mapElementType(left) !== mapElementType(right)) return false;
    const keys = Object.keys(left);
    context.step(keys.length * 2);
    return keys.length === Object.keys(right).length &&
      keys.every((key) =>
        Object.hasOwn(right, key) &&
        strictlyEqual(left[key] as Value, right[key] as Value, context)
      );
  }
  if (left instanceof AnyMap && right instanceof AnyMap) {
    return equalAnyMaps(left, right, context);
  }
  return strictlyEqualObjects(left, right);
}

function strictlyEqualObjects(left: Value, right: Value): boolean {
  if (left instanceof GoDuration) return right instanceof GoDuration && left.ns === right.ns;
  if (left instanceof GoTime) {
    return right instanceof GoTime && compareTimes(left, right) === 0 &&
      left.zone.name === right.zone.name;
  }
  if (left instanceof NamedInt) {
    return right instanceof NamedInt && left.kind === right.kind && left.value === right.value;
  }
  if (left instanceof GoZone) return right instanceof GoZone && left.name === right.name;
  if (left instanceof Uint8Array) {
    return right instanceof Uint8Array && left.length === right.length &&
      left.every((byte, i) => byte === right[i]);
  }
  return false;
}

function equalAnyMaps(left: AnyMap, right: AnyMap, context: RunContext): boolean {
  if (left.entries.size !== right.entries.size) return false;
  for (const [key, item] of left.entries) {
    const other = anyMapGet(right, key);
    if (other === undefined || !strictlyEqual(item, other, context)) return false;
  }
  return true;
}

/** `in` */
export function contains(needle: Value, container: Value, context: RunContext): boolean {
  if (container === null) return false;
  if (Array.isArray(container)) {
    return container.some((item) => {
      context.step();
      return equal(item, needle, context);
    });
  }
  if (container instanceof Uint8Array) {
    context.step(container.length / 8);
    const value = numeric(needle);
    return value !== undefined && container.includes(Number(value));
  }
  if (container instanceof AnyMap) return anyMapGet(container, needle) !== undefined;
  if (container instanceof GoTime || container instanceof GoZone) {
    if (typeof needle === "string") return false;
    return fault(
      `cannot use ${goTypeName(needle)} as field name of time.${
        container instanceof GoTime ? "Time" : "Location"
      }`,
    );
  }
  if (!isValueMap(container)) {
    return fault(`operator "in" not defined on ${goTypeName(container)}`);
  }
  return Object.hasOwn(container, stringKey(needle));
}

/** A key for a map with string keys; nil stands for the empty string. @throws {Fault} for other kinds */
export function stringKey(key: Value): string {
  if (typeof key === "string") return key;
  if (key === null) return "";
  return fault(
    `reflect.Value.MapIndex: value of type ${goTypeName(key)} is not assignable to type string`,
  );
}

/** The entry of a map with keys of any type. @throws {Fault} for keys without a hash */
export function anyMapGet(map: AnyMap, key: Value): Value | undefined {
  return map.entries.get(sameKey(map, mapKey(key)));
}

/** Sets an entry of a map with keys of any type. @throws {Fault} for keys without a hash */
export function anyMapSet(map: AnyMap, key: Value, value: Value): void {
  map.entries.set(sameKey(map, mapKey(key)), value);
}

/** The key object in the map that equals this one; times and durations are compared by value. */
function sameKey(map: AnyMap, key: Value): Value {
  if (key === null || typeof key !== "object") return key;
  for (const known of map.entries.keys()) {
    if (known !== null && typeof known === "object" && strictlyEqualObjects(known, key)) {
      return known;
    }
  }
  return key;
}

/** A key for a map with keys of any type. @throws {Fault} for lists and maps, which have no hash */
function mapKey(key: Value): Value {
  if (key === null || typeof key !== "object") return key;
  if (Array.isArray(key) || key instanceof Uint8Array || key instanceof AnyMap || isValueMap(key)) {
    return fault(`hash of unhashable type: ${goTypeName(key)}`);
  }
  if (key instanceof GoFunction) return fault(`hash of unhashable type: ${goTypeName(key)}`);
  return key;
}

/** A condition, or an operand of `and`, `or`, `not`. @throws {Fault} when it is not a bool */
export function asBool(value: Value): boolean {
  return typeof value === "boolean" ? value : conversionFault(value, "bool");
}

/** A string operand. @throws {Fault} when it is not a string */
export function asString(value: Value): string {
  return typeof value === "string" ? value : conversionFault(value, "string");
}

/** Go's panic of a failed type assertion. @throws {Fault} always */
export function conversionFault(value: Value, wanted: string): never {
  const type = value === null ? "nil" : goTypeName(value);
  return fault(`interface conversion: interface {} is ${type}, not ${wanted}`);
}

const INT_LOW = -(2 ** 63);
const INT_HIGH = 2 ** 63;

/** A float truncated to an int. NaN and what is out of range give the smallest int, as on amd64. */
export function floatToInt(value: number): bigint {
  return value >= INT_LOW && value < INT_HIGH ? BigInt(Math.trunc(value)) : -(2n ** 63n);
}

/** An index, a bound, a count: ints and floats. @throws {Fault} for other kinds */
export function toInt(value: Value): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return floatToInt(value);
  if (isPlainInt(value)) return value.value;
  return fault(`invalid operation: int(${goTypeName(value)})`);
}
