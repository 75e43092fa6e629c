/** Reads JSONPaths. */
import { fault } from "../values/error.ts";
import type { RunContext } from "../values/run_context.ts";
import { parseJsonPathScript } from "./parse_script.ts";
import type { JsonPath, JsonPathScript, JsonPathStep } from "./tree.ts";

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

/** Splits a text at separators that are not in quotes, brackets or parentheses. */
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
