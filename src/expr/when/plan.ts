/**
 * Grammar and evaluation of the `when` dialect. All binary operators are left-associative, even `**`. What follows a
 * closing parenthesis without an operator is ignored, as in the reference.
 */
import { Fault } from "../values/error.ts";
import { goPower } from "../values/go_power.ts";
import { floatToInt } from "../values/operators.ts";
import { compileRegex, Pattern } from "../values/regex.ts";
import type { RunContext } from "../values/run_context.ts";
import { goString } from "../values/go_text.ts";
import { WhenFault, type WhenToken } from "./tokens.ts";

/** The value of a part of a `when`. */
export type WhenValue = null | boolean | number | string | Pattern | WhenValue[];

type Stage =
  | { type: "value"; value: WhenValue }
  | { type: "word"; name: string; argument: Stage | undefined }
  | { type: "prefix"; operator: string; right: Stage | undefined }
  | { type: "binary"; operator: string; left: Stage | undefined; right: Stage | undefined };

/** Binary operators by level, loosest first. */
const LEVELS: readonly ReadonlySet<string>[] = [
  new Set([","]),
  new Set(["?", ":", "??"]),
  new Set(["||"]),
  new Set(["&&"]),
  new Set(["==", "!=", ">", "<", ">=", "<=", "=~", "!~", "in"]),
  new Set(["&", "|", "^"]),
  new Set(["<<", ">>"]),
  new Set(["+", "-"]),
  new Set(["*", "/", "%"]),
  new Set(["**"]),
];
const BINARY_KINDS: ReadonlySet<string> = new Set([
  "SEPARATOR",
  "TERNARY",
  "LOGICALOP",
  "COMPARATOR",
  "MODIFIER",
]);
const MAX_DEPTH = 200;

/**
 * Compiles the patterns on the right of `=~` and `!~`.
 * @throws {WhenFault} when a pattern is not valid
 */
export function compilePatterns(
  tokens: readonly WhenToken[],
  context: RunContext,
): WhenToken[] {
  return tokens.map((token, index) => {
    const before = tokens[index - 1];
    const isPattern = token.kind === "STRING" && before?.kind === "COMPARATOR" &&
      (before.value === "=~" || before.value === "!~");
    if (!isPattern) return token;
    pattern(token.text, context);
    return { ...token, kind: "PATTERN" };
  });
}

function pattern(text: string, context: RunContext): Pattern {
  try {
    return compileRegex(text, context);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new WhenFault(error.message);
  }
}

/**
 * Builds the evaluation tree of checked tokens.
 * @throws {WhenFault}
 */
export function planWhen(
  tokens: readonly WhenToken[],
  context: RunContext,
): Stage | undefined {
  let at = 0;
  let depth = 0;

  function parseLevel(level: number): Stage | undefined {
    const operators = LEVELS[level];
    if (operators === undefined) return parseValue();
    let left = parseLevel(level + 1);
    while (true) {
      const token = tokens[at];
      if (token === undefined || !BINARY_KINDS.has(token.kind)) return left;
      if (!operators.has(String(token.value))) return left;
      at++;
      left = { type: "binary", operator: String(token.value), left, right: parseLevel(level + 1) };
    }
  }

  function parseClause(): Stage | undefined {
    if (++depth > MAX_DEPTH) throw new WhenFault(`more than ${MAX_DEPTH} nested parentheses`);
    const stage = parseLevel(0);
    depth--;
    at++;
    return stage ?? { type: "value", value: null };
  }

  function parseValue(): Stage | undefined {
    const token = tokens[at];
    if (token === undefined || token.kind === "CLAUSE_CLOSE") return undefined;
    at++;
    switch (token.kind) {
      case "CLAUSE":
        return parseClause();
      case "PREFIX":
        return { type: "prefix", operator: String(token.value), right: parseValue() };
      case "VARIABLE":
        return { type: "word", name: token.text, argument: undefined };
      case "ACCESSOR": {
        const argument = tokens[at]?.kind === "CLAUSE" ? parseValue() : undefined;
        return { type: "word", name: String(token.value), argument };
      }
      case "PATTERN":
        return { type: "value", value: pattern(token.text, context) };
      case "NUMERIC":
      case "BOOLEAN":
      case "STRING":
      case "TIME":
        return { type: "value", value: token.value };
      default:
        throw new WhenFault(`Unable to plan token kind: '${token.kind}', value: '${token.text}'`);
    }
  }

  return parseLevel(0);
}

/**
 * Evaluates a tree.
 * @throws {WhenFault}
 */
export function runWhen(stage: Stage | undefined, context: RunContext): WhenValue {
  if (stage === undefined) return null;
  switch (stage.type) {
    case "value":
      return stage.value;
    case "word":
      runWhen(stage.argument, context);
      throw new WhenFault(`No parameter '${stage.name}' found.`);
    case "prefix":
      return runPrefix(stage.operator, runWhen(stage.right, context));
    case "binary":
      return runBinary(stage.operator, runWhen(stage.left, context), stage.right, context);
  }
}

function runPrefix(operator: string, right: WhenValue): WhenValue {
  if (operator === "!" && typeof right === "boolean") return !right;
  if (operator === "-" && typeof right === "number") return -right;
  if (operator === "~" && typeof right === "number") return Number(~floatToInt(right));
  throw new WhenFault(`Value '${whenText(right)}' cannot be used with the prefix '${operator}'`);
}

function runBinary(
  operator: string,
  left: WhenValue,
  rightStage: Stage | undefined,
  context: RunContext,
): WhenValue {
  switch (operator) {
    case "&&":
    case "||":
      if (left === (operator === "||")) return left;
      break;
    case ":":
    case "??":
      return left ?? runWhen(rightStage, context);
    case "?":
      if (left === false) return null;
      break;
  }
  const right = runWhen(rightStage, context);
  switch (operator) {
    case ",":
      if (!Array.isArray(left)) return [left, right];
      context.step(left.length / 8);
      return [...left, right];
    case "?":
      if (left !== true) throw misused(left, "?");
      return right;
    case "&&":
    case "||":
      for (const side of [left, right]) {
        if (typeof side !== "boolean") throw misused(side, operator);
      }
      return right;
    case "==":
      return deepEqual(left, right);
    case "!=":
      return !deepEqual(left, right);
    case "=~":
    case "!~":
      return matchesPattern(operator, left, right, context);
    case "in":
      if (!Array.isArray(right)) throw misused(right, operator);
      return right.some((item) => !Array.isArray(item) && item === left);
    case ">":
    case "<":
    case ">=":
    case "<=":
      return compare(operator, left, right);
    default:
      return calculate(operator, left, right);
  }
}

function matchesPattern(
  operator: string,
  left: WhenValue,
  right: WhenValue,
  context: RunContext,
): boolean {
  if (typeof left !== "string") throw misused(left, operator);
  if (typeof right === "string") {
    try {
      right = compileRegex(right, context);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      throw new WhenFault(`Unable to compile regexp pattern '${right}': ${error.message}`);
    }
  }
  if (!(right instanceof Pattern)) throw misused(right, operator);
  return right.matches(left, context) === (operator === "=~");
}

function compare(operator: string, left: WhenValue, right: WhenValue): boolean {
  let order: number;
  if (typeof left === "number" && typeof right === "number") order = left - right;
  else if (typeof left === "string" && typeof right === "string") order = compareText(left, right);
  else throw misused(left, operator);
  if (left === right) order = 0;
  switch (operator) {
    case ">":
      return order > 0;
    case "<":
      return order < 0;
    case ">=":
      return order >= 0;
    default:
      return order <= 0;
  }
}

function calculate(operator: string, left: WhenValue, right: WhenValue): WhenValue {
  if (operator === "+" && (typeof left === "string" || typeof right === "string")) {
    return whenText(left) + whenText(right);
  }
  for (const side of [left, right]) {
    if (typeof side !== "number") throw misused(operator === "+" ? left : side, operator);
  }
  const a = left as number;
  const b = right as number;
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return a / b;
    case "%":
      return a % b;
    case "**":
      return goPower(a, b);
    case "&":
      return Number(floatToInt(a) & floatToInt(b));
    case "|":
      return Number(floatToInt(a) | floatToInt(b));
    case "^":
      return Number(floatToInt(a) ^ floatToInt(b));
    case "<<":
    case ">>":
      return shift(operator, BigInt.asUintN(64, floatToInt(a)), BigInt.asUintN(64, floatToInt(b)));
    default:
      throw new WhenFault(`Invalid token: '${operator}'`);
  }
}

function shift(operator: string, value: bigint, by: bigint): number {
  if (by >= 64n) return 0;
  return Number(operator === "<<" ? BigInt.asUintN(64, value << by) : value >> by);
}

function deepEqual(left: WhenValue, right: WhenValue): boolean {
  if (!Array.isArray(left) || !Array.isArray(right)) return left === right;
  return left.length === right.length &&
    left.every((item, index) => deepEqual(item, right[index] ?? null));
}

function compareText(left: string, right: string): number {
  const a = [...left];
  const b = [...right];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (a[i]?.codePointAt(0) ?? 0) - (b[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const ROLES: readonly [ReadonlySet<string>, string][] = [
  [new Set(["&&", "||"]), "logical operator '%', it is not a bool"],
  [new Set(["?"]), "ternary operator '%', it is not a bool"],
  [LEVELS[4] as ReadonlySet<string>, "comparator '%', it is not a number"],
];

function misused(value: WhenValue, operator: string): WhenFault {
  const role = ROLES.find(([operators]) => operators.has(operator))?.[1] ??
    "modifier '%', it is not a number";
  return new WhenFault(
    `Value '${whenText(value)}' cannot be used with the ${role.replace("%", () => operator)}`,
  );
}

/** A value as messages show it: text as it is, lists as `[a b]`. */
export function whenText(value: WhenValue): string {
  if (Array.isArray(value)) return `[${value.map(whenText).join(" ")}]`;
  return value instanceof Pattern ? value.source : goString(value);
}
