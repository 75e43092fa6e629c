/** Long work on the event loop, a little at a time, so that others get their turn. */
import type { Steps } from "../base/steps.ts";

/** How long work goes on before others get their turn, in milliseconds. */
const TURN_MS = 20;

/** One long work's share of the event loop. */
export class Turns {
  #begun = performance.now();

  /** Resolves at once as long as this turn is not used up, else after the others had theirs. */
  async pause(): Promise<void> {
    if (performance.now() - this.#begun < TURN_MS) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#begun = performance.now();
  }

  /** Does work step by step. */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (performance.now() - this.#begun >= TURN_MS) await this.pause();
    }
  }
}
