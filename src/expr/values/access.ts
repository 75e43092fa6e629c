/** Members, indexes and slices of values. Strings are seen as UTF-8 bytes. */

import { fault } from "./error.ts";
import { goString, goTypeName } from "./go_text.ts";
import { findMethod } from "./go_time_methods.ts";
import { anyMapGet, contains, conversionFault, stringKey, toInt } from "./operators.ts";
import { RunContext } from "./run_context.ts";
import { byteLength, byteSlice, isAscii, utf8Bytes } from "./utf8.ts";
import {
  AnyMap,
  elementType,
  GoTime,
  GoZone,
  isNilList,
  isPlainInt,
  isValueMap,
  mapElementType,
  NamedInt,
  nilList,
  objectOf,
  ownValue,
  typedList,
  type Value,
  type ValueMap,
} from "./values.ts";

/** One byte as a value. */
export function byteValue(byte: number): NamedInt {
  return new NamedInt("uint8", BigInt(byte));
}

/** `container.name`, `container[key]`. @throws {Fault} when that is not possible */
export function fetchMember(container: Value, key: Value): Value {
  const isSequence = typeof container === "string" || Array.isArray(container);
  if (isSequence && typeof key !== "string") return fetchElement(container, key);
  if (!isSequence && container !== null && typeof container === "object") {
    if (typeof key === "string") {
      const method = findMethod(container, key);
      if (method !== undefined) return method;
    }
    if (container instanceof Uint8Array) return fetchElement(container, key);
    if (container instanceof AnyMap) {
      return anyMapGet(container, key) ?? missingMember(container);
    }
    if (isValueMap(container)) {
      const name = stringKey(key);
      if (Object.hasOwn(container, name)) return container[name] ?? null;
      // An object, such as a version, has only its methods; it is not a map in which names may be missing.
      if (objectOf(container) === undefined) return missingMember(container);
    }
  }
  return fault(`cannot fetch ${goString(key, new RunContext())} from ${goTypeName(container)}`);
}

/**
 * A member of a value that came from outside and may be anything; nil if it can't have that member.
 * @throws {Fault} when an index is out of range, or the key can't be the key of a map
 */
export function fetchOpen(container: Value, key: Value): Value {
  return mayHave(container, key) ? fetchMember(container, key) : null;
}

/** `get(container, key)` for such a value. @throws {Fault} when the key can't be the key of a map */
export function getOpen(container: Value, key: Value): Value {
  return mayHave(container, key) ? getMember(container, key) : null;
}

/** `needle in container` for such a value: false if it can't contain anything. */
export function containsOpen(needle: Value, container: Value, context: RunContext): boolean {
  const holds = container !== null && typeof container === "object";
  return holds && contains(needle, container, context);
}

function mayHave(container: Value, key: Value): boolean {
  if (typeof container === "string" || Array.isArray(container)) return isIndex(key);
  return container !== null && typeof container === "object";
}

function isIndex(key: Value): boolean {
  return typeof key === "bigint" || typeof key === "number" || isPlainInt(key);
}

/** What a map gives for a missing key: in a map of texts the empty one. */
export function missingMember(map: AnyMap | ValueMap): Value {
  switch (map instanceof AnyMap ? map.elementType : mapElementType(map)) {
    case "[]interface {}":
      return nilList();
    case "string":
      return "";
    default:
      return null;
  }
}

function fetchElement(list: string | Uint8Array | readonly Value[], key: Value): Value {
  const length = lengthOf(list);
  let index = toInt(key);
  if (index < 0n) index += BigInt(length);
  if (index < 0n || index >= BigInt(length)) {
    return fault(`index out of range: ${index} (array length is ${length})`);
  }
  return elementAt(list, Number(index));
}

/** The element at an index, which must be within the list. */
export function elementAt(list: string | Uint8Array | readonly Value[], index: number): Value {
  if (typeof list === "string") {
    return byteValue(isAscii(list) ? list.charCodeAt(index) : utf8Bytes(list)[index] ?? 0);
  }
  return list instanceof Uint8Array ? byteValue(list[index] ?? 0) : list[index] ?? null;
}

/** Number of elements; of a string, its bytes. */
export function lengthOf(list: string | Uint8Array | readonly Value[]): number {
  return typeof list === "string" ? byteLength(list) : list.length;
}

/** `get(container, key)`: nil if the member or index is absent. */
export function getMember(container: Value, key: Value): Value {
  if (
    typeof container === "string" || Array.isArray(container) || container instanceof Uint8Array
  ) {
    const length = lengthOf(container);
    let index = toInt(key);
    if (index < 0n) index += BigInt(length);
    return index < 0n || index >= BigInt(length) ? null : elementAt(container, Number(index));
  }
  if (container === null || typeof container !== "object") return null;
  if (container instanceof AnyMap) return anyMapGet(container, key) ?? null;
  const method = typeof key === "string" ? findMethod(container, key) : undefined;
  if (method !== undefined) return method;
  if (isValueMap(container)) return ownValue(container, stringKey(key)) ?? null;
  const isStruct = container instanceof GoTime || container instanceof GoZone;
  return isStruct && typeof key !== "string" ? conversionFault(key, "string") : null;
}

/** `list[from:to]`; an open end is undefined. @throws {Fault} when the value has no slices */
export function sliceOfValue(list: Value, from: Value | undefined, to: Value | undefined): Value {
  if (to === undefined) openEnd(list);
  if (typeof list !== "string" && !Array.isArray(list) && !(list instanceof Uint8Array)) {
    return fault(`cannot slice ${goString(from ?? 0n, new RunContext())}`);
  }
  if (Array.isArray(list) && isNilList(list)) return list;
  const length = lengthOf(list);
  const start = bound(from, 0, length);
  const end = bound(to, length, length);
  const first = Math.min(start, end);
  if (typeof list === "string") return byteSlice(list, first, end);
  if (list instanceof Uint8Array) return list.slice(first, end);
  const type = elementType(list);
  const part = list.slice(first, end);
  return type === "interface {}" ? part : typedList(part, type);
}

/** An open end means the length, which maps have too. */
function openEnd(list: Value): void {
  const hasLength = typeof list === "string" || Array.isArray(list) ||
    (list !== null && typeof list === "object" &&
      (list instanceof Uint8Array || list instanceof AnyMap || isValueMap(list)));
  if (!hasLength) fault(`invalid argument for len (type ${goTypeName(list)})`);
}

function bound(value: Value | undefined, missing: number, length: number): number {
  if (value === undefined) return missing;
  const index = toInt(value);
  const size = BigInt(length);
  const absolute = index < 0n ? index + size : index;
  return Number(absolute < 0n ? 0n : absolute > size ? size : absolute);
}
