/**
 * The durable timers of the shards this replica owns, as a heap with one wake-up of the clock. The rows in the store are
 * the truth; this only knows when to look.
 */
import { type Clock, MAX_TIMER_MS } from "../platform/clock.ts";

interface Entry {
  at: number;
  shard: number;
  id: string;
  /** Has come up; it stays set until it is cleared. */
  isFired: boolean;
}

export class Timers {
  readonly #clock: Clock;
  readonly #fire: (shard: number, id: string) => void;
  /** A binary heap by `at`; entries that were moved or cleared stay until they come up. */
  #heap: Entry[] = [];
  readonly #byShard = new Map<number, Map<string, Entry>>();
  #cancel: (() => void) | undefined;
  #wakeAt = Infinity;

  constructor(clock: Clock, fire: (shard: number, id: string) => void) {
    this.#clock = clock;
    this.#fire = fire;
  }

  /** Number of timers that are set. */
  get size(): number {
    let size = 0;
    for (const timers of this.#byShard.values()) size += timers.size;
    return size;
  }

  /** Due time of a timer; undefined when it is not set. A timer that has fired stays set until it is cleared. */
  at(shard: number, id: string): number | undefined {
    return this.#byShard.get(shard)?.get(id)?.at;
  }

  /** Sets or moves a timer. */
  set(shard: number, id: string, at: number): void {
    let timers = this.#byShard.get(shard);
    if (!timers) this.#byShard.set(shard, timers = new Map());
    const entry = { at, shard, id, isFired: false };
    timers.set(id, entry);
    this.#push(entry);
    this.#arm();
  }

  clear(shard: number, id: string): void {
    this.#byShard.get(shard)?.delete(id);
  }

  /** Ids with this prefix, in no order. */
  idsWith(shard: number, prefix: string): string[] {
    const ids = this.#byShard.get(shard)?.keys() ?? [];
    return [...ids].filter((id) => id.startsWith(prefix));
  }

  clearShard(shard: number): void {
    if (!this.#byShard.delete(shard)) return;
    this.#heap = [];
    for (const timers of this.#byShard.values()) {
      for (const entry of timers.values()) if (!entry.isFired) this.#push(entry);
    }
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#byShard.clear();
    this.#heap = [];
  }

  #arm(): void {
    const next = this.#heap[0];
    if (!next || next.at >= this.#wakeAt) return;
    this.#cancel?.();
    this.#wakeAt = next.at;
    const wait = Math.min(Math.max(0, next.at - this.#clock.now()), MAX_TIMER_MS);
    this.#cancel = this.#clock.after(wait, () => this.#wake());
  }

  #wake(): void {
    this.#wakeAt = Infinity;
    const now = this.#clock.now();
    for (let top = this.#heap[0]; top && top.at <= now; top = this.#heap[0]) {
      this.#pop();
      if (this.#byShard.get(top.shard)?.get(top.id) !== top) continue;
      top.isFired = true;
      this.#fire(top.shard, top.id);
    }
    this.#arm();
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (!above || above.at <= entry.at) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      let child = left;
      if ((heap[right]?.at ?? Infinity) < (heap[left]?.at ?? Infinity)) child = right;
      const below = heap[child];
      if (!below || below.at >= last.at) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
  }
}
