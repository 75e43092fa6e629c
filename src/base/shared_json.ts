/**
 * JSON values that many objects hold at the same time, such as the templates of all workflows made from one manifest.
 * Each is parsed once and frozen all the way down, and the same text gives the same value. So what was worked out for
 * one object can be kept for all (in a WeakMap).
 */
import { BoundedCache } from "./bounded_cache.ts";

/** Longest text that is shared, in UTF-16 units. */
const MAX_LENGTH = 32_768;
/** Total length of the shared texts, in UTF-16 units; a value takes a few times as many bytes as its text. */
const MAX_SIZE = 2 ** 21;

/** Values by the text from which they were made. The least recently used are dropped. */
export class SharedValues<T> {
  readonly #values = new BoundedCache<string, T>(MAX_SIZE, (text) => text.length);

  /**
   * The value of a text.
   * @param make reads it; the result is frozen if it is shared, so nobody else may change it
   */
  of(text: string, make: () => T): T {
    if (text.length > MAX_LENGTH) return make();
    return this.#values.get(text) ?? this.#values.set(text, freezeAll(make()));
  }
}

// A memo of a pure function: what it holds never changes a result.
const parsed = new SharedValues<unknown>();

/** Parses JSON that is likely to be parsed again. The value may be frozen, so don't change it. */
export function parseShared<T>(text: string): T {
  return parsed.of(text, () => JSON.parse(text)) as T;
}

/** Tells whether a JSON value is shared: frozen, like everything inside it. */
export function isShared(value: object): boolean {
  return Object.isFrozen(value);
}

/** Freezes a JSON value and everything inside it. */
export function freezeAll<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) freezeAll(member);
  return value;
}
