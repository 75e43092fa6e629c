/** A map of bounded size: when it is full, it forgets what was used longest ago. */
import { Chain, type Link } from "./chain.ts";

interface Entry<K, V> {
  readonly key: K;
  value: V;
}

export class BoundedCache<K, V> {
  readonly #links = new Map<K, Link<Entry<K, V>>>();
  /** In order of use, oldest first. Intentionally not the order of the map, in which an entry moves only as a new one. */
  readonly #used = new Chain<Entry<K, V>>();
  readonly #limit: number;
  readonly #weightOf: (key: K) => number;
  #weight = 0;

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
    const link = this.#links.get(key);
    if (link === undefined) return undefined;
    this.#used.moveToEnd(link);
    return link.value.value;
  }

  /** Adds or replaces an entry; returns its value. */
  set(key: K, value: V): V {
    const link = this.#links.get(key);
    if (link !== undefined) {
      link.value.value = value;
      this.#used.moveToEnd(link);
      return value;
    }
    this.#links.set(key, this.#used.add({ key, value }));
    this.#weight += this.#weightOf(key);
    while (this.#weight > this.#limit) this.#forgetOldest();
    return value;
  }

  /** Removes an entry; no effect when there is none. */
  delete(key: K): void {
    const link = this.#links.get(key);
    if (link === undefined) return;
    this.#links.delete(key);
    this.#used.remove(link);
    this.#weight -= this.#weightOf(key);
  }

  get size(): number {
    return this.#links.size;
  }

  #forgetOldest(): void {
    const oldest = this.#used.first;
    if (oldest !== undefined) this.delete(oldest.value.key);
  }
}
