/** The small expression language of JSONPath filters and scripts: `@.price > 1 && @.name =~ "^a"`, `@.length-1`. */
import { fault } from "./error.ts";
import { applyPath, type JsonPath, readJsonPath } from "./jsonpath.ts";
import { compileRegex } from "./regex.ts";
import { strictlyEqual } from "./operators.ts";
import type { RunContext } from "./run_context.ts";
import { isValueMap, type Value } from "./values.ts";
import { compareStrings } from "./utf8.ts";

/** A parsed script. */
export type JsonPathScript =
  | { type: "value"; value: Value }
  | { type: "path"; path: JsonPath }
  | { type: "not" | "negative"; operand: JsonPathScript }
  | { type: "binary"; operator: string; left: JsonPathScript; right: JsonPathScript };

/** Binary operators, loosest first. */
const LEVELS: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["==", "!=", "=~", "<=", ">=", "<", ">", "in"],
  ["+", "-"],
  ["**", "*", "/", "%"],
];
const MAX_LENGTH = 2_000;
/** Steps of an evaluation that reading a character takes. */
const STEPS_PER_CHARACTER = 15;
const MAX_DEPTH = 100;
/** What ends a plain key of a path inside a script. */
const KEY_END = /[.[\s()+\-*/%<>=!&|,]/;

/** Parses a script. @throws {Fault} */
export function parseJsonPathScript(text: string, context: RunContext): JsonPathScript {
  const refuse = (reason: string): never => fault(`invalid expression. ${reason}`);
  if (text.length > MAX_LENGTH) refuse(`longer than ${MAX_LENGTH} characters`);
  context.step(text.length * STEPS_PER_CHARACTER);
  let at = 0;
  let depth = 0;

  const skipBlanks = () => {
    while (/\s/.test(text.charAt(at))) at++;
  };

  function parseLevel(level: number): JsonPathScript {
    const operators = LEVELS[level];
    if (operators === undefined) return parseUnary();
    let left = parseLevel(level + 1);
    while (true) {
      skipBlanks();
      const operator = operators.find((candidate) => text.startsWith(candidate, at));
      if (
        operator === undefined || (operator === "in" && !/^in[\s([]/.test(text.slice(at, at + 3)))
      ) return left;
      at += operator.length;
      left = { type: "binary", operator, left, right: parseLevel(level + 1) };
    }
  }

  function parseUnary(): JsonPathScript {
    skipBlanks();
    if (++depth > MAX_DEPTH) refuse("nested too deeply");
    try {
      const char = text.charAt(at);
      if (char === "!") {
        at++;
        return { type: "not", operand: parseUnary() };
      }
      if (char === "-") {
        at++;
        return { type: "negative", operand: parseUnary() };
      }
      if (char === "(") {
        at++;
        const inner = parseLevel(0);
        skipBlanks();
        if (text.charAt(at) !== ")") refuse(`invalid format '${text}'`);
        at++;
        return inner;
      }
      return parsePrimary(char);
    } finally {
      depth--;
    }
  }

  function parsePrimary(char: string): JsonPathScript {
    if (char === "$" || char === "@") {
      const { path, end } = readJsonPath(text, at, refuse, KEY_END, context);
      at = end;
      return { type: "path", path };
    }
    if (char === "'" || char === '"') return { type: "value", value: parseQuoted(char) };
    if (char === "[") return { type: "value", value: parseList() };
    const word = /^(\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null|nil)(?![\w.])/.exec(text.slice(at));
    if (word === null) return refuse(char === "" ? "is empty" : `invalid format '${text}'`);
    at += word[0].length;
    const words: Record<string, Value> = { true: true, false: false, null: null, nil: null };
    return {
      type: "value",
      value: words[word[0]] === undefined ? Number(word[0]) : words[word[0]] as Value,
    };
  }

  function parseQuoted(quote: string): string {
    let value = "";
    for (at++; at < text.length; at++) {
      const char = text.charAt(at);
      if (char === quote) {
        at++;
        return value;
      }
      if (char === "\\" && [quote, "\\"].includes(text.charAt(at + 1))) value += text.charAt(++at);
      else value += char;
    }
    return refuse(`invalid format '${text}'`);
  }

  function parseList(): Value[] {
    const items: Value[] = [];
    at++;
    skipBlanks();
    while (text.charAt(at) !== "]") {
      const item = parseUnary();
      if (item.type !== "value") refuse(`invalid format '${text}'`);
      else items.push(item.value);
      skipBlanks();
      if (text.charAt(at) === ",") at++;
      else if (text.charAt(at) !== "]") refuse(`invalid format '${text}'`);
      skipBlanks();
    }
    at++;
    return items;
  }

  const script = parseLevel(0);
  skipBlanks();
  if (at < text.length) refuse(`invalid format '${text}'`);
  return script;
}

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

function orNull(run: () => Value, context: RunContext): Value {
  return context.orElse(run, () => null);
}
