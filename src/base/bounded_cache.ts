/** A map that forgets what was used longest ago when it is full. */
export class BoundedCache<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #limit: number;

  /** @param limit most entries, at least 1 */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Finds an entry and makes it the most recently used. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  /** Adds or replaces an entry; returns its value. */
  set(key: K, value: V): V {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#limit) {
      for (const oldest of this.#entries.keys()) {
        this.#entries.delete(oldest);
        break;
      }
    }
    this.#entries.set(key, value);
    return value;
  }

  get size(): number {
    return this.#entries.size;
  }
}
