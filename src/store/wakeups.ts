/**
 * Waits without polling: a change wakes its topic, and a waiter names the topics it waits for. Wakeups are not queued:
 * a waiter must look for work after it has begun to wait, or in the same turn.
 */

/** Longer timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock by which waits are measured: milliseconds that only grow, and a call after some of them. */
export interface WaitClock {
  monotonic(): number;
  /** @returns cancels it */
  after(ms: number, run: () => void): () => void;
}

/** The clock of the runtime. */
const RUNTIME: WaitClock = {
  monotonic: () => performance.now(),
  after(ms, run) {
    const handle = setTimeout(run, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(handle);
  },
};

/** Topics, and who waits for them. */
export class Wakeups {
  readonly clock: WaitClock;
  readonly #waiters = new Map<string, Set<() => void>>();

  constructor(clock: WaitClock = RUNTIME) {
    this.clock = clock;
  }

  /** Wakes everybody who waits for the topic now. */
  wake(topic: string): void {
    for (const wake of [...this.#waiters.get(topic) ?? []]) wake();
  }

  /** Wakes the waiter that has waited longest; false when nobody waits. */
  wakeOne(topic: string): boolean {
    const first = this.#waiters.get(topic)?.values().next().value;
    first?.();
    return first !== undefined;
  }

  /** Wakes everybody. */
  wakeAll(): void {
    for (const topic of [...this.#waiters.keys()]) this.wake(topic);
  }

  /** Resolves when one of the topics is woken, after `ms` milliseconds, or when the signal aborts. */
  wait(topics: readonly string[], ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        signal.removeEventListener("abort", done);
        for (const topic of topics) this.#remove(topic, done);
        resolve();
      };
      const cancel = this.clock.after(ms, done);
      signal.addEventListener("abort", done);
      for (const topic of topics) {
        const waiters = this.#waiters.get(topic) ?? new Set();
        waiters.add(done);
        this.#waiters.set(topic, waiters);
      }
    });
  }

  #remove(topic: string, waiter: () => void): void {
    const waiters = this.#waiters.get(topic);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(topic);
  }
}
