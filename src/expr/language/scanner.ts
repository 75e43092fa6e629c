/** Splits a source into tokens. */

import { ExprCompileError } from "../values/error.ts";
import { joinBytes, readEscape } from "./literals.ts";

/** A moving position in a source. */
export interface Cursor {
  readonly expr: string;
  index: number;
}

const SPACES = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*/y;

/** Moves a cursor past blanks and comments. @throws {ExprCompileError} for a comment without an end */
export function skipSpacesAndComments(host: Cursor): void {
  for (;;) {
    SPACES.lastIndex = host.index;
    host.index += SPACES.exec(host.expr)?.[0].length ?? 0;
    if (host.expr.startsWith("//", host.index)) {
      const end = host.expr.indexOf("\n", host.index);
      host.index = end < 0 ? host.expr.length : end;
    } else if (host.expr.startsWith("/*", host.index)) {
      const end = host.expr.indexOf("*/", host.index + 2);
      if (end < 0) throw new ExprCompileError("unclosed comment", host.expr, host.expr.length);
      host.index = end + 2;
    } else return;
  }
}

/** Kinds of tokens, as messages name them. */
export type TokenKind =
  | "EOF"
  | "Operator"
  | "Bracket"
  | "Identifier"
  | "Number"
  | "String"
  | "Bytes";

/** A token; the text of a string is its value. */
export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
  readonly bytes?: Uint8Array;
}

// Digits of other scripts may begin a name; numbers have been read before.
const WORD = /[\p{L}\p{Nd}_$]+/uy;
const POINTER_NAME = /[\p{L}\p{Nd}_$]+/uy;
const NUMBER =
  /(?:0[xX][\da-fA-F_]*|0[oO][0-7_]*|0[bB][01_]*|\.?[\d_]+)(?:\.(?!\.)[\d_]*)?(?:[eE][+-]?[\d_]*)?/y;
/** The second characters that may follow the first character of an operator. */
const SECOND_CHARACTERS = new Map([
  ["?", ".?"],
  ["|", "|"],
  [":", ":"],
  [".", "."],
  ["#", "#"],
  ...Array.from("&!=*<>", (char) => [char, "&=*"] as const),
]);
/** Words that are operators, except as member names. */
export const WORD_OPERATORS: ReadonlySet<string> = new Set(
  ["not", "in", "or", "and", "matches", "contains", "startsWith", "endsWith", "let", "if", "else"],
);

/** A token for messages. */
export function tokenText({ kind, text }: Token): string {
  return kind === "EOF" || text === "" ? kind : `${kind}(${JSON.stringify(text)})`;
}

function fail(source: string, message: string, at: number): never {
  throw new ExprCompileError(message, source, at);
}

/** Reads the name directly after a `#`; empty if there is none. */
export function takePointerName(cursor: Cursor): string {
  POINTER_NAME.lastIndex = cursor.index;
  const name = POINTER_NAME.exec(cursor.expr)?.[0] ?? "";
  cursor.index += name.length;
  return name;
}

function emit(
  cursor: Cursor,
  kind: TokenKind,
  at: number,
  end: number,
  text = cursor.expr.slice(at, end),
): Token {
  cursor.index = end;
  return { kind, text, at };
}

/** Reads the token at the cursor and moves past it. @throws {ExprCompileError} when there is none */
export function scanToken(cursor: Cursor): Token {
  const { expr: source, index: at } = cursor;
  const char = source[at];
  const after = source[at + 1] ?? "";
  if (char === undefined) return { kind: "EOF", text: "", at: Math.max(at - 1, 0) };
  if (char === '"' || char === "'") return quoted(cursor, at, at, false);
  if ((char === "b" || char === "B") && (after === '"' || after === "'")) {
    return quoted(cursor, at, at + 1, true);
  }
  if (char === "`") return rawString(cursor, at);
  if (/\d/.test(char) || (char === "." && /\d/.test(after))) return number(cursor, at);
  WORD.lastIndex = at;
  const word = WORD.exec(source)?.[0];
  if (word !== undefined) {
    return emit(cursor, WORD_OPERATORS.has(word) ? "Operator" : "Identifier", at, at + word.length);
  }
  if ("([{)]}".includes(char)) return emit(cursor, "Bracket", at, at + 1);
  if (",;%+-^/".includes(char)) return emit(cursor, "Operator", at, at + 1);
  const second = SECOND_CHARACTERS.get(char);
  if (second === undefined) unrecognized(source, at);
  return emit(cursor, "Operator", at, after !== "" && second.includes(after) ? at + 2 : at + 1);
}

function unrecognized(source: string, at: number): never {
  const code = source.codePointAt(at) ?? 0;
  const hex = code.toString(16).toUpperCase().padStart(4, "0");
  fail(source, `unrecognized character: U+${hex} '${String.fromCodePoint(code)}'`, at);
}

function number(cursor: Cursor, at: number): Token {
  const { expr: source } = cursor;
  NUMBER.lastIndex = at;
  const end = at + (NUMBER.exec(source)?.[0].length ?? 1);
  POINTER_NAME.lastIndex = end;
  if (POINTER_NAME.test(source)) {
    const last = String.fromCodePoint(source.codePointAt(end) ?? 0);
    fail(source, `bad number syntax: "${source.slice(at, end)}${last}"`, end);
  }
  return emit(cursor, "Number", at, end);
}

function quoted(cursor: Cursor, at: number, open: number, isBytes: boolean): Token {
  const source = cursor.expr;
  const quote = source[open] ?? "";
  const pieces: (string | number)[] = [];
  let start = open + 1;
  let i = start;
  while (source[i] !== quote) {
    const char = source[i];
    if (char === undefined || char === "\n") fail(source, "literal not terminated", i);
    if (char !== "\\") {
      i++;
      continue;
    }
    const escape = readEscape(source, i, quote, isBytes);
    if ("error" in escape) fail(source, escape.error, escape.at);
    pieces.push(withLineFeeds(source.slice(start, i)), escape.byte ?? escape.char);
    start = i = escape.next;
  }
  pieces.push(withLineFeeds(source.slice(start, i)));
  if (!isBytes) return emit(cursor, "String", at, i + 1, pieces.join(""));
  return { ...emit(cursor, "Bytes", at, i + 1), bytes: joinBytes(pieces) };
}

function rawString(cursor: Cursor, at: number): Token {
  const { expr: source } = cursor;
  let end = at + 1;
  for (;;) {
    end = source.indexOf("`", end);
    if (end < 0) fail(source, "literal not terminated", source.length);
    if (source[end + 1] !== "`") break;
    end += 2;
  }
  return emit(cursor, "String", at, end + 1, source.slice(at + 1, end).replaceAll("``", "`"));
}

/** Carriage returns in a literal count as line feeds. */
function withLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}
