/** Evaluates the scripts in JSONPaths. */
import { fault } from "../values/error.ts";
import { strictlyEqual } from "../values/operators.ts";
import { compileRegex } from "../values/regex.ts";
import type { RunContext } from "../values/run_context.ts";
import { compareStrings } from "../values/utf8.ts";
import { isValueMap, type Value } from "../values/values.ts";
import { applyPath } from "./apply_path.ts";
import type { JsonPathScript } from "./tree.ts";

/** Evaluates a script at an element. @throws {Fault} */
export function evaluateJsonPathScript(
  script: JsonPathScript,
  root: Value,
  current: Value,
  context: RunContext,
): Value {
  context.step(3);
  const run = (part: JsonPathScript) => evaluateJsonPathScript(part, root, current, context);
  switch (script.type) {
    case "value":
      return script.value;
    case "path":
      return applyPath(script.path, root, current, context);
    case "not":
      return !isTrue(run(script.operand));
    case "negative":
      return -numberOf(run(script.operand));
    case "binary":
      return runBinary(script.operator, () => run(script.left), () => run(script.right), context);
  }
}

function runBinary(
  operator: string,
  left: () => Value,
  right: () => Value,
  context: RunContext,
): Value {
  switch (operator) {
    case "&&":
      return isTrue(orNull(left, context)) && isTrue(orNull(right, context));
    case "||":
      return isTrue(orNull(left, context)) || isTrue(orNull(right, context));
    case "==":
    case "!=":
      return isEqual(orNull(left, context), orNull(right, context), context) ===
        (operator === "==");
    case "=~": {
      const text = left();
      const pattern = right();
      if (typeof text !== "string" || typeof pattern !== "string") {
        return fault("invalid argument. expected string");
      }
      return compileRegex(pattern, context).matches(text, context);
    }
    case "in": {
      const needle = left();
      const container = right();
      const items = isValueMap(container) ? Object.values(container) : container;
      if (Array.isArray(items)) context.step(items.length);
      return Array.isArray(items)
        ? items.some((item) => isEqual(item, needle, context))
        : fault("invalid argument. expected list");
    }
    case "<":
    case ">":
    case "<=":
    case ">=":
      return compare(operator, left(), right(), context);
    default:
      return calculate(operator, left(), right(), context);
  }
}

function compare(
  operator: string,
  left: Value,
  right: Value,
  context: RunContext,
): boolean {
  if (typeof left === "string") context.step(left.length / 16);
  const order = typeof left === "string" && typeof right === "string"
    ? compareStrings(left, right)
    : numberOf(left) - numberOf(right);
  if (operator === "<") return order < 0;
  if (operator === ">") return order > 0;
  return operator === "<=" ? order <= 0 : order >= 0;
}

function calculate(operator: string, left: Value, right: Value, context: RunContext): Value {
  if (operator === "+" && typeof left === "string" && typeof right === "string") {
    context.produce(left.length + right.length);
    return left + right;
  }
  const a = numberOf(left);
  const b = numberOf(right);
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "**":
      return a ** b;
    case "/":
      return b === 0 ? fault("division by zero") : a / b;
    default:
      return b === 0 ? fault("division by zero") : a % b;
  }
}

function numberOf(value: Value): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : NaN;
  return Number.isNaN(number) ? fault("invalid argument. expected number") : number;
}

function isEqual(left: Value, right: Value, context: RunContext): boolean {
  const plain = (value: Value) => typeof value === "bigint" ? Number(value) : value;
  return strictlyEqual(plain(left), plain(right), context);
}

function isTrue(value: Value): boolean {
  return value !== null && value !== false && value !== "";
}

/** The result of a function; nil if it fails. */
export function orNull(run: () => Value, context: RunContext): Value {
  return context.orElse(run, () => null);
}
