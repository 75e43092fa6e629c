/** Static types: what is known about an expression before it runs. */

import {
  AnyMap,
  elementType,
  GoDuration,
  GoFunction,
  GoTime,
  GoZone,
  NamedInt,
  type Value,
} from "./values.ts";

/**
 * A static type. Two kinds mean that the type shows only at run time: `any` is the declared type of what lists and maps
 * contain; of `unknown` nothing at all is known. They differ in which types may be assigned to them (see {@link
 * isAssignable}).
 */
export type StaticType =
  | { readonly kind: "unknown" | "any" | "nil" | "bool" | "float" | "string" }
  /** `int64` is a type of its own to Go, as wide as `int`. */
  | { readonly kind: "int" | "int64" | "uint" }
  | { readonly kind: "bytes" | "time" | "duration" | "month" | "weekday" | "zone" }
  /** `isTyped`: a Go slice of the element type, not `[]any`. */
  | { readonly kind: "array"; readonly element: StaticType; readonly isTyped?: boolean }
  | { readonly kind: "map" }
  /** A map with keys of any type, from `groupBy`. */
  | { readonly kind: "anymap"; readonly element: StaticType }
  | { readonly kind: "func"; readonly signature?: Signature };

/** What is known about a function before it is called. */
export interface Signature {
  readonly params: readonly StaticType[];
  readonly result: StaticType;
}

export const UNKNOWN: StaticType = { kind: "unknown" };
export const ANY: StaticType = { kind: "any" };
export const NIL: StaticType = { kind: "nil" };
export const BOOL: StaticType = { kind: "bool" };
export const INT: StaticType = { kind: "int" };
export const INT64: StaticType = { kind: "int64" };
export const FLOAT: StaticType = { kind: "float" };
export const STRING: StaticType = { kind: "string" };
export const TIME: StaticType = { kind: "time" };
export const DURATION: StaticType = { kind: "duration" };
export const ZONE: StaticType = { kind: "zone" };
const MAP: StaticType = { kind: "map" };
export const LIST: StaticType = { kind: "array", element: ANY };
export const FUNC: StaticType = { kind: "func" };

/** A `[]any` whose elements are known to have a type. */
export function listOf(element: StaticType): StaticType {
  return { kind: "array", element };
}

/** A Go slice of a type, such as `[]string`. */
export function sliceOf(element: StaticType): StaticType {
  return { kind: "array", element, isTyped: true };
}

/** Name of the type as Go writes it, for messages. */
export function typeText(type: StaticType): string {
  switch (type.kind) {
    case "any":
      return "interface {}";
    case "unknown":
    case "nil":
      return "unknown";
    case "float":
      return "float64";
    case "uint":
      return "uint8";
    case "bytes":
      return "[]uint8";
    case "array":
      return type.isTyped === true ? `[]${typeText(type.element)}` : "[]interface {}";
    case "map":
      return "map[string]interface {}";
    case "anymap":
      return `map[interface {}]${typeText(type.element)}`;
    case "time":
      return "time.Time";
    case "duration":
      return "time.Duration";
    case "month":
      return "time.Month";
    case "weekday":
      return "time.Weekday";
    case "zone":
      return "*time.Location";
    case "func":
      return "func(...interface {}) (interface {}, error)";
    case "bool":
    case "int":
    case "int64":
    case "string":
      return type.kind;
  }
}

/** Static type of a value in the environment: its own kind, but nothing about its content. */
export function typeOfValue(value: Value): StaticType {
  switch (typeof value) {
    case "string":
      return STRING;
    case "number":
      return FLOAT;
    case "bigint":
      return INT;
    case "boolean":
      return BOOL;
  }
  if (value === null) return NIL;
  if (Array.isArray(value)) return typeOfList(value);
  if (value instanceof Uint8Array) return { kind: "bytes" };
  if (value instanceof GoTime) return TIME;
  if (value instanceof GoDuration) return DURATION;
  if (value instanceof GoZone) return ZONE;
  if (value instanceof AnyMap) return { kind: "anymap", element: ANY };
  if (value instanceof GoFunction) {
    return value.signature === undefined ? FUNC : { kind: "func", signature: value.signature };
  }
  if (value instanceof NamedInt) {
    if (value.kind === "int64") return INT64;
    if (value.kind.startsWith("uint")) return { kind: "uint" };
    return { kind: value.kind === "time.Month" ? "month" : "weekday" };
  }
  return MAP;
}

function typeOfList(list: readonly Value[]): StaticType {
  switch (elementType(list)) {
    case "string":
      return sliceOf(STRING);
    case "int":
      return sliceOf(INT);
    case "float64":
      return sliceOf(FLOAT);
    case "bool":
      return sliceOf(BOOL);
    default:
      return LIST;
  }
}

/** Neither checker nor compiler knows the type. */
export function isUnknown(type: StaticType): boolean {
  return type.kind === "unknown" || type.kind === "any";
}

export function isInteger(type: StaticType): boolean {
  return type.kind === "int" || type.kind === "int64" || type.kind === "uint";
}

export function isNumber(type: StaticType): boolean {
  return isInteger(type) || type.kind === "float";
}

export function isArray(type: StaticType): boolean {
  return type.kind === "array" || type.kind === "bytes";
}

export function isMap(type: StaticType): boolean {
  return type.kind === "map" || type.kind === "anymap";
}

/** Type of the elements of a list or map. */
export function elementOf(type: StaticType): StaticType {
  switch (type.kind) {
    case "array":
    case "anymap":
      return type.element;
    case "bytes":
      return { kind: "uint" };
    case "map":
      return ANY;
    default:
      return UNKNOWN;
  }
}

/** Tells whether a value of one type may be used where the other type is declared, by Go's rules. */
export function isAssignable(from: StaticType, to: StaticType): boolean {
  if (to.kind === "unknown" || from.kind === "unknown") return false;
  if (to.kind === "any") return true;
  if (from.kind === "nil") {
    return ["array", "bytes", "map", "anymap", "func", "zone"].includes(to.kind);
  }
  return from.kind === to.kind && typeText(from) === typeText(to);
}

/** Tells whether `==` may compare the types. */
export function isComparable(left: StaticType, right: StaticType): boolean {
  return isUnknown(left) || isUnknown(right) || left.kind === "nil" || right.kind === "nil" ||
    (isNumber(left) && isNumber(right)) || (isArray(left) && isArray(right)) ||
    isAssignable(left, right);
}
