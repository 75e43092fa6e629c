/** Closures of the operators, with fast forms for comparisons against literals. */

import { type BinaryNode, intOf, type Node, stringOf } from "./ast.ts";
import { IntRange } from "../values/int_range.ts";
import {
  add,
  asBool,
  asString,
  compare,
  contains,
  conversionFault,
  divide,
  equal,
  isNil,
  modulo,
  multiply,
  negate,
  power,
  stringKey,
  subtract,
  toInt,
} from "../values/operators.ts";
import { IN_SET } from "./optimize.ts";
import { compileRegex } from "../values/regex.ts";
import type { RunContext } from "../values/run_context.ts";
import type { Run, State } from "./run_state.ts";
import type { Value } from "../values/values.ts";
import { indexOfText } from "../values/text_search.ts";

/** Gets the left operand, and evaluates the right one itself if it needs it. */
export type BinaryStep = (left: Value, s: State) => Value;

type Operation = (left: Value, right: Value, s: State) => Value;

const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["==", (left, right, s) => equal(left, right, s.context)],
  ["!=", (left, right, s) => !equal(left, right, s.context)],
  ["<", (left, right, s) => compare("<", left, right, s.context) < 0],
  ["<=", (left, right, s) => compare("<=", left, right, s.context) <= 0],
  [">", (left, right, s) => compare(">", left, right, s.context) > 0],
  [">=", (left, right, s) => compare(">=", left, right, s.context) >= 0],
  ["+", (left, right, s) => add(left, right, s.context)],
  ["-", subtract],
  ["*", multiply],
  ["/", divide],
  ["%", modulo],
  ["**", power],
  ["^", power],
  ["..", (left, right, s) => new IntRange(left, right, s.context).toList()],
  ["in", (left, right, s) => contains(left, right, s.context)],
  ["contains", textTest((text, part) => indexOfText(text, part) >= 0)],
  ["startsWith", textTest((text, part) => text.startsWith(part))],
  ["endsWith", textTest((text, part) => text.endsWith(part))],
  ["matches", matches],
]);

function textTest(test: (text: string, part: string) => boolean): Operation {
  return (left, right, s) => {
    if (isNil(left) || isNil(right)) return false;
    const text = asString(left);
    // At worst a search compares twice at each place.
    if (text.length > 256) s.context.step(text.length / 8);
    return test(text, asString(right));
  };
}

function matches(left: Value, right: Value, s: State): Value {
  if (isNil(left) || isNil(right)) return false;
  const pattern = asString(right);
  return compileRegex(pattern, s.context).matches(matchedText(left), s.context);
}

function matchedText(value: Value): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  return conversionFault(value, "[]uint8");
}

/** Step of a unary operator; undefined if the operator does nothing. */
export function unaryStep(
  operator: string,
  at: number,
): ((value: Value, s: State) => Value) | undefined {
  if (operator === "+") return undefined;
  if (operator === "-") {
    return (value, s) => {
      s.at = at;
      return negate(value);
    };
  }
  return (value, s) => {
    s.at = at;
    return !asBool(value);
  };
}

/**
 * Step of a binary operator.
 * @param isInt the left operand is certainly an int
 * @param context where compiling takes its steps from
 */
export function binaryStep(
  node: BinaryNode,
  isInt: boolean,
  compile: (node: Node) => Run,
  context: RunContext,
): BinaryStep {
  const { operator, at } = node;
  switch (operator) {
    case "and":
    case "&&":
    case "or":
    case "||":
      return logicStep(operator === "or" || operator === "||", compile(node.right), at);
    case "??": {
      const right = compile(node.right);
      return (left, s) => isNil(left) ? right(s) as Value : left;
    }
    case IN_SET:
      return setStep(node.right, at);
    case "matches": {
      const pattern = stringOf(node.right);
      if (pattern !== undefined) return patternStep(pattern, at, context);
      break;
    }
    case "in": {
      const constant = isInt ? literalRangeStep(node.right) : undefined;
      if (constant !== undefined) return constant;
      const range = compileRange(node.right, compile);
      if (range !== undefined) return (left, s) => range(s).has(left);
      break;
    }
  }
  const operation = OPERATIONS.get(operator);
  if (operation === undefined) throw new TypeError(`Unknown operator ${operator}`);
  const right = compile(node.right);
  const kind = knownKind(node);
  return (left, s) => {
    const value = right(s) as Value;
    s.at = at;
    if (kind !== undefined && (left === null || value === null)) conversionFault(null, kind);
    return operation(left, value, s);
  };
}

/**
 * Kind of both operands of an equality, if it is known beforehand. Then nil, which `findIndex` or a branch can give, is
 * not equal or unequal, but a mistake.
 */
function knownKind({ operator, left, right }: BinaryNode): "int" | "string" | undefined {
  if (operator !== "==" && operator !== "!=") return undefined;
  const kind = left.type?.kind;
  return (kind === "int" || kind === "string") && right.type?.kind === kind ? kind : undefined;
}

/** The right operand is returned as it is. */
function logicStep(stopsAt: boolean, right: Run, at: number): BinaryStep {
  return (left, s) => {
    s.at = at;
    return asBool(left) === stopsAt ? stopsAt : right(s) as Value;
  };
}

/** A literal set of strings; nil is looked up as the empty string. */
function setStep(list: Node, at: number): BinaryStep {
  const items = list.kind === "literal" && Array.isArray(list.value) ? list.value : [];
  const set = new Set(items);
  return (left, s) => {
    s.at = at;
    return set.has(stringKey(left));
  };
}

function patternStep(source: string, at: number, context: RunContext): BinaryStep {
  const pattern = compileRegex(source, context);
  return (left, s) => {
    if (isNil(left)) return false;
    s.at = at;
    return pattern.matches(matchedText(left), s.context);
  };
}

/** Closure of a range that is not made into a list; undefined for other nodes. */
export function compileRange(
  node: Node,
  compile: (node: Node) => Run,
): ((s: State) => IntRange) | undefined {
  if (node.kind !== "binary" || node.operator !== "..") return undefined;
  const from = compile(node.left);
  const to = compile(node.right);
  const { at } = node;
  return (s) => {
    const first = from(s) as Value;
    const last = to(s) as Value;
    s.at = at;
    return new IntRange(first, last, s.context);
  };
}

/** An int in a literal range: two comparisons. */
function literalRangeStep(node: Node): BinaryStep | undefined {
  if (node.kind !== "binary" || node.operator !== "..") return undefined;
  const from = intOf(node.left);
  const to = intOf(node.right);
  if (from === undefined || to === undefined) return undefined;
  return (left) => {
    const value = toInt(left);
    return from <= value && value <= to;
  };
}

const ORDER_TESTS: ReadonlyMap<string, (value: number, literal: number) => boolean> = new Map([
  ["<", (value: number, literal: number) => value < literal],
  ["<=", (value: number, literal: number) => value <= literal],
  [">", (value: number, literal: number) => value > literal],
  [">=", (value: number, literal: number) => value >= literal],
]);

/** Equality of a known kind with a literal text; undefined for others. */
function knownEquality({ right, at }: BinaryNode, left: Run, wanted: boolean): Run | undefined {
  const literal = right.kind === "literal" ? right.value : undefined;
  if (typeof literal !== "string" || literal.length > 256) return undefined;
  return (s) => {
    const value = left(s);
    if (value === literal) return wanted;
    s.at = at;
    return value === null ? conversionFault(null, "string") : !wanted;
  };
}

/** Faster closures for the most common forms; undefined for others. */
export function specializedBinary(
  node: BinaryNode,
  left: Run,
  compile: (node: Node) => Run,
): Run | undefined {
  const { operator, at } = node;
  const literal = node.right.kind === "literal" ? node.right.value : undefined;
  if (operator === "==" || operator === "!=") {
    const wanted = operator === "==";
    if (knownKind(node) !== undefined) return knownEquality(node, left, wanted);
    if (typeof literal === "string" && literal.length > 256) {
      return (s) => {
        s.context.step(literal.length / 256);
        return (left(s) === literal) === wanted;
      };
    }
    if (typeof literal === "string" || typeof literal === "boolean") {
      return (s) => (left(s) === literal) === wanted;
    }
    if (literal === null) return (s) => isNil(left(s) as Value) === wanted;
    if (typeof literal === "bigint" || typeof literal === "number") {
      const number = Number(literal);
      return (s) => {
        const value = left(s) as Value;
        if (typeof value === "number") return (value === number) === wanted;
        s.at = at;
        return equal(value, literal, s.context) === wanted;
      };
    }
    return undefined;
  }
  const test = ORDER_TESTS.get(operator);
  if (test !== undefined && (typeof literal === "bigint" || typeof literal === "number")) {
    const number = Number(literal);
    return (s) => {
      const value = left(s) as Value;
      if (typeof value === "number") return test(value, number);
      s.at = at;
      return test(compare(operator, value, literal, s.context), 0);
    };
  }
  const isAnd = operator === "and" || operator === "&&";
  if (!isAnd && operator !== "or" && operator !== "||") return undefined;
  const right = compile(node.right);
  return (s) => {
    const value = left(s) as Value;
    if (value === !isAnd) return value;
    if (value === isAnd) return right(s);
    s.at = at;
    return asBool(value);
  };
}
