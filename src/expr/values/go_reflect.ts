/** What Go's `reflect` says about a value: its kind, and whether it is empty. */
import { goTypeName } from "./go_text.ts";
import type { RunContext } from "./run_context.ts";
import {
  AnyMap,
  GoDuration,
  GoFunction,
  GoTime,
  GoZone,
  NamedInt,
  objectOf,
  type Value,
} from "./values.ts";

/** Kind of a value: `string`, `slice`, `map`, `float64`, `invalid` for nil. */
export function goKind(value: Value): string {
  if (value === null) return "invalid";
  if (Array.isArray(value) || value instanceof Uint8Array) return "slice";
  if (value instanceof AnyMap) return "map";
  if (value instanceof GoDuration) return "int64";
  if (value instanceof GoTime) return "struct";
  if (value instanceof GoZone) return "ptr";
  if (value instanceof GoFunction) return "func";
  if (value instanceof NamedInt) return value.kind.startsWith("time.") ? "int" : value.kind;
  const object = objectOf(value);
  if (object !== undefined) return object.typeName.startsWith("*") ? "ptr" : "struct";
  return typeof value === "object" ? "map" : goTypeName(value);
}

/** Tells whether a value is nil, zero, false, or has no elements. Times are never empty. */
export function isEmptyValue(value: Value, context: RunContext): boolean {
  switch (typeof value) {
    case "string":
      return value === "";
    case "number":
      return value === 0;
    case "bigint":
      return value === 0n;
    case "boolean":
      return !value;
  }
  if (value === null) return true;
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0;
  if (value instanceof AnyMap) return value.entries.size === 0;
  if (value instanceof NamedInt) return value.value === 0n;
  if (value instanceof GoDuration) return value.ns === 0n;
  if (value instanceof GoTime || value instanceof GoZone || value instanceof GoFunction) {
    return false;
  }
  const keys = Object.keys(value).length;
  context.step(keys * 3);
  return keys === 0;
}
