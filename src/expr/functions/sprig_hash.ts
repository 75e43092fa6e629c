/** Check sums of sprig: SHA-1, SHA-256, SHA-512 and Adler-32, as text. */
import { sha1 } from "@noble/hashes/legacy.js";
import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { utf8Bytes } from "../values/utf8.ts";
import type { GoFunction } from "../values/values.ts";
import { goFunction } from "./go_call.ts";

/** Adler-32 as a number; the library has only cryptographic sums. */
export function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b * 65536 + a;
}

/** Steps of a sum besides those for its characters: the last block is padded. */
const STEPS_PER_HASH = 200;

/** The check sum functions, by name. */
export const HASH_FUNCTIONS: readonly GoFunction[] = [
  goFunction("sha1sum", ["string"], (context, text) => {
    context.step(STEPS_PER_HASH);
    return bytesToHex(sha1(utf8Bytes(text)));
  }),
  goFunction("sha256sum", ["string"], (context, text) => {
    context.step(STEPS_PER_HASH);
    return bytesToHex(sha256(utf8Bytes(text)));
  }),
  goFunction("sha512sum", ["string"], (context, text) => {
    context.step(4 * STEPS_PER_HASH);
    return bytesToHex(sha512(utf8Bytes(text)));
  }),
  goFunction("adler32sum", ["string"], (_, text) => String(adler32(utf8Bytes(text)))),
];
