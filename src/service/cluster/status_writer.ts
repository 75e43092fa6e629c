/**
 * Paces the writes of status to the API server: a number of writes a second in all, a pause between writes of one object, a
 * few writes at a time, and none while the API server asks for a pause. Changes in between are written once.
 */
import type { Clock } from "../../platform/clock.ts";

/** Shortest time between writes of one running object. */
const OBJECT_INTERVAL_MS = 1_000;
/** A slow write is followed by a pause of this many times its duration: a large workflow has a large status. */
const COST_FACTOR = 20;
const PARALLEL = 8;
const FIRST_WAIT_MS = 250;
const MAX_WAIT_MS = 30_000;

/** The outcome of a write. `later`: try again, after `pauseMs` in which nothing is written. */
export type WriteOutcome = { type: "done" } | { type: "later"; pauseMs?: number };

export interface StatusWriterOptions {
  clock: Clock;
  /** Writes a second. */
  rate: number;
  /** Writes the present state of an object. When it rejects, it is tried again. */
  write(key: string): Promise<WriteOutcome>;
  onTrouble(key: string, error: unknown): void;
}

interface Entry {
  /** By the monotonic clock. */
  dueAt: number;
  failures: number;
}

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #due = new Map<string, Entry>();
  /** When an object may be written again, by the monotonic clock. */
  readonly #restUntil = new Map<string, number>();
  readonly #busy = new Map<string, Promise<void>>();
  /** Those that went while they were written. */
  readonly #gone = new Set<string>();
  #awake = Promise.withResolvers<void>();
  /** Earliest time of the next write. */
  #nextAt = 0;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
  }

  /** Objects that wait to be written. */
  get size(): number {
    return this.#due.size;
  }

  /** Asks for a write; `isUrgent` does not wait for the object's interval. */
  want(key: string, isUrgent = false): void {
    const now = this.#options.clock.monotonic();
    const dueAt = isUrgent ? now : Math.max(now, this.#restUntil.get(key) ?? 0);
    const known = this.#due.get(key);
    if (known === undefined) this.#due.set(key, { dueAt, failures: 0 });
    else if (known.failures === 0) known.dueAt = Math.min(known.dueAt, dueAt);
    this.#awake.resolve();
  }

  /** Forgets an object that is gone. */
  forget(key: string): void {
    this.#due.delete(key);
    this.#restUntil.delete(key);
    if (this.#busy.has(key)) this.#gone.add(key);
  }

  /** Writes until the signal aborts; resolves when everything that was begun is done. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, rate } = this.#options;
    const wake = () => this.#awake.resolve();
    signal.addEventListener("abort", wake);
    while (!signal.aborted) {
      const now = clock.monotonic();
      const next = this.#busy.size < PARALLEL ? this.#earliest() : undefined;
      const waitMs = next === undefined ? Infinity : Math.max(next[1].dueAt, this.#nextAt) - now;
      if (next !== undefined && waitMs <= 0) {
        this.#nextAt = Math.max(now, this.#nextAt) + 1000 / rate;
        this.#begin(next[0], next[1]);
        continue;
      }
      this.#awake = Promise.withResolvers<void>();
      const cancel = waitMs === Infinity ? () => {} : clock.after(waitMs, wake);
      await this.#awake.promise;
      cancel();
    }
    signal.removeEventListener("abort", wake);
    await Promise.all(this.#busy.values());
  }

  #earliest(): [string, Entry] | undefined {
    let best: [string, Entry] | undefined;
    for (const one of this.#due) {
      if (this.#busy.has(one[0])) continue;
      if (best === undefined || one[1].dueAt < best[1].dueAt) best = one;
    }
    return best;
  }

  #begin(key: string, { failures }: Entry): void {
    const { clock, onTrouble, write } = this.#options;
    this.#due.delete(key);
    const again = () => {
      if (this.#gone.has(key)) return;
      const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 10));
      this.#due.set(key, { dueAt: clock.monotonic() + wait, failures: failures + 1 });
    };
    const work = async () => {
      const begun = clock.monotonic();
      try {
        const outcome = await write(key);
        const now = clock.monotonic();
        const restMs = Math.max(OBJECT_INTERVAL_MS, COST_FACTOR * (now - begun));
        if (!this.#gone.has(key)) this.#restUntil.set(key, now + restMs);
        if (outcome.type === "done") return;
        again();
        const pauseUntil = clock.monotonic() + (outcome.pauseMs ?? 0);
        this.#nextAt = Math.max(this.#nextAt, pauseUntil);
      } catch (error) {
        onTrouble(key, error);
        again();
      }
    };
    const done = work().finally(() => {
      this.#busy.delete(key);
      this.#gone.delete(key);
      this.#awake.resolve();
    });
    this.#busy.set(key, done);
  }
}
