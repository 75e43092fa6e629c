/**
 * The durable timers that are due soon, of the shards that this replica owns: a heap with one wake-up of the clock. The rows
 * in the store are the truth; this only knows when to look. All timers of a shard up to its horizon are here. Those beyond
 * are loaded when the horizon comes near, so that what waits for long needs no memory.
 */
import { type Clock, MAX_TIMER_MS } from "../platform/clock.ts";
import type { ActorId } from "../store/port.ts";

/** Timers of a shard that are loaded at once; twice as many may be in memory before they are due. */
const PORTION = 128;
/** Shortest heap that is ever built anew. */
const MIN_TOO_LONG = 1_024;
/** A clock that is off by more than this was set. */
const CLOCK_STEP_MS = 500;

/** Row of a timer: the actor and the timer's own id. */
export function timerRowId(actor: ActorId, timer: string): string {
  return `${actor} ${timer}`;
}

/** Actor and timer of such a row. */
export function parseTimerRowId(id: string): { actor: ActorId; timer: string } {
  const space = id.indexOf(" ");
  return { actor: id.slice(0, space), timer: id.slice(space + 1) };
}

interface Entry {
  at: number;
  shard: number;
  /** "" for the wake-up that moves the horizon. */
  id: string;
  /** It has come up, and stays set until it is cleared. */
  isFired: boolean;
}

interface ShardTimers {
  /** All timers due until then are here, epoch ms. */
  horizon: number;
  entries: Map<string, Entry>;
}

export class Timers {
  readonly #clock: Clock;
  readonly #fire: (shard: number, id: string) => void;
  readonly #onHorizon: (shard: number) => void;
  /** A binary heap by `at`. Entries that were moved or cleared stay until they come up, or until there are too many. */
  #heap: Entry[] = [];
  /** Length at which the heap is built anew. */
  #tooLong = MIN_TOO_LONG;
  readonly #byShard = new Map<number, ShardTimers>();
  #cancel: (() => void) | undefined;
  #wakeAt = Infinity;
  /** Time of day minus monotonic time, when the wake-up was set. */
  #offset = 0;

  /** @param onHorizon called when more timers of a shard are to be loaded */
  constructor(
    clock: Clock,
    fire: (shard: number, id: string) => void,
    onHorizon: (shard: number) => void,
  ) {
    this.#clock = clock;
    this.#fire = fire;
    this.#onHorizon = onHorizon;
  }

  /** Number of timers in memory. */
  get size(): number {
    let size = 0;
    for (const { entries } of this.#byShard.values()) {
      size += entries.size - (entries.has("") ? 1 : 0);
    }
    return size;
  }

  /** How many timers of a shard to load. */
  wanted(shard: number): number {
    // Those that are here may still be in the store, although they are due.
    return (this.#byShard.get(shard)?.entries.size ?? 0) + PORTION;
  }

  /** Takes in the first `max` timers of the store. Nothing may have been set or cleared since they were asked for. */
  load(shard: number, max: number, found: Record<string, number>): void {
    const timers = this.#byShard.get(shard) ?? { horizon: Infinity, entries: new Map() };
    this.#byShard.set(shard, timers);
    const times = Object.entries(found);
    for (const [id, at] of times) {
      if (timers.entries.get(id)?.at !== at) this.#put(timers, { at, shard, id, isFired: false });
    }
    const isAll = times.length < max;
    this.#endAt(timers, shard, isAll ? Infinity : Math.max(...times.map(([, at]) => at)));
    this.#arm();
  }

  /** Due time of a timer, epoch ms; undefined when it is not set. One that has fired stays set until it is cleared. */
  at(shard: number, id: string): number | undefined {
    return this.#byShard.get(shard)?.entries.get(id)?.at;
  }

  /** Sets or moves a timer of a shard that was loaded. */
  set(shard: number, id: string, at: number): void {
    const timers = this.#byShard.get(shard);
    if (timers === undefined) return;
    timers.entries.delete(id);
    if (at > timers.horizon) return;
    this.#put(timers, { at, shard, id, isFired: false });
    if (timers.entries.size > 2 * PORTION) this.#trim(timers, shard);
    this.#arm();
  }

  clear(shard: number, id: string): void {
    this.#byShard.get(shard)?.entries.delete(id);
  }

  clearShard(shard: number): void {
    if (this.#byShard.delete(shard)) this.#rebuild();
  }

  /** Notices that somebody has set the clock, and plans the next wake-up anew. */
  checkClock(): void {
    if (Math.abs(this.#clock.now() - this.#clock.monotonic() - this.#offset) < CLOCK_STEP_MS) {
      return;
    }
    this.#wakeAt = Infinity;
    this.#arm();
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
    const now = this.#clock.now();
    this.#offset = now - this.#clock.monotonic();
    const wait = Math.min(Math.max(0, next.at - now), MAX_TIMER_MS);
    this.#cancel = this.#clock.after(wait, () => this.#wake());
  }

  #wake(): void {
    this.#wakeAt = Infinity;
    const now = this.#clock.now();
    for (let top = this.#heap[0]; top && top.at <= now; top = this.#heap[0]) {
      this.#pop();
      if (this.#byShard.get(top.shard)?.entries.get(top.id) !== top) continue;
      top.isFired = true;
      if (top.id === "") this.#onHorizon(top.shard);
      else this.#fire(top.shard, top.id);
    }
    this.#arm();
  }

  /** Forgets those that are due last. */
  #trim(timers: ShardTimers, shard: number): void {
    const now = this.#clock.now();
    const waiting = [...timers.entries.values()].filter(({ at, id }) => at > now && id !== "");
    if (waiting.length <= 2 * PORTION) return;
    waiting.sort((a, b) => a.at - b.at);
    const end = waiting[PORTION]?.at ?? Infinity;
    for (const { id, at } of waiting) if (at >= end) timers.entries.delete(id);
    this.#endAt(timers, shard, end);
  }

  /** From now on the horizon of a shard is just before this time. */
  #endAt(timers: ShardTimers, shard: number, at: number): void {
    timers.horizon = at - 1;
    timers.entries.delete("");
    if (at < Infinity) this.#put(timers, { at: timers.horizon, shard, id: "", isFired: false });
  }

  #put(timers: ShardTimers, entry: Entry): void {
    timers.entries.set(entry.id, entry);
    this.#push(entry);
    if (this.#heap.length > this.#tooLong) this.#rebuild();
  }

  #rebuild(): void {
    this.#heap = [];
    for (const { entries } of this.#byShard.values()) {
      for (const entry of entries.values()) if (!entry.isFired) this.#push(entry);
    }
    this.#tooLong = Math.max(MIN_TOO_LONG, 2 * this.#heap.length);
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
