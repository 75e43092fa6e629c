/** Evaluates the scripts in JSONPaths. */
import { fault } from "../values/error.ts";
import { isEmptyValue } from "../values/go_reflect.ts";
import { goString } from "../values/go_text.ts";
import { strictlyEqual } from "../values/operators.ts";
import { compileRegex } from "../values/regex.ts";
import type { RunContext } from "../values/run_context.ts";
import { compareStrings } from "../values/utf8.ts";
import { isValueMap, NamedInt, type Value } from "../values/values.ts";
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
      return plain(applyPath(script.path, root, current, context));
    case "not":
      return isEmptyValue(run(script.operand), context);
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
      return isTrue(left, context) && isTrue(right, context);
    case "||":
      return isTrue(left, context) || isTrue(right, context);
    case "==":
    case "!=":
      return isEqual(left(), right(), context) === (operator === "==");
    case "=~": {
      const text = goString(left(), context);
      return compileRegex(goString(right(), context), context).matches(text, context);
    }
    case "in":
      return isIn(left(), right(), context);
    case "not in":
      // What is missing is in no list.
      return !isIn(orNull(left, context), right(), context);
    case "<":
    case ">":
    case "<=":
    case ">=":
      return compare(operator, left(), right(), context);
    default:
      return calculate(operator, left(), right(), context);
  }
}

function isIn(needle: Value, container: Value, context: RunContext): boolean {
  const items = isValueMap(container) ? Object.values(container) : container;
  if (!Array.isArray(items)) return fault("invalid argument. expected list");
  context.step(items.length);
  return items.some((item) => isEqual(item, needle, context));
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
  return typeof value === "bigint" ? Number(value) : fault("invalid argument. expected number");
}

/** Scripts calculate with floats only; a length is none. */
function plain(value: Value): Value {
  if (value instanceof NamedInt) return Number(value.value);
  return typeof value === "bigint" ? Number(value) : value;
}

function isEqual(left: Value, right: Value, context: RunContext): boolean {
  return strictlyEqual(plain(left), plain(right), context);
}

/** Whether one side of `&&` or `||` holds; what fails, for example because a key is missing, does not. */
function isTrue(side: () => Value, context: RunContext): boolean {
  return !isEmptyValue(orNull(side, context), context);
}

/** The result of a function; nil if it fails. */
export function orNull(run: () => Value, context: RunContext): Value {
  return context.orElse(run, () => null);
}
