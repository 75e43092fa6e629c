/**
 * How the actors of a replica share its one thread. A turn of one actor is short, and after some turns everybody else, from
 * requests to the renewal of leases, gets the thread before the next.
 */
import type { Steps } from "../base/steps.ts";
import type { Clock } from "../platform/clock.ts";

/** Longest turn of one actor, ms. It is as much longer as the piece of work that it ends with. */
const TURN_MS = 20;
/**
 * Questions in a turn, where time alone would allow more: also bounds what it commits. To write 5,000 nodes takes Redis some 30 ms, in
 * which it answers nobody.
 */
const TURN_QUESTIONS = 300;
/** Work of all actors after which others are let in, ms. */
const WORK_MS = 30;

export class LoopShare {
  readonly #clock: Clock;
  #worked = 0;
  #turnEnds = Infinity;
  #isAtWork = false;
  #questionsLeft = 0;
  #resting: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the present turn may go on; asked after every few pieces of work. */
  readonly mayGoOn = (): boolean =>
    --this.#questionsLeft > 0 && this.#clock.monotonic() < this.#turnEnds;

  /** Runs work of one actor that ends by itself, or when `mayGoOn` says so. Within such work it is a part of that. */
  run<T>(work: () => T): T {
    if (this.#isAtWork) return work();
    const begun = this.#clock.monotonic();
    this.#turnEnds = begun + TURN_MS;
    this.#questionsLeft = TURN_QUESTIONS;
    this.#isAtWork = true;
    try {
      return work();
    } finally {
      this.#isAtWork = false;
      this.#worked += this.#clock.monotonic() - begun;
    }
  }

  /** Does long work of one actor; others are let in between its steps as between turns. */
  async runInTurns<T>(steps: Steps<T>): Promise<T> {
    // Within a turn all steps would be a part of it. They begin when it has ended.
    if (this.#isAtWork) await undefined;
    for (;;) {
      const { done, value } = this.run(() => steps.next());
      if (done === true) return value;
      if (this.isTired) await this.rest();
    }
  }

  /** True when others are to be let in before the next turn begins. */
  get isTired(): boolean {
    return this.#worked > WORK_MS;
  }

  /** Lets others in; of those who wait together, only as many go on as have room. */
  async rest(): Promise<void> {
    while (this.isTired) {
      await (this.#resting ??= this.#clock.sleep(0).then(() => {
        this.#resting = undefined;
        this.#worked = 0;
      }));
    }
  }
}
