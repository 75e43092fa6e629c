/** Base32 with padding, with errors as Go words them. */
import { fault } from "../values/error.ts";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Writes bytes as base32. */
export function encodeBase32(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let i = 0; i < bytes.length; i += 5) {
    let group = 0n;
    for (let k = 0; k < 5; k++) group = (group << 8n) | BigInt(bytes[i + k] ?? 0);
    const size = Math.ceil((Math.min(5, bytes.length - i) * 8) / 5);
    for (let k = 0; k < 8; k++) {
      parts.push(k < size ? LETTERS.charAt(Number((group >> BigInt(35 - 5 * k)) & 31n)) : "=");
    }
  }
  return parts.join("");
}

/**
 * Reads the bytes of a base32 text; line ends are skipped.
 * @throws {Fault} with the offset of the first wrong character
 */
export function decodeBase32(text: string): Uint8Array {
  const source = text.replace(/[\r\n]/g, "");
  const corrupt = (at: number) => fault(`illegal base32 data at input byte ${at}`);
  const bytes: number[] = [];
  for (let start = 0; start < source.length; start += 8) {
    const group = source.slice(start, start + 8);
    const letters = /^[A-Z2-7]*/.exec(group)?.[0] ?? "";
    const end = start + letters.length;
    if (letters.length < 8) {
      if (end === source.length) return corrupt(start);
      if (source[end] !== "=" || letters.length < 2) return corrupt(end);
      if (source.length < start + 8) return corrupt(source.length);
      const pads = source.slice(end);
      const bad = pads.search(/[^=]/);
      if (bad >= 0) return corrupt(end + bad - 1);
      if (source.length > start + 8 || [1, 3, 6].includes(letters.length)) return corrupt(end);
    }
    let value = 0n;
    for (const letter of letters.padEnd(8, "A")) {
      value = (value << 5n) | BigInt(LETTERS.indexOf(letter));
    }
    const size = Math.floor((letters.length * 5) / 8);
    for (let k = 0; k < size; k++) bytes.push(Number((value >> BigInt(32 - 8 * k)) & 255n));
  }
  return Uint8Array.from(bytes);
}
