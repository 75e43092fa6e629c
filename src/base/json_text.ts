/**
 * JSON text in and out. Reading takes the first value of a text, as clients of the reference rely on, and refuses what
 * nests too deep; writing escapes what could end a script element.
 */
import { invalid } from "./problem.ts";
import type { Json } from "./json.ts";

/** Deepest nesting that is read; everything that walks a value may recurse this deep. */
export const MAX_JSON_DEPTH = 500;

/**
 * Reads the first JSON value of a text and ignores what follows it; undefined when the text is blank.
 * @throws {Problem} InvalidArgument when the text does not begin with a JSON value, or it nests too deep
 */
export function readFirstJson(text: string): Json | undefined {
  if (isShallow(text)) {
    try {
      return JSON.parse(text) as Json;
    } catch {
      // Nothing, more than one value, or a mistake that is told below.
    }
  }
  const start = skipBlanks(text, 0);
  if (start === text.length) return undefined;
  const end = endOfValue(text, start);
  try {
    return JSON.parse(text.slice(start, end)) as Json;
  } catch (cause) {
    throw invalid(cause instanceof Error ? cause.message : "body is not JSON");
  }
}

/** Writes compact JSON with `<`, `>`, `&` and the two line separators escaped. */
export function writeJson(value: unknown): string {
  const text = JSON.stringify(value);
  return /[<>&\u2028\u2029]/.test(text) ? text.replace(/[<>&\u2028\u2029]/g, escapeChar) : text;
}

function escapeChar(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** True when there are too few brackets to nest too deep: most bodies need no closer look. */
function isShallow(text: string): boolean {
  let count = 0;
  for (const open of "{[") {
    for (let at = text.indexOf(open); at >= 0; at = text.indexOf(open, at + 1)) {
      if (++count > MAX_JSON_DEPTH) return false;
    }
  }
  return true;
}

function skipBlanks(text: string, at: number): number {
  while (at < text.length && " \t\r\n".includes(text.charAt(at))) at++;
  return at;
}

/** Position after the value that starts at `start`; only brackets and strings matter here. */
function endOfValue(text: string, start: number): number {
  const first = text.charAt(start);
  if (first === '"') return endOfString(text, start);
  if (first !== "{" && first !== "[") {
    let at = start;
    while (at < text.length && !" \t\r\n,:]}[{".includes(text.charAt(at))) at++;
    return Math.max(at, start + 1);
  }
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) at = endOfString(text, at) - 1;
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > MAX_JSON_DEPTH) throw invalid(`JSON nests deeper than ${MAX_JSON_DEPTH}`);
    } else if (code === 0x7d || code === 0x5d) {
      if (--depth === 0) return at + 1;
    }
  }
  return text.length;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at++;
    else if (code === 0x22) return at + 1;
  }
  return text.length;
}
