/** Text in double quotes with Go's escapes. */

import { utf8Bytes } from "./utf8.ts";

const SHORT = new Map([
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ['"', '\\"'],
  ["\\", "\\\\"],
]);

/** A text as Go's `%q` writes it: unprintable characters are escaped, others stay as they are. */
export function goQuote(text: string): string {
  let result = '"';
  for (const char of text) result += SHORT.get(char) ?? (isPrintable(char) ? char : escapeOf(char));
  return `${result}"`;
}

/** A text as Go's errors about times and durations show it: each byte that is not printable ASCII is escaped. */
export function goTimeQuote(text: string): string {
  let result = "";
  for (const byte of utf8Bytes(text)) {
    const char = String.fromCharCode(byte);
    if (byte < 0x20 || byte >= 0x80) result += `\\x${byte.toString(16).padStart(2, "0")}`;
    else result += char === '"' || char === "\\" ? `\\${char}` : char;
  }
  return `"${result}"`;
}

function isPrintable(char: string): boolean {
  return char === " " || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char);
}

function escapeOf(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  const hex = (digits: number, value = code) => value.toString(16).padStart(digits, "0");
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${hex(2, code - 0xdc00)}`;
  if (code < 0x20 || code === 0x7f) return `\\x${hex(2)}`;
  return code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
}
