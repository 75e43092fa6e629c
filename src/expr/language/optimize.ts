/**
 * Rewrites a checked tree as the reference does. The rules are part of the language, because their effects show:
 * literal bools vanish from `and` and `or` before anything runs, `filter(…)[0]` stops at the first match, `sum([a, b])`
 * is `a + b`.
 */

import {
  type BinaryNode,
  type BuiltinNode,
  type BuiltinPlan,
  childrenOf,
  intOf,
  type LiteralNode,
  type MemberNode,
  type Node,
  stringOf,
} from "./ast.ts";
import { firstChild } from "./check.ts";
import { ExprCompileError } from "../values/error.ts";
import { divide, power, wrap } from "../values/operators.ts";
import { printExpr } from "./print.ts";
import type { Value } from "../values/values.ts";

/** `in` with a list of string literals, which has become a set. */
export const IN_SET = "in set";

type Rule = (node: Node, original: Node, source: string) => Node;

/** Rewrites a tree. @throws {ExprCompileError} for a literal division by zero */
export function optimizeTree(root: Node, source: string): Node {
  const folded = rewrite(root, source, [
    stringSet,
    fold,
    filterFilter,
    filterMap,
    filterLength,
    filterEnd,
    combinePredicates,
    sumOfList,
  ]);
  return rewrite(folded, source, [countAny, countThreshold]);
}

/** Applies rules to all nodes, children first; chains are walked without recursion. */
function rewrite(root: Node, source: string, rules: readonly Rule[]): Node {
  const visit = (node: Node): Node => {
    const spine: Node[] = [];
    let lowest = node;
    for (let next = firstChild(lowest); next !== undefined; next = firstChild(lowest)) {
      spine.push(lowest);
      lowest = next;
    }
    let result = apply(lowest, withChildren(lowest, visit));
    for (let parent = spine.pop(); parent !== undefined; parent = spine.pop()) {
      const first = firstChild(parent);
      const done = result;
      result = apply(
        parent,
        withChildren(parent, (child) => child === first ? done : visit(child)),
      );
    }
    return result;
  };
  const apply = (original: Node, rebuilt: Node): Node => {
    let node = rebuilt;
    for (const rule of rules) {
      const next = rule(node, original, source);
      if (next !== node && original.type !== undefined) next.type ??= original.type;
      node = next;
    }
    return node;
  };
  return visit(root);
}

/** A copy of a node with its children replaced; the node itself if none changes. */
function withChildren(node: Node, replace: (child: Node) => Node): Node {
  const children = childrenOf(node);
  if (children.length === 0) return node;
  const changed = new Map<Node, Node>();
  for (const child of children) {
    if (!changed.has(child)) changed.set(child, replace(child));
  }
  if (children.every((child) => changed.get(child) === child)) return node;
  const of = (child: Node): Node => changed.get(child) ?? child;
  switch (node.kind) {
    case "unary":
      return { ...node, operand: of(node.operand) };
    case "binary":
      return { ...node, left: of(node.left), right: of(node.right) };
    case "chain":
    case "predicate":
      return { ...node, body: of(node.body) };
    case "member":
      return { ...node, object: of(node.object), property: of(node.property) };
    case "slice":
      return {
        ...node,
        object: of(node.object),
        from: node.from && of(node.from),
        to: node.to && of(node.to),
      };
    case "call":
      return { ...node, callee: of(node.callee), args: node.args.map(of) };
    case "builtin": {
      const args = node.args.map(of);
      const map = node.plan?.map;
      return map === undefined
        ? { ...node, args }
        : { ...node, args, plan: { ...node.plan, map: of(map) } };
    }
    case "conditional":
      return { ...node, test: of(node.test), yes: of(node.yes), no: of(node.no) };
    case "let":
      return { ...node, value: of(node.value), body: of(node.body) };
    case "sequence":
      return { ...node, parts: node.parts.map(of) };
    case "array":
      return { ...node, items: node.items.map(of) };
    case "map":
      return {
        ...node,
        pairs: node.pairs.map((pair) => ({ key: of(pair.key), value: of(pair.value) })),
      };
    default:
      return node;
  }
}

function literal(value: Value, at: number): LiteralNode {
  return { kind: "literal", value, at };
}

/** `x in ["a", "b"]`: looked up as a set of strings, which only takes strings and nil. */
function stringSet(node: Node, original: Node): Node {
  if (node.kind !== "binary" || original.kind !== "binary" || node.operator !== "in") return node;
  const list = original.right;
  if (list.kind !== "array" || list.items.length === 0) return node;
  const isStrings = list.items.every((item) => stringOf(item) !== undefined);
  return isStrings ? { ...node, operator: IN_SET } : node;
}

// Folding of literals

function literalOf(node: Node): Value | undefined {
  return node.kind === "literal" ? node.value : undefined;
}

function fold(node: Node, _original: Node, source: string): Node {
  switch (node.kind) {
    case "unary":
      return node.operand.kind === "literal" ? foldUnary(node.operator, node.operand, node) : node;
    case "binary":
      return foldBinary(node, source);
    case "array": {
      const isPlain = (item: Node): item is LiteralNode =>
        item.kind === "literal" && item.value !== null && typeof item.value !== "object";
      const { items } = node;
      if (items.length === 0 || !items.every(isPlain)) return node;
      return literal(items.map((item) => (item as LiteralNode).value), node.at);
    }
    default:
      return node;
  }
}

function foldUnary(operator: string, { value }: LiteralNode, node: Node): Node {
  if (operator === "not" || operator === "!") {
    return typeof value === "boolean" ? literal(!value, node.at) : node;
  }
  if (typeof value === "bigint") return literal(operator === "-" ? wrap(-value) : value, node.at);
  if (typeof value === "number") return literal(operator === "-" ? -value : value, node.at);
  return node;
}

function foldBinary(node: BinaryNode, source: string): Node {
  const left = literalOf(node.left);
  const right = literalOf(node.right);
  switch (node.operator) {
    case "and":
    case "&&":
      return foldLogic(node, true);
    case "or":
    case "||":
      return foldLogic(node, false);
    case "==":
      return typeof left === typeof right && ["bigint", "string", "boolean"].includes(typeof left)
        ? literal(left === right, node.at)
        : node;
  }
  if (left === undefined || right === undefined) return node;
  const value = foldArithmetic(node, left, right, source);
  return value === undefined ? node : literal(value, node.at);
}

/** @param neutral the bool that leaves the other operand as it is */
function foldLogic(node: BinaryNode, neutral: boolean): Node {
  const left = literalOf(node.left);
  const right = literalOf(node.right);
  if (left === neutral) return node.right;
  if (right === neutral) return node.left;
  if (left === !neutral || right === !neutral) return literal(!neutral, node.at);
  return node;
}

function foldArithmetic(
  node: BinaryNode,
  left: Value,
  right: Value,
  source: string,
): Value | undefined {
  const { operator } = node;
  if (typeof left === "string" && typeof right === "string" && operator === "+") {
    return left + right;
  }
  const isNumber = (value: Value) => typeof value === "bigint" || typeof value === "number";
  if (!isNumber(left) || !isNumber(right)) return undefined;
  switch (operator) {
    case "/":
      return divide(left, right);
    case "**":
    case "^":
      return power(left, right);
  }
  if (typeof left !== "bigint" || typeof right !== "bigint") {
    const [a, b] = [Number(left), Number(right)];
    return operator === "+"
      ? a + b
      : operator === "-"
      ? a - b
      : operator === "*"
      ? a * b
      : undefined;
  }
  switch (operator) {
    case "+":
      return wrap(left + right);
    case "-":
      return wrap(left - right);
    case "*":
      return wrap(left * right);
    case "%":
      if (right === 0n) throw new ExprCompileError("integer divide by zero", source, node.at);
      return left % right;
    default:
      return undefined;
  }
}

// Collections

function isFilter(node: Node | undefined): node is BuiltinNode {
  return node?.kind === "builtin" && node.name === "filter" && node.args.length === 2;
}

/** `filter(filter(xs, a), b)` asks both of each element in turn; a literal `false` leaves nothing to ask. */
function filterFilter(node: Node): Node {
  if (!isFilter(node)) return node;
  const [list, outer] = node.args;
  if (!isFilter(list) || list.plan?.map !== undefined) return node;
  const [items, inner] = list.args;
  if (items === undefined || inner?.kind !== "predicate" || outer?.kind !== "predicate") {
    return node;
  }
  const both: BinaryNode = {
    kind: "binary",
    operator: "&&",
    left: inner.body,
    right: outer.body,
    at: node.at,
  };
  return { ...node, args: [items, { ...outer, body: foldLogic(both, true) }] };
}

/** `map(filter(…), …)` in one pass. */
function filterMap(node: Node): Node {
  if (node.kind !== "builtin" || node.name !== "map") return node;
  const [list, predicate] = node.args;
  if (!isFilter(list) || list.plan?.map !== undefined || predicate?.kind !== "predicate") {
    return node;
  }
  // The position refers to the filtered list.
  if (usesIndex(predicate.body)) return node;
  return planned(list, node, "filter", { map: predicate.body });
}

/** Tells whether a predicate uses `#index` of its own list. */
export function usesIndex(node: Node): boolean {
  if (node.kind === "pointer") return node.name === "index";
  return childrenOf(node).some((child) => child.kind !== "predicate" && usesIndex(child));
}

function planned(from: BuiltinNode, at: Node, name: string, plan: BuiltinPlan): Node {
  return { kind: "builtin", name, args: from.args, plan, at: at.at };
}

/** `len(filter(…))` only counts. */
function filterLength(node: Node): Node {
  if (node.kind !== "builtin" || node.name !== "len" || node.args.length !== 1) return node;
  const [list] = node.args;
  return isFilter(list) ? planned(list, node, "count", {}) : node;
}

/** `filter(…)[0]`, `first(filter(…))`, and the same for the last element, stop at the match. */
function filterEnd(node: Node): Node {
  if (node.kind === "member" && !node.isOptional) return filterIndex(node);
  if (node.kind !== "builtin" || node.args.length !== 1) return node;
  const name = node.name === "first" ? "find" : node.name === "last" ? "findLast" : undefined;
  const [list] = node.args;
  if (name === undefined || !isFilter(list)) return node;
  return planned(list, node, name, mapPlan(list));
}

function filterIndex(node: MemberNode): Node {
  const index = intOf(node.property);
  if ((index !== 0n && index !== -1n) || !isFilter(node.object)) return node;
  const plan = { ...mapPlan(node.object), mustFind: true };
  return planned(node.object, node, index === 0n ? "find" : "findLast", plan);
}

function mapPlan(list: BuiltinNode): BuiltinPlan {
  return list.plan?.map === undefined ? {} : { map: list.plan.map };
}

/** `any(xs, a) or any(xs, b)` asks both of each element in turn. */
function combinePredicates(node: Node): Node {
  if (node.kind !== "binary") return node;
  const { left, right, operator } = node;
  if (left.kind !== "builtin" || right.kind !== "builtin" || left.name !== right.name) return node;
  const combined = combinedOperator(left.name, operator);
  const [list, first] = left.args;
  const [otherList, second] = right.args;
  if (
    combined === undefined || list === undefined || otherList === undefined ||
    first?.kind !== "predicate" || second?.kind !== "predicate" ||
    printExpr(list) !== printExpr(otherList)
  ) return node;
  const body: Node = { ...node, operator: combined, left: first.body, right: second.body };
  return { ...left, at: node.at, args: [list, { ...first, body: combinePredicates(body) }] };
}

function combinedOperator(name: string, operator: string): string | undefined {
  const isAnd = operator === "and" || operator === "&&";
  const isOr = operator === "or" || operator === "||";
  if ((name === "all" && isAnd) || (name === "any" && isOr)) return operator;
  return name === "none" && isAnd ? "or" : undefined;
}

/** `sum([a, b, c])` is `a + (b + c)` unless all items are literals; `sum(map(…))` sums in one pass. */
function sumOfList(node: Node): Node {
  if (node.kind !== "builtin" || node.name !== "sum" || node.args.length !== 1) return node;
  const [list] = node.args;
  if (list?.kind === "builtin" && list.name === "map" && list.args.length === 2) {
    return planned(list, node, "sum", {});
  }
  if (list?.kind !== "array" || list.items.length < 2) return node;
  return list.items.reduceRight((right, left): Node => (
    { kind: "binary", operator: "+", left, right, at: node.at }
  ));
}

function comparedCount(
  node: Node,
): { count: BuiltinNode; operator: string; to: bigint } | undefined {
  if (node.kind !== "binary" || node.left.kind !== "builtin") return undefined;
  const to = intOf(node.right);
  const { left: count, operator } = node;
  if (count.name !== "count" || count.args.length !== 2 || to === undefined) return undefined;
  return { count, operator, to };
}

/** `count(…) > 0` is `any(…)`. */
function countAny(node: Node): Node {
  const compared = comparedCount(node);
  if (compared === undefined) return node;
  const { count, operator, to } = compared;
  const isAny = (operator === ">" && to === 0n) || (operator === ">=" && to === 1n);
  return isAny ? planned(count, node, "any", {}) : node;
}

/** `count(…) > 5` and `count(…) <= 5` stop at six. */
function countThreshold(node: Node): Node {
  const compared = comparedCount(node);
  if (compared === undefined || node.kind !== "binary") return node;
  const { count, operator, to } = compared;
  const isPast = operator === ">" || operator === "<=";
  const threshold = isPast ? to + 1n : operator === ">=" || operator === "<" ? to : 0n;
  if (threshold <= 1n) return node;
  return { ...node, left: { ...count, plan: { ...count.plan, threshold } } };
}
