/** The syntax tree. Every node knows the offset (in UTF-16 units) to which errors about it point. */

import type { StaticType } from "../values/types.ts";
import type { Value } from "../values/values.ts";

interface NodeBase {
  /** Offset of the token to which errors point. */
  readonly at: number;
  /** Set by the checker. */
  type?: StaticType;
}

export interface LiteralNode extends NodeBase {
  readonly kind: "literal";
  /** nil, bool, int, float, string or bytes; after folding also a list. */
  readonly value: Value;
}

export interface NameNode extends NodeBase {
  readonly kind: "name";
  readonly name: string;
}

/** `#`, `#acc`, `#index`; the name is empty for the element. */
export interface PointerNode extends NodeBase {
  readonly kind: "pointer";
  readonly name: string;
}

export interface UnaryNode extends NodeBase {
  readonly kind: "unary";
  readonly operator: string;
  readonly operand: Node;
}

export interface BinaryNode extends NodeBase {
  readonly kind: "binary";
  readonly operator: string;
  readonly left: Node;
  readonly right: Node;
}

/** A chain of links in which a nil before `?.` makes the whole chain nil. */
export interface ChainNode extends NodeBase {
  readonly kind: "chain";
  readonly body: Node;
}

export interface MemberNode extends NodeBase {
  readonly kind: "member";
  readonly object: Node;
  /** A string literal for `.name`. */
  readonly property: Node;
  readonly isOptional: boolean;
  /** The callee of a call. */
  readonly isMethod: boolean;
}

export interface SliceNode extends NodeBase {
  readonly kind: "slice";
  readonly object: Node;
  readonly from: Node | undefined;
  readonly to: Node | undefined;
}

export interface CallNode extends NodeBase {
  readonly kind: "call";
  readonly callee: Node;
  readonly args: readonly Node[];
}

export interface BuiltinNode extends NodeBase {
  readonly kind: "builtin";
  readonly name: string;
  readonly args: readonly Node[];
  /** What the optimizer found out. */
  readonly plan?: BuiltinPlan;
}

/** Shortcuts of a collection function; they change what is evaluated, and so what can fail. */
export interface BuiltinPlan {
  /** `find` instead of `filter(…)[0]`: no match is an error. */
  readonly mustFind?: boolean;
  /** Applied to what a filter or a find selects: `map(filter(…), …)` in one pass. */
  readonly map?: Node;
  /** `count` stops here. */
  readonly threshold?: bigint;
}

export interface PredicateNode extends NodeBase {
  readonly kind: "predicate";
  readonly body: Node;
}

export interface ConditionalNode extends NodeBase {
  readonly kind: "conditional";
  readonly test: Node;
  readonly yes: Node;
  readonly no: Node;
}

export interface LetNode extends NodeBase {
  readonly kind: "let";
  readonly name: string;
  readonly value: Node;
  readonly body: Node;
}

export interface SequenceNode extends NodeBase {
  readonly kind: "sequence";
  readonly parts: readonly Node[];
}

export interface ArrayNode extends NodeBase {
  readonly kind: "array";
  readonly items: readonly Node[];
}

export interface MapNode extends NodeBase {
  readonly kind: "map";
  readonly pairs: readonly { readonly key: Node; readonly value: Node }[];
}

export type Node =
  | LiteralNode
  | NameNode
  | PointerNode
  | UnaryNode
  | BinaryNode
  | ChainNode
  | MemberNode
  | SliceNode
  | CallNode
  | BuiltinNode
  | PredicateNode
  | ConditionalNode
  | LetNode
  | SequenceNode
  | ArrayNode
  | MapNode;

/** The children of a node, in source order. */
export function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case "literal":
    case "name":
    case "pointer":
      return [];
    case "unary":
      return [node.operand];
    case "binary":
      return [node.left, node.right];
    case "chain":
    case "predicate":
      return [node.body];
    case "member":
      return [node.object, node.property];
    case "slice":
      return [node.object, node.from, node.to].filter((child) => child !== undefined);
    case "call":
      return [node.callee, ...node.args];
    case "builtin":
      return node.plan?.map === undefined ? node.args : [...node.args, node.plan.map];
    case "conditional":
      return [node.test, node.yes, node.no];
    case "let":
      return [node.value, node.body];
    case "sequence":
      return node.parts;
    case "array":
      return node.items;
    case "map":
      return node.pairs.flatMap((pair) => [pair.key, pair.value]);
  }
}

/** The string of a string literal node, undefined for any other node. */
export function stringOf(node: Node): string | undefined {
  return node.kind === "literal" && typeof node.value === "string" ? node.value : undefined;
}

/** The integer of an int literal node, undefined for any other node. */
export function intOf(node: Node): bigint | undefined {
  return node.kind === "literal" && typeof node.value === "bigint" ? node.value : undefined;
}

/** Number of nodes of a tree. */
export function countNodes(root: Node): number {
  let count = 0;
  const open: Node[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    count++;
    open.push(...childrenOf(node));
  }
  return count;
}

/** Stands for the whole environment. */
export const ENV_NAME = "$env";

/** Tells whether a node is the whole environment. */
export function isEnv(node: Node): boolean {
  return node.kind === "name" && node.name === ENV_NAME;
}
