/**
 * The typing rules of members, elements and keys: the types of `a.b`, `a[b]`, `get(a, b)` and `a in b`, and when they
 * can't work.
 */

import { methodType } from "../values/go_time_methods.ts";
import {
  ANY,
  elementOf,
  isArray,
  isAssignable,
  isComparable,
  isInteger,
  isMap,
  isUnknown,
  type StaticType,
  STRING,
  typeText,
  UNKNOWN,
} from "../values/types.ts";
import { type BuiltinNode, isEnv, type MemberNode, type Node, stringOf } from "./ast.ts";

/** Something that can never work, and the node that it is about. */
export interface Mistake {
  readonly node: Node;
  readonly message: string;
}

/** Type of `base.name` or `base[property]`. */
export function memberType(
  node: MemberNode,
  base: StaticType,
  property: StaticType,
): StaticType | Mistake {
  if (isUnknown(base)) return UNKNOWN;
  const name = stringOf(node.property);
  if (name !== undefined) {
    if (base.kind === "nil") return { node, message: `type nil has no field ${name}` };
    const method = methodType(base, name);
    if (method !== undefined) return method;
  }
  if (isMap(base)) return elementByKey(node.property, base, property);
  if (isArray(base)) {
    if (isIndex(property)) return elementOf(base);
    const message = `array elements can only be selected using an integer (got ${
      typeText(property)
    })`;
    return { node: node.property, message };
  }
  if (name === undefined) {
    return { node, message: `type ${typeText(base)}[${typeText(property)}] is undefined` };
  }
  const what = node.isMethod ? "method" : "field";
  return { node, message: `type ${typeText(base)} has no ${what} ${name}` };
}

/**
 * Type of `get(base, key)`.
 * @param envType type of an entry of the environment
 */
export function getType(
  node: BuiltinNode,
  types: readonly StaticType[],
  envType: (name: string) => StaticType | undefined,
): StaticType | Mistake {
  const [base, key] = types;
  const [baseNode = node, keyNode = node] = node.args;
  if (base === undefined || key === undefined || types.length !== 2) {
    return { node, message: `invalid number of arguments (expected 2, got ${types.length})` };
  }
  if (isEnv(baseNode)) {
    const name = stringOf(keyNode);
    return (name === undefined ? undefined : envType(name)) ?? UNKNOWN;
  }
  if (isUnknown(base)) return UNKNOWN;
  if (isArray(base)) {
    if (isIndex(key)) return elementOf(base);
    return { node: keyNode, message: `non-integer slice index ${typeText(key)}` };
  }
  if (isMap(base)) return elementByKey(keyNode, base, key);
  return { node: baseNode, message: `type ${typeText(base)} does not support indexing` };
}

/** Why a value can't be in a list or map, if it can't. */
export function membershipMistake(
  node: Node,
  value: StaticType,
  container: StaticType,
): Mistake | undefined {
  if (isMap(container)) {
    const key = container.kind === "map" ? STRING : ANY;
    if (isUnknown(value) || isAssignable(value, key)) return undefined;
    return {
      node,
      message: `cannot use ${typeText(value)} as type ${typeText(key)} in map key`,
    };
  }
  if (!isArray(container) || isComparable(value, elementOf(container))) return undefined;
  const element = typeText(elementOf(container));
  return { node, message: `cannot use ${typeText(value)} as type ${element} in array` };
}

function elementByKey(node: Node, map: StaticType, key: StaticType): StaticType | Mistake {
  if (map.kind === "anymap" || key.kind === "string" || isUnknown(key)) return elementOf(map);
  return {
    node,
    message: `cannot use ${typeText(key)} to get an element from ${typeText(map)}`,
  };
}

function isIndex(type: StaticType): boolean {
  return isInteger(type) || isUnknown(type);
}
