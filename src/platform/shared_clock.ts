/**
 * A clock that shows the time of day of somebody whom all replicas ask - the store - carried on by this machine's time that
 * only grows. A machine whose own time of day is wrong, or is set, stamps and wakes like the others. It is never ahead, and
 * behind by no more than the fastest answer took to come back. Until the first answer it shows the machine's own time.
 */
import type { Clock } from "./clock.ts";

/** How often the time is asked for, ms: machines drift apart by less than a millisecond meanwhile. */
const ASK_EVERY_MS = 1_000;
/** It is not asked for if it was heard since then, ms. */
const FRESH_MS = 1.5 * ASK_EVERY_MS;

export class SharedClock implements Clock {
  readonly #own: Clock;
  readonly #ask: () => Promise<number>;
  /** The shared time less the time that only grows, ms. */
  #offset: number;
  #isTold = false;
  #heardAt = -Infinity;

  /** @param ask the shared time, epoch ms */
  constructor(own: Clock, ask: () => Promise<number>) {
    this.#own = own;
    this.#ask = ask;
    this.#offset = own.now() - own.monotonic();
  }

  now(): number {
    return Math.floor(this.#own.monotonic() + this.#offset);
  }

  monotonic(): number {
    return this.#own.monotonic();
  }

  after(ms: number, run: () => void, isIdle?: boolean): () => void {
    return this.#own.after(ms, run, isIdle);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#own.sleep(ms, signal);
  }

  /** Asks once. */
  async look(): Promise<void> {
    const askedAt = this.#own.monotonic();
    this.hear(await this.#ask(), askedAt);
  }

  /**
   * Hears the shared time. An answer that took long tells little: the clock is set only when it can't be right.
   * @param askedAt when it was asked for, as {@link monotonic} told
   */
  hear(shared: number, askedAt: number): void {
    this.#heardAt = this.#own.monotonic();
    const least = shared - this.#heardAt;
    const most = shared - askedAt;
    const isRight = this.#isTold && this.#offset >= least && this.#offset <= most;
    if (!isRight) this.#offset = least;
    this.#isTold = true;
  }

  /**
   * Asks again and again until the signal aborts, unless it hears the time anyway. While there is no answer the clock goes on by
   * itself.
   */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isOld = this.#own.monotonic() - this.#heardAt > FRESH_MS;
      if (isOld) await this.look().catch(() => {});
      await this.#own.sleep(ASK_EVERY_MS, signal);
    }
  }
}
