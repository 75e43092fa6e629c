/**
 * Values of the expression language, and how they map to JavaScript:
 *
 *     nil, bool, string   null, boolean, string
 *     int                 bigint, always within 64 bits
 *     float               number
 *     list                Array; {@link elementType} tells typed lists ([]string, []int) from []any
 *     map[string]any      plain object, own properties only, whatever the prototype
 *     map[any]any         {@link AnyMap}
 *     bytes               Uint8Array
 *     time, duration …    the classes below
 *
 * Strings hold UTF-16, but the language sees UTF-8 bytes. A byte that is not valid UTF-8 (left by a cut inside a
 * character) is kept as the lone surrogate U+DC00 + byte; see `utf8.ts`.
 */

import { setMember } from "../../base/json.ts";
import type { RunContext } from "./run_context.ts";
import type { Signature } from "./types.ts";

/** A map with string keys. Own properties may be getters, so a large environment can be made on demand. */
export type ValueMap = { [key: string]: Value };

/** Any value in an expression. */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Value[]
  | ValueMap
  | AnyMap
  | Uint8Array
  | GoTime
  | GoDuration
  | GoZone
  | NamedInt
  | GoFunction;

/**
 * Functions, besides the built-ins, that an expression may use: functions, or maps of functions (`sprig.upper`). They
 * take precedence over names of the environment.
 */
export type FunctionTable = ReadonlyMap<string, GoFunction | ValueMap>;

/** A length of time. */
export class GoDuration {
  readonly ns: bigint;
  constructor(ns: bigint) {
    this.ns = BigInt.asIntN(64, ns);
  }
}

/** A time zone: its name, and its offset at a given moment. */
export class GoZone {
  readonly name: string;
  /** Seconds east of Greenwich and abbreviation, at a moment in seconds since 1970. */
  readonly at: (seconds: number) => { readonly offset: number; readonly abbreviation: string };
  constructor(name: string, at: GoZone["at"]) {
    this.name = name;
    this.at = at;
  }
}

/** A moment with nanoseconds, shown in a zone. */
export class GoTime {
  /** Seconds since 1970, floored. */
  readonly seconds: number;
  /** 0 to 999_999_999. */
  readonly nanos: number;
  readonly zone: GoZone;
  constructor(seconds: number, nanos: number, zone: GoZone) {
    this.seconds = seconds;
    this.nanos = nanos;
    this.zone = zone;
  }
}

/**
 * An integer of a kind other than int: a byte of a string, a month, a weekday, a result of a sprig function, a Unix time
 * (int64), a part of a version (uint64).
 */
export class NamedInt {
  readonly kind: "uint8" | "int64" | "uint64" | "time.Month" | "time.Weekday";
  readonly value: bigint;
  constructor(kind: NamedInt["kind"], value: bigint) {
    this.kind = kind;
    this.value = value;
  }
}

/** An int64, as methods of times and durations and functions of sprig give it. */
export function int64(value: bigint): NamedInt {
  return new NamedInt("int64", BigInt.asIntN(64, value));
}

/** Distinguishes integers of other widths, which count as ints, from months and weekdays, which don't. */
export function isPlainInt(value: Value): value is NamedInt {
  return value instanceof NamedInt && !value.kind.startsWith("time.");
}

/** A map whose keys may be any scalars: the result of `groupBy` and `fromPairs`. It is not JSON. */
export class AnyMap {
  readonly entries: Map<Value, Value>;
  /** Type name of the elements, for messages and `typeOf`. */
  readonly elementType: "interface {}" | "[]interface {}" | "int";
  constructor(entries: Map<Value, Value>, elementType: AnyMap["elementType"] = "interface {}") {
    this.entries = entries;
    this.elementType = elementType;
  }
}

/** A function as a value: `sprig.upper`, `asInt`, `date(x).Year`. */
export class GoFunction {
  readonly name: string;
  /** If absent, nothing is known before the call, so every mistake is a run-time error. */
  readonly signature: Signature | undefined;
  /** Throws a {@link Fault} if it fails. It checks the number and types of its arguments itself. */
  readonly call: (args: readonly Value[], context: RunContext) => Value;
  /** Its type, as Go writes it, for messages. */
  readonly typeName: string;
  constructor(
    name: string,
    call: GoFunction["call"],
    signature?: Signature,
    typeName = "func(...interface {}) (interface {}, error)",
  ) {
    this.name = name;
    this.call = call;
    this.signature = signature;
    this.typeName = typeName;
  }
}

/** Element type of a typed list, as Go writes it. */
export type ElementType =
  | "interface {}"
  | "string"
  | "int"
  | "float64"
  | "bool"
  | "[]interface {}"
  | "[2]interface {}"
  | "map[string]interface {}";

const ELEMENT = Symbol("element type");
const NIL = Symbol("nil list");
const OBJECT = Symbol("object");

interface Tagged {
  [ELEMENT]?: ElementType;
  [NIL]?: true;
  [OBJECT]?: GoObject;
}

/** What a map of methods shows about its object. */
export interface GoObject {
  readonly typeName: string;
  /** As Go prints it, and as a JSON string. */
  readonly text: string;
}

/** Marks a fresh map of methods as an object that prints as a text; returns the same map. */
export function objectMap(methods: ValueMap, object: GoObject): ValueMap {
  return Object.freeze(Object.defineProperty(methods, OBJECT, { value: object }));
}

/** The object of a map of methods; undefined for other values. */
export function objectOf(value: Value): GoObject | undefined {
  return typeof value === "object" && value !== null ? (value as Tagged)[OBJECT] : undefined;
}

/** Marks a fresh list as typed (`[]string` and so on); returns the same list. */
export function typedList(list: Value[], type: ElementType): Value[] {
  (list as Tagged)[ELEMENT] = type;
  return list;
}

/** A nil list: empty, equal to nil, `null` in JSON. */
export function nilList(type: ElementType = "interface {}"): Value[] {
  const list: Value[] = typedList([], type);
  (list as Tagged)[NIL] = true;
  return list;
}

/** Element type of a list; lists are `[]any` unless marked. */
export function elementType(list: readonly Value[]): ElementType {
  return (list as Tagged)[ELEMENT] ?? "interface {}";
}

/** Distinguishes lists whose declared elements are lists or maps (`[][]any`) from those of scalars and of any values. */
export function isListOfCompounds(list: readonly Value[]): boolean {
  return elementType(list).includes("]");
}

/** Marks a fresh map as typed (`map[string]string`); returns the same map. */
export function typedMap(map: ValueMap, type: ElementType): ValueMap {
  return Object.defineProperty(map, ELEMENT, { value: type });
}

/** Type of a map's values; maps are `map[string]any` unless marked. */
export function mapElementType(map: ValueMap): ElementType {
  return (map as Tagged)[ELEMENT] ?? "interface {}";
}

/** Distinguishes a nil list from an empty one. */
export function isNilList(value: Value): boolean {
  return Array.isArray(value) && (value as Tagged)[NIL] === true;
}

/** Distinguishes a map with string keys from other values, including the classes. */
export function isValueMap(value: Value): value is ValueMap {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  return !(value instanceof AnyMap || value instanceof GoDuration || value instanceof GoTime ||
    value instanceof NamedInt || value instanceof GoZone || value instanceof GoFunction ||
    value instanceof Uint8Array);
}

/** A fresh map without a prototype. */
export function newMap(): ValueMap {
  return Object.create(null) as ValueMap;
}

/** Reads a key of a map; undefined when absent. Never sees a prototype. */
export function ownValue(map: ValueMap, key: string): Value | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** Sets a key of a map, even `__proto__`. */
export function setOwn(map: ValueMap, key: string, value: Value): void {
  setMember(map, key, value);
}

/** JSON as it comes from `JSON.parse` is a value already: numbers are floats, objects are maps. */
export function fromJson(json: unknown): Value {
  return json as Value;
}
