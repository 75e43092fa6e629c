/**
 * JSON values that many hold at a time, such as the templates of all workflows made from one manifest: read once, frozen
 * all the way down, and the same value for the same text. What was worked out for one can be kept for all (in a WeakMap).
 */

/** Longest text that is shared, in UTF-16 units. */
const MAX_LENGTH = 32_768;
/** Length of all texts that are shared, in UTF-16 units; a value needs a few times as many bytes as its text. */
const MAX_SIZE = 2 ** 21;

/** Values by the text from which they were made. Those that were not asked for longest go. */
export class SharedValues<T> {
  readonly #values = new Map<string, T>();
  #size = 0;

  /**
   * The value of a text.
   * @param make reads it; the result is frozen when it is shared, so nobody else may change it
   */
  of(text: string, make: () => T): T {
    if (text.length > MAX_LENGTH) return make();
    let value = this.#values.get(text);
    if (value === undefined) {
      value = freezeAll(make());
      this.#size += text.length;
      this.#makeRoom();
    } else this.#values.delete(text);
    this.#values.set(text, value);
    return value;
  }

  #makeRoom(): void {
    for (const oldest of this.#values.keys()) {
      if (this.#size <= MAX_SIZE) return;
      this.#values.delete(oldest);
      this.#size -= oldest.length;
    }
  }
}

// A memo of a pure function: what it holds never changes a result.
const parsed = new SharedValues<unknown>();

/** Parses JSON that is likely to be parsed again. The value may be frozen: nobody may change it. */
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
