/**
 * Waits without polling: whoever changes something wakes its topic, whoever waits names the topics. Nothing is queued: a
 * waiter must look for work after it has asked to be woken, or in the same turn.
 */

/** Topics and who waits for them. */
export class Wakeups {
  readonly #waiters = new Map<string, Set<() => void>>();

  /** Wakes all that wait for the topic now. */
  wake(topic: string): void {
    for (const wake of [...this.#waiters.get(topic) ?? []]) wake();
  }

  /** Wakes the one that has waited longest; false when nobody waits. */
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
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        for (const topic of topics) this.#remove(topic, done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(ms, MAX_TIMER_MS));
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

/** Longer timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
