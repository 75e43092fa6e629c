/** A map of bounded size: when it is full, it forgets what was used longest ago. */
export class BoundedCache<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #limit: number;
  readonly #weightOf: (key: K) => number;
  #weight = 0;
  /** The most recently used one, which need not move when it is used again. */
  #newest: K | undefined;

  /**
   * @param limit most entries, or weight of all entries; at least 1
   * @param weightOf weight of an entry. @default 1
   */
  constructor(limit: number, weightOf: (key: K) => number = () => 1) {
    this.#limit = limit;
    this.#weightOf = weightOf;
  }

  /** Finds an entry and makes it the most recently used. */
  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined && key !== this.#newest) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
      this.#newest = key;
    }
    return value;
  }

  /** Adds or replaces an entry; returns its value. */
  set(key: K, value: V): V {
    this.delete(key);
    this.#entries.set(key, value);
    this.#newest = key;
    this.#weight += this.#weightOf(key);
    if (this.#weight > this.#limit) this.#makeRoom();
    return value;
  }

  /** Removes an entry; no effect when there is none. */
  delete(key: K): void {
    if (this.#entries.delete(key)) this.#weight -= this.#weightOf(key);
  }

  get size(): number {
    return this.#entries.size;
  }

  #makeRoom(): void {
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#limit) return;
      this.delete(oldest);
    }
  }
}
