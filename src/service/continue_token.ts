/**
 * Continue tokens of workflow lists. Clients of the reference expect a decimal number, and some calculate with it. So small
 * numbers are offsets, as in the reference; our own tokens are the stable cursor of the store, written as a large decimal.
 */
import { invalid } from "../base/problem.ts";

/** Where a page begins: after a cursor of the store, or after a number of items. */
export type PageStart = { cursor?: string; offset: number };

/** Numbers of at most so many digits are offsets; cursors are always longer. */
const MAX_OFFSET_DIGITS = 12;

/**
 * Reads a continue token.
 * @throws {Problem} InvalidArgument when it is not a number, or negative
 */
export function parseContinueToken(token: string | undefined): PageStart {
  if (token === undefined || token === "") return { offset: 0 };
  if (!/^[+-]?[0-9]{1,4000}$/.test(token)) throw invalid("listOptions.continue must be int");
  if (token.startsWith("-") && BigInt(token) !== 0n) {
    throw invalid("listOptions.continue must >= 0");
  }
  if (token.length <= MAX_OFFSET_DIGITS) return { offset: Number(token) };
  const hex = BigInt(token).toString(16);
  // The first digit is a 1, which keeps leading zeros of the text.
  const bytes = new Uint8Array((hex.length - 1) / 2);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = Number.parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
  }
  return { cursor: new TextDecoder().decode(bytes), offset: 0 };
}

/** Writes a cursor of the store as a token; undefined for undefined. */
export function continueToken(cursor: string): string;
export function continueToken(cursor: string | undefined): string | undefined;
export function continueToken(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  let hex = "1";
  for (const byte of new TextEncoder().encode(cursor)) hex += byte.toString(16).padStart(2, "0");
  // A very short cursor would look like an offset.
  return BigInt(`0x${hex}`).toString().padStart(MAX_OFFSET_DIGITS + 1, "0");
}

/**
 * The token after a page of `count` items: a client that sends offsets calculates with them, so it gets an offset again.
 * @param cursor of the store, if there is more
 */
export function tokenAfter(
  { offset }: PageStart,
  count: number,
  cursor: string | undefined,
): string | undefined {
  return cursor === undefined || offset === 0 ? continueToken(cursor) : String(offset + count);
}
