/** The clock port: every wait and every time of day outside the pure layers comes from here, so tests can own time. */

/** The longest wait a runtime timer takes; a longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Clock {
  /** Time of day, epoch ms. May jump when somebody sets the machine's clock. */
  now(): number;
  /** Milliseconds that only grow; for measuring and for trusting leases. */
  monotonic(): number;
  /**
   * Runs `run` once after `ms` (0 … `MAX_TIMER_MS`, clamped); the result cancels it.
   * @param isIdle the timer alone keeps no process alive
   */
  after(ms: number, run: () => void, isIdle?: boolean): () => void;
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run, isIdle = false) {
    const handle = setTimeout(run, Math.min(Math.max(0, ms), MAX_TIMER_MS));
    if (isIdle) handle.unref();
    return () => clearTimeout(handle);
  },
  sleep: (ms, signal) => sleepOn(systemClock, ms, signal),
};

/** Pauses between two looks at something end at beats of the process, this far apart, so that it wakes once for all of them. */
const BEAT_MS = 100;

/**
 * A pause of about `ms` that ends at a beat, at most half a beat sooner or later. For what is looked at again and again. One of
 * less than two beats stays as it is: rounded, it could be no pause at all.
 * @param now monotonic, ms
 */
export function untilBeat(now: number, ms: number): number {
  if (ms < 2 * BEAT_MS) return ms;
  return Math.ceil(Math.round((now + ms) / BEAT_MS) * BEAT_MS - now);
}

/** Lets everything else that is due have its turn, between two pieces of a long computation. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** {@link Clock.sleep} of a clock that has the rest. */
export function sleepOn(
  clock: Pick<Clock, "after">,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(ms, done);
    signal?.addEventListener("abort", done);
  });
}

/**
 * Runs something once when the time of day comes, however far off it is; at once when it has passed.
 *
 * @param at epoch ms
 * @returns cancels it
 */
export function runAt(
  clock: Pick<Clock, "now" | "after">,
  at: number,
  run: () => void,
): () => void {
  let cancel = () => {};
  const look = () => {
    const left = at - clock.now();
    if (left <= 0) run();
    else cancel = clock.after(Math.min(left, MAX_TIMER_MS), look);
  };
  look();
  return () => cancel();
}

/** Waits for something, but no longer than `ms`; true when it came to its end, also by an error. Never rejects. */
export async function endsWithin(
  clock: Clock,
  ms: number,
  waited: Promise<unknown>,
): Promise<boolean> {
  const over = new AbortController();
  const ended = waited.then(() => true, () => true);
  try {
    return await Promise.race([ended, clock.sleep(ms, over.signal).then(() => false)]);
  } finally {
    over.abort();
  }
}

/** A pause between two looks at something, which ends early when there is news. */
export class Pause {
  readonly #clock: Pick<Clock, "sleep">;
  #news = new AbortController();

  constructor(clock: Pick<Clock, "sleep">) {
    this.#clock = clock;
  }

  /** Ends the pause; when there is none now, the next one. */
  readonly end = (): void => this.#news.abort();

  /** Resolves after `ms`, when there is news, or when the signal aborts. Never rejects. For one waiter at a time. */
  async take(ms: number, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, AbortSignal.any([signal, this.#news.signal]));
    this.#news = new AbortController();
  }
}
