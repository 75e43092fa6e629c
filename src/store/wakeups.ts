/**
 * Waits without polling: a change wakes its topic, and a waiter names the topics it waits for. Wakeups are not queued:
 * a waiter must look for work after it has begun to wait, or in the same turn.
 */
import { Chain, type Link } from "../base/chain.ts";
import { untilBeat } from "../platform/clock.ts";

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

/** From here on, a wait ends at a beat of the process, ms. */
const LONG_MS = 500;
/** Shortest time until the alarm rings again, ms. */
const MIN_ALARM_MS = 1;

interface Wait {
  topics: readonly string[];
  /** Monotonic, ms. */
  due: number;
  signal: AbortSignal;
  resolve: () => void;
}

/**
 * Topics, and who waits for them. All waits share one timer, and those with the same signal one listener: where waits
 * are short and many, a timer and a listener for each cost more than what they wait for.
 */
export class Wakeups {
  readonly clock: WaitClock;
  readonly #waits = new Chain<Wait>();
  readonly #byTopic = new Map<string, Set<Link<Wait>>>();
  /** Signals that are listened to, each as long as it exists. */
  readonly #heard = new WeakSet<AbortSignal>();
  /** It may ring too early: a wait that ends leaves it as it is, unless it was the only one. */
  #alarm: { at: number; cancel: () => void } | undefined;

  constructor(clock: WaitClock = RUNTIME) {
    this.clock = clock;
  }

  /** Wakes everybody who waits for the topic now. */
  wake(topic: string): void {
    for (const wait of [...this.#byTopic.get(topic) ?? []]) this.#end(wait);
  }

  /** Wakes the waiter that has waited longest; false when nobody waits. */
  wakeOne(topic: string): boolean {
    const first = this.#byTopic.get(topic)?.values().next().value;
    if (first !== undefined) this.#end(first);
    return first !== undefined;
  }

  /** Wakes everybody. */
  wakeAll(): void {
    for (const topic of [...this.#byTopic.keys()]) this.wake(topic);
  }

  /** Resolves when one of the topics is woken, after about `ms` milliseconds, or when the signal aborts. */
  wait(topics: readonly string[], ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const now = this.clock.monotonic();
      const waitMs = ms < LONG_MS ? ms : untilBeat(now, ms);
      const due = now + waitMs;
      this.#hear(signal);
      const wait = this.#waits.add({ topics, due, signal, resolve });
      if (this.#alarm === undefined || due < this.#alarm.at) this.#arm(due, waitMs);
      for (const topic of topics) {
        const waiting = this.#byTopic.get(topic);
        if (waiting === undefined) this.#byTopic.set(topic, new Set([wait]));
        else waiting.add(wait);
      }
    });
  }

  #end(wait: Link<Wait>): void {
    if (!wait.isIn) return;
    this.#waits.remove(wait);
    const { topics, resolve } = wait.value;
    for (const topic of topics) {
      const waiting = this.#byTopic.get(topic);
      waiting?.delete(wait);
      if (waiting?.size === 0) this.#byTopic.delete(topic);
    }
    if (this.#waits.first === undefined) {
      this.#alarm?.cancel();
      this.#alarm = undefined;
    }
    resolve();
  }

  #hear(signal: AbortSignal): void {
    if (this.#heard.has(signal)) return;
    this.#heard.add(signal);
    signal.addEventListener("abort", () => this.#endSome((wait) => wait.signal === signal));
  }

  /** Ends some waits. @returns when the first of the others is due */
  #endSome(isOver: (wait: Wait) => boolean): number {
    let next = Infinity;
    for (let wait = this.#waits.first; wait !== undefined;) {
      const { value, after } = wait;
      if (isOver(value)) this.#end(wait);
      else next = Math.min(next, value.due);
      wait = after;
    }
    return next;
  }

  #arm(at: number, ms: number): void {
    this.#alarm?.cancel();
    const ring = () => {
      this.#alarm = undefined;
      const now = this.clock.monotonic();
      const next = this.#endSome(({ due }) => due <= now);
      if (this.#waits.first !== undefined) this.#arm(next, Math.max(MIN_ALARM_MS, next - now));
    };
    this.#alarm = { at, cancel: this.clock.after(ms, ring) };
  }
}
