/** Ids from a seed: the same test gets the same names every time. */
import type { Ids } from "../../src/platform/ids.ts";

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";

/** Numbers in [0, 1) from a seed (mulberry32). */
export function seededFraction(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function seededIds(seed = 1): Ids {
  const fraction = seededFraction(seed);
  const suffix = (length: number) =>
    Array.from({ length }, () => ALPHABET.charAt(Math.floor(fraction() * 36))).join("");
  const hex = (length: number) =>
    Array.from({ length }, () => Math.floor(fraction() * 16).toString(16)).join("");
  return {
    fraction,
    suffix,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}
