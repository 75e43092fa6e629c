/**
 * Many waits of one length with one timer: they end in the order in which they began, so only the oldest needs a timer,
 * and a wait that is over early costs nothing but its removal.
 */
import { Chain } from "../base/chain.ts";
import type { Clock } from "./clock.ts";

/** Waits that end within this share of their length after others end together with those that are later. */
const GRAIN = 0.01;

interface Wait {
  /** Monotonic, ms. */
  due: number;
  onLate: () => void;
}

export class Deadlines {
  readonly #clock: Pick<Clock, "after" | "monotonic">;
  readonly #ms: number;
  /** In order of `due`. */
  readonly #waits = new Chain<Wait>();
  #disarm: (() => void) | undefined;

  /** @param ms length of every wait */
  constructor(clock: Pick<Clock, "after" | "monotonic">, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  /** Runs `onLate` once when the time is over; the result ends the wait. @param now monotonic, ms */
  add(onLate: () => void, now = this.#clock.monotonic()): () => void {
    const wait = this.#waits.add({ due: now + this.#ms, onLate });
    if (this.#disarm === undefined) this.#arm(this.#ms);
    return () => this.#waits.remove(wait);
  }

  /**
   * The promise, or a failure with `late()` when it has not settled in time. It may still settle later, unheard.
   * @param mend what becomes of a failure in time: it throws, or gives what is to follow
   */
  bound<T>(
    promise: Promise<T>,
    late: () => unknown,
    mend: (error: unknown) => T | Promise<T>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const over = this.add(() => reject(late()));
      promise.then(
        (value) => {
          over();
          resolve(value);
        },
        (error: unknown) => {
          over();
          try {
            resolve(mend(error));
          } catch (cause) {
            reject(cause);
          }
        },
      );
    });
  }

  /** Ends all waits now, as if their time were over. */
  expire(): void {
    this.#disarm?.();
    this.#disarm = undefined;
    for (const { onLate } of this.#waits.takeAll()) onLate();
  }

  #arm(ms: number): void {
    const look = () => {
      this.#disarm = undefined;
      const now = this.#clock.monotonic();
      const late: Wait[] = [];
      for (let wait = this.#waits.first; wait !== undefined; wait = this.#waits.first) {
        const { due } = wait.value;
        if (due > now) {
          // Where all of many waits come to their end, each would need a timer.
          this.#arm(Math.max(due - now, this.#ms * GRAIN));
          break;
        }
        this.#waits.remove(wait);
        late.push(wait.value);
      }
      for (const { onLate } of late) onLate();
    };
    // The timer may outlast its wait: it must not keep a program alive whose server has stopped.
    this.#disarm = this.#clock.after(Math.ceil(ms), look, true);
  }
}
