/**
 * Simulated time. One clock drives a whole simulated deployment: things happen one after another, and the consequences
 * of each settle before the next. Nothing here reads the machine's clock, so a run depends only on its seed.
 */
import { type Clock, MAX_TIMER_MS, sleepOn } from "../../src/platform/clock.ts";
import { measureTurnsBy } from "../../src/platform/turns.ts";

// Long work goes on in one turn here: where it pauses would depend on the machine.
measureTurnsBy(() => 0);

interface Alarm {
  at: number;
  order: number;
  /** Absent once it is cancelled. */
  run: (() => void) | undefined;
}

export class SimClock {
  #now = Date.UTC(2030, 0, 1);
  #order = 0;
  /** A binary heap by time, then by order. */
  readonly #heap: Alarm[] = [];

  /** The true time, epoch ms. */
  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const wait = Math.min(Math.max(0, ms), MAX_TIMER_MS);
    const alarm: Alarm = { at: this.#now + wait, order: this.#order++, run };
    this.#push(alarm);
    return () => alarm.run = undefined;
  }

  /** Advances by `ms`, alarm by alarm. Stops early if `isOver` says so. */
  async advance(ms: number, isOver: () => boolean = () => false): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.at > until || isOver()) break;
      this.#pop();
      if (next.run === undefined) continue;
      this.#now = Math.max(this.#now, next.at);
      next.run();
      await settle();
    }
    if (!isOver()) this.#now = until;
  }

  #push(alarm: Alarm): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(alarm);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(alarm, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = alarm;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      if (left === undefined) break;
      const right = heap[2 * index + 2];
      const isRight = right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (!isBefore(child, last)) break;
      heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    heap[index] = last;
  }
}

/** A process on a simulated machine: it can be paused or killed, and its time of day can be wrong. */
export class SimProcess implements Clock {
  readonly name: string;
  /** Aborts when it crashes, so that whatever waits for it elsewhere lets go. */
  readonly gone = new AbortController();
  /** The error of its time of day, ms. */
  offsetMs = 0;
  /** It has not joined the others yet: it would end with an error if it did not reach the store. */
  isStarting = true;
  /** Which parts of its network to the store are cut. */
  cut: "nothing" | "requests" | "answers" = "nothing";
  readonly #clock: SimClock;
  #pausedAt: number | undefined;
  #backlog: (() => void)[] = [];

  constructor(name: string, clock: SimClock) {
    this.name = name;
    this.#clock = clock;
  }

  get isCrashed(): boolean {
    return this.gone.signal.aborted;
  }

  get isPaused(): boolean {
    return this.#pausedAt !== undefined;
  }

  /** Delivers something to the process: now, when it runs again, or never. */
  enter(run: () => void): void {
    if (this.isCrashed) return;
    if (this.isPaused) this.#backlog.push(run);
    else run();
  }

  pause(): void {
    this.#pausedAt ??= this.#clock.now();
  }

  /** Resumes; returns how long it was paused, ms. */
  unpause(): number {
    if (this.#pausedAt === undefined) return 0;
    const length = this.#clock.now() - this.#pausedAt;
    this.#pausedAt = undefined;
    for (const run of this.#backlog.splice(0)) this.#clock.after(0, () => this.enter(run));
    return length;
  }

  crash(): void {
    this.#backlog = [];
    this.gone.abort();
  }

  now(): number {
    return this.#clock.now() + this.offsetMs;
  }

  monotonic(): number {
    return this.#clock.now();
  }

  after(ms: number, run: () => void): () => void {
    let isCancelled = false;
    const cancel = this.#clock.after(ms, () => this.enter(() => isCancelled || run()));
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }
}

/** Lets everything that is ready run: the next turn of the event loop comes when no promise has anything to do. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isBefore(a: Alarm, b: Alarm): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
