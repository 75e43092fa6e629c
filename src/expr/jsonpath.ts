/**
 * JSONPath over parsed JSON: `$.a.b[0]`, `['k']`, `[*]`, `..k`, `[0,2]`, `[0:2]`, `[?(@.p > 1)]`, `[(@.length-1)]`,
 * `.length`. A step that gives several values (`*`, `..`, unions, slices, filters) gives a list, and leaves out those
 * where the rest of the path fails.
 */
import { fault } from "./error.ts";
import { goKind } from "./go_reflect.ts";
import {
  evaluateJsonPathScript,
  type JsonPathScript,
  parseJsonPathScript,
} from "./jsonpath_script.ts";
import type { RunContext } from "./run_context.ts";
import { payForBytes } from "./utf8.ts";
import { isValueMap, ownValue, type Value } from "./values.ts";

/** One step of a path. Positions may be scripts: `[(@.length-1)]`. */
export type JsonPathStep =
  | { type: "key"; key: string }
  | { type: "length" }
  | { type: "index"; index: number }
  | { type: "script"; script: JsonPathScript }
  | { type: "wildcard" }
  | { type: "recursive" }
  | { type: "union"; items: (number | string | JsonPathScript)[] }
  | { type: "range"; from: Bound; to: Bound; step: Bound }
  | { type: "filter"; script: JsonPathScript };
type Bound = number | JsonPathScript | undefined;

/** A path, from the document (`$`) or the element at hand (`@`). */
export interface JsonPath {
  isAbsolute: boolean;
  steps: JsonPathStep[];
}

/**
 * Reads what a path selects.
 * @throws {Fault} when the path is not valid, or a single step finds nothing
 */
export function queryJson(document: Value, path: string, context: RunContext): Value {
  return applyPath(parseJsonPath(path, context), document, document, context);
}

/** Applies a parsed path. @throws {Fault} */
export function applyPath(path: JsonPath, root: Value, current: Value, context: RunContext): Value {
  return apply(path.steps, 0, root, path.isAbsolute ? root : current, context);
}

// ------------------------------------------------------------------------------------------------------------ parsing

/** Longest path, in UTF-16 units. */
const MAX_PATH_LENGTH = 4_096;

/** Parses a whole path. @throws {Fault} */
export function parseJsonPath(text: string, context: RunContext): JsonPath {
  if (text.length > MAX_PATH_LENGTH) {
    fault(`invalid JSONPath selector: longer than ${MAX_PATH_LENGTH} characters`);
  }
  const refuse = (reason: string): never => fault(`invalid JSONPath selector '${text}' ${reason}`);
  const { path, end } = readJsonPath(text, 0, refuse, /[.[]/, context);
  if (end < text.length) refuse(`unexpected token '${text.charAt(end)}' at index ${end}`);
  return path;
}

/**
 * Reads a path inside a longer text.
 * @param stop what ends a plain key
 */
export function readJsonPath(
  text: string,
  start: number,
  refuse: (reason: string) => never,
  stop: RegExp,
  context: RunContext,
): { path: JsonPath; end: number } {
  const first = text.charAt(start);
  if (first !== "$" && first !== "@") refuse(`unexpected token '${first}' at index ${start}`);
  const steps: JsonPathStep[] = [];
  let at = start + 1;
  while (at < text.length) {
    const char = text.charAt(at);
    context.step(2);
    if (char === "[") {
      const close = closingBracket(text, at, context);
      if (close < 0) refuse(`invalid token. '${text.slice(at)}' does not match any token format`);
      steps.push(parseSubscript(text.slice(at + 1, close), refuse, context));
      at = close + 1;
    } else if (text.startsWith("..", at)) {
      steps.push({ type: "recursive" });
      at += 2;
      if (at < text.length && !/[.[]/.test(text.charAt(at))) at = readKey(at);
    } else if (char === ".") {
      if (text.charAt(at + 1) === "[") at++;
      else at = readKey(at + 1);
    } else break;
  }
  return { path: { isAbsolute: first === "$", steps }, end: at };

  function readKey(from: number): number {
    let end = from;
    while (end < text.length && !stop.test(text.charAt(end))) end++;
    context.step(end - from);
    if (text.charAt(from) === "*" && end === from) end++;
    const key = text.slice(from, end).trim();
    if (key === "") refuse("invalid token. token string is empty");
    if (key === "*") steps.push({ type: "wildcard" });
    else if (key === "length") steps.push({ type: "length" });
    else steps.push({ type: "key", key });
    return end;
  }
}

/** The bracket that closes the one at an offset; brackets in quotes do not count. */
function closingBracket(text: string, open: number, context: RunContext): number {
  let depth = 0;
  let quote = "";
  for (let i = open; i < text.length; i++) {
    const char = text.charAt(i);
    if (quote !== "") {
      if (char === "\\") i++;
      else if (char === quote) quote = "";
    } else if (char === "'" || char === '"') quote = char;
    else if (char === "[") depth++;
    else if (char === "]" && --depth === 0) {
      context.step((i - open) / 4);
      return i;
    }
  }
  return -1;
}

function parseSubscript(
  text: string,
  refuse: (reason: string) => never,
  context: RunContext,
): JsonPathStep {
  context.step(10 + text.length / 2);
  const body = text.trim();
  const wrong = () => refuse(`invalid token. '[${text}]' does not match any token format`);
  if (body === "*") return { type: "wildcard" };
  if (body.startsWith("?")) {
    const script = /^\?\s*\(([^]*)\)$/.exec(body)?.[1] ?? wrong();
    return { type: "filter", script: parseJsonPathScript(script, context) };
  }
  const items = splitOutside(body, ",");
  const bounds = splitOutside(body, ":");
  if (items.length > 1 && bounds.length > 1) return wrong();
  if (bounds.length > 1) {
    if (bounds.length > 3) return wrong();
    const [from, to, step] = bounds.map((bound) =>
      bound === "" ? undefined : parsePosition(bound, wrong, context)
    );
    if (typeof from === "string" || typeof to === "string" || typeof step === "string") {
      return wrong();
    }
    return { type: "range", from, to, step };
  }
  if (items.length > 1) {
    return {
      type: "union",
      items: items.map((item) => parsePosition(item, wrong, context)),
    };
  }
  const item = parsePosition(body, wrong, context);
  if (typeof item === "string") return { type: "key", key: item };
  return typeof item === "number"
    ? { type: "index", index: item }
    : { type: "script", script: item };
}

/** A position of a subscript: an index, a quoted key, a script in parentheses. */
function parsePosition(
  text: string,
  wrong: () => never,
  context: RunContext,
): number | string | JsonPathScript {
  context.step(5);
  const item = text.trim();
  if (/^[+-]?\d{1,15}$/.test(item)) return Number(item);
  const quote = item.charAt(0);
  if (item.length > 1 && (quote === "'" || quote === '"') && item.endsWith(quote)) {
    return item.slice(1, -1).replace(/\\(['"\\])/g, "$1");
  }
  return item.startsWith("(") && item.endsWith(")")
    ? parseJsonPathScript(item.slice(1, -1), context)
    : wrong();
}

/** Parts of a text between separators that are not in quotes, brackets or parentheses. */
function splitOutside(text: string, separator: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let quote = "";
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i);
    if (quote !== "") {
      if (char === "\\") i++;
      else if (char === quote) quote = "";
    } else if (char === "'" || char === '"') quote = char;
    else if (char === "(" || char === "[") depth++;
    else if (char === ")" || char === "]") depth--;
    else if (char === separator && depth === 0) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim());
}

// ----------------------------------------------------------------------------------------------------------- applying

function apply(
  steps: readonly JsonPathStep[],
  at: number,
  root: Value,
  current: Value,
  context: RunContext,
): Value {
  context.step(3);
  const step = steps[at];
  if (step === undefined) return current;
  const next = (value: Value) => apply(steps, at + 1, root, value, context);
  switch (step.type) {
    case "key":
      return next(memberOf(current, step.key));
    case "length":
      return next(lengthOf(current, context));
    case "index":
      return next(elementOf(current, step.index));
    case "script":
      return next(selectedBy(evaluateJsonPathScript(step.script, root, current, context), current));
    case "wildcard":
      return each(childrenOf(current, "wildcard", context));
    case "recursive":
      return recursive();
    case "union":
      return several(union(step.items));
    case "range":
      return several(range(step));
    case "filter":
      return several(
        childrenOf(current, "filter", context).filter((child) => {
          const result = orNull(
            () => evaluateJsonPathScript(step.script, root, child, context),
            context,
          );
          return result !== null && result !== false && result !== "";
        }),
      );
  }

  /** The rest of the path for each value; without what fails or is nil. */
  function each(values: readonly Value[]): Value {
    context.spend(values.length);
    context.step(values.length);
    if (at + 1 === steps.length) return [...values];
    return values.filter(mayGoOn).map((value) => orNull(() => next(value), context))
      .filter((value) => value !== null);
  }

  /** Whether the next step finds anything; to look takes less than a failure. */
  function mayGoOn(value: Value): boolean {
    const step = steps[at + 1];
    if (step?.type === "key") return isValueMap(value) && Object.hasOwn(value, step.key);
    if (step?.type === "index" || step?.type === "range") return Array.isArray(value);
    if (step?.type !== "wildcard" && step?.type !== "filter") return true;
    return Array.isArray(value) || isValueMap(value);
  }

  /** As {@link each}, but an index behind it picks one of the values. */
  function several(values: Value[]): Value {
    return steps[at + 1]?.type === "index" ? next(values) : each(values);
  }

  function recursive(): Value {
    const found: Value[] = [];
    const pending: Value[] = [current];
    while (pending.length > 0) {
      const value = pending.pop() as Value;
      if (value === null) continue;
      context.spend(1);
      context.step(2);
      found.push(value);
      const children = Array.isArray(value) || isValueMap(value)
        ? childrenOf(value, "recursive", context)
        : [];
      pending.push(...children.toReversed());
    }
    if (at + 1 === steps.length) return found;
    return found.flatMap((value) => {
      if (!mayGoOn(value)) return [];
      const result = orNull(() => next(value), context);
      if (Array.isArray(result)) context.spend(result.length);
      return result === null ? [] : Array.isArray(result) ? result : [result];
    });
  }

  function union(items: readonly (number | string | JsonPathScript)[]): Value[] {
    const positions = items.map((item) =>
      typeof item === "object" ? evaluateJsonPathScript(item, root, current, context) : item
    );
    return positions
      .filter((position) =>
        typeof position !== "string" || !isValueMap(current) || Object.hasOwn(current, position)
      )
      .map((position) => selectedBy(position, current, "union"));
  }

  function range(bounds: { from: Bound; to: Bound; step: Bound }): Value[] {
    if (!Array.isArray(current)) {
      return fault(
        `range: invalid token target. expected [array slice] got [${kindText(current)}]`,
      );
    }
    const list = current;
    const number = (bound: Bound): number | undefined => {
      const value = typeof bound === "object"
        ? evaluateJsonPathScript(bound, root, current, context)
        : bound;
      if (value === undefined || (typeof value === "number" && Number.isInteger(value))) {
        return value;
      }
      return typeof value === "bigint" ? Number(value) : fault("range: invalid token argument");
    };
    const step = number(bounds.step) ?? 1;
    if (step === 0) fault("range: invalid token out of range");
    const position = (bound: number | undefined, otherwise: number): number => {
      const index = bound ?? otherwise;
      return Math.max(0, Math.min(index < 0 ? index + list.length : index, list.length));
    };
    const from = position(number(bounds.from), 0);
    const to = position(number(bounds.to), list.length);
    context.spend(Math.max(0, to - from));
    const found: Value[] = [];
    // A negative step takes the same elements from behind.
    if (step > 0) { for (let i = from; i < to; i += step) found.push(list[i] as Value); }
    else for (let i = to - 1; i >= from; i += step) found.push(list[i] as Value);
    return found;
  }
}

function orNull(run: () => Value, context: RunContext): Value {
  return context.orElse(run, () => null);
}

/** What a key or index selects. */
function selectedBy(position: Value, current: Value, type = "expression"): Value {
  if (typeof position === "string") {
    return memberOf(current, position, type === "union" ? type : "key");
  }
  const index = typeof position === "bigint" ? Number(position) : position;
  if (typeof index !== "number" || !Number.isInteger(index)) {
    return fault(
      `${type}: unexpected expression result. expected [int string] got [${kindText(position)}]`,
    );
  }
  return elementOf(current, index, type === "union" ? type : "index");
}

function memberOf(value: Value, key: string, type = "key"): Value {
  if (!isValueMap(value)) {
    return fault(`${type}: invalid token target. expected [map] got [${kindText(value)}]`);
  }
  return ownValue(value, key) ??
    (Object.hasOwn(value, key) ? null : fault(`${type}: invalid token key '${key}' not found`));
}

function elementOf(value: Value, index: number, type = "index"): Value {
  if (!Array.isArray(value)) {
    return fault(`${type}: invalid token target. expected [array slice] got [${kindText(value)}]`);
  }
  return value[index < 0 ? index + value.length : index] ??
    (index >= -value.length && index < value.length
      ? null
      : fault(`${type}: invalid token out of range`));
}

function lengthOf(value: Value, context: RunContext): Value {
  if (Array.isArray(value)) return BigInt(value.length);
  if (typeof value === "string") {
    payForBytes(value, context);
    return BigInt(new TextEncoder().encode(value).length);
  }
  if (isValueMap(value)) return ownValue(value, "length") ?? BigInt(Object.keys(value).length);
  return fault(
    `length: invalid token target. expected [array map slice string] got [${kindText(value)}]`,
  );
}

function childrenOf(value: Value, type: string, context: RunContext): readonly Value[] {
  if (Array.isArray(value)) {
    context.step(value.length / 4);
    return value;
  }
  if (isValueMap(value)) {
    const keys = Object.keys(value);
    context.step(keys.length * 5);
    return keys.sort().map((key) => value[key] as Value);
  }
  return fault(
    `${type}: invalid token target. expected [array map slice] got [${kindText(value)}]`,
  );
}

function kindText(value: Value): string {
  return value === null ? "nil" : goKind(value);
}
