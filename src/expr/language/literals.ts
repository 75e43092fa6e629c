/** The values of number and string literals. Failures are returned as messages, to which the caller adds the place. */

import { utf8Bytes } from "../values/utf8.ts";

export type Decoded<T> = { readonly value: T } | { readonly error: string };

const MAX_INT = 2n ** 63n - 1n;
const RADIX = { x: "hex", b: "binary", o: "octal" } as const;

/** Decodes a number token. Underscores are allowed between any digits. */
export function decodeNumber(token: string): Decoded<bigint | number> {
  const text = token.replaceAll("_", "");
  const prefix = /^0([xXbBoO])/.exec(text)?.[1]?.toLowerCase() as keyof typeof RADIX | undefined;
  if (prefix !== undefined) return decodeInteger(text, `${RADIX[prefix]} literal`);
  if (/[.eE]/.test(text)) {
    const value = /^(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : NaN;
    if (Number.isFinite(value)) return { value };
    const why = Number.isNaN(value) ? "invalid syntax" : "value out of range";
    return { error: `invalid float literal: strconv.ParseFloat: parsing "${text}": ${why}` };
  }
  return decodeInteger(text, "integer literal");
}

function decodeInteger(text: string, what: string): Decoded<bigint> {
  const failure = (why: string) => ({
    error: `invalid ${what}: strconv.ParseInt: parsing "${text}": ${why}`,
  });
  if (!/^(\d+|0[xX][\da-fA-F]+|0[bB][01]+|0[oO][0-7]+)$/.test(text)) {
    return failure("invalid syntax");
  }
  // A 64-bit number has at most 66 characters: `0b` and 64 digits.
  const digits = text.replace(/^0+(?=\d)/, "");
  if (digits.length > 66) return failure("value out of range");
  const value = BigInt(digits);
  return value > MAX_INT ? failure("value out of range") : { value };
}

const ESCAPES = new Map([
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["\\", "\\"],
  ['"', '"'],
  ["'", "'"],
]);

/** One escape in a quoted string: its value and the offset after it, or the offset at which it is wrong. */
export type Escape =
  | { readonly char: string; readonly byte?: number; readonly next: number }
  | { readonly error: string; readonly at: number };

/**
 * Reads the escape whose backslash is at `at`.
 * @param isBytes in a bytes literal `\x` and octal are single bytes, and `\u` does not exist
 */
export function readEscape(source: string, at: number, quote: string, isBytes: boolean): Escape {
  const kind = source[at + 1] ?? "";
  const simple = ESCAPES.get(kind);
  if (simple !== undefined && (kind === quote || (kind !== '"' && kind !== "'"))) {
    return { char: simple, next: at + 2 };
  }
  if (kind >= "0" && kind <= "7") return digitsEscape(source, at + 1, 3, 8, isBytes);
  if (kind === "x") return digitsEscape(source, at + 2, 2, 16, isBytes);
  if (isBytes) return { error: "invalid char escape", at: at + 1 };
  if (kind === "U") return digitsEscape(source, at + 2, 8, 16, false);
  if (kind !== "u") return { error: "invalid char escape", at: at + 1 };
  if (source[at + 2] !== "{") return digitsEscape(source, at + 2, 4, 16, false);
  let end = at + 3;
  while (end < at + 9 && /[\da-fA-F]/.test(source[end] ?? "")) end++;
  if (end === at + 3 || source[end] !== "}") return { error: "invalid char escape", at: end };
  return codePointEscape(parseInt(source.slice(at + 3, end), 16), end + 1, false);
}

function digitsEscape(
  source: string,
  at: number,
  count: number,
  base: 8 | 16,
  isBytes: boolean,
): Escape {
  const digit = base === 8 ? /[0-7]/ : /[\da-fA-F]/;
  for (let i = at; i < at + count; i++) {
    if (!digit.test(source[i] ?? "")) return { error: "invalid char escape", at: i };
  }
  const code = parseInt(source.slice(at, at + count), base);
  if (base === 8 && code > 255) return { error: "unable to unescape string", at: at + count };
  return codePointEscape(code, at + count, isBytes);
}

function codePointEscape(code: number, next: number, isBytes: boolean): Escape {
  if (code > 0x10ffff) return { error: "unable to unescape string", at: next };
  if (isBytes) return { char: "", byte: code, next };
  return { char: code >= 0xd800 && code <= 0xdfff ? "\ufffd" : String.fromCodePoint(code), next };
}

/** The bytes of a bytes literal, from its decoded pieces: texts, as UTF-8, and single bytes. */
export function joinBytes(pieces: readonly (string | number)[]): Uint8Array {
  const out: number[] = [];
  for (const piece of pieces) {
    if (typeof piece === "number") out.push(piece);
    else for (const byte of utf8Bytes(piece)) out.push(byte);
  }
  return Uint8Array.from(out);
}
