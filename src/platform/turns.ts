/** Long work on the event loop, a little at a time, so that others get their turn. */
import { Chain } from "../base/chain.ts";
import type { Steps } from "../base/steps.ts";

/** How long work goes on before others get their turn, in milliseconds. */
const TURN_MS = 20;

/** At most so many promises are settled, one after the other, from the end of a wait to the work that waited. */
const HOPS = 8;

let nowMs = () => performance.now();

/**
 * Measures turns by another clock. By the one of a simulation none is ever used up, so its course does not depend on how
 * fast its machine is.
 */
export function measureTurnsBy(now: () => number): void {
  nowMs = now;
}

/**
 * The turn of the event loop that all long work shares: each of many works that begin together would otherwise take a turn
 * of its own before anything else is heard.
 */
class LoopTurn {
  /** Undefined: no long work has been done in this turn of the loop yet. */
  #begun: number | undefined;
  /** Resume the works that wait, oldest first. */
  readonly #waiting = new Chain<() => void>();

  /** Whether others must have their turn before long work goes on. */
  isUsedUp(): boolean {
    const now = nowMs();
    if (this.#begun !== undefined) return now - this.#begun >= TURN_MS;
    this.#begun = now;
    // Intentionally no immediate: on Deno, many of those run before requests are heard.
    setTimeout(() => void this.#next(), 0);
    return false;
  }

  /** Resolves in a later turn, in the order of the calls. */
  wait(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.add(resolve));
  }

  /**
   * Lets those that wait go on until they have used up a turn. Nothing else happens in between: what else the loop does, a
   * write of the embedded store for one, may take as long as a turn each time, and then only one of them would go on.
   */
  readonly #next = async (): Promise<void> => {
    this.#begun = undefined;
    for (let { first } = this.#waiting; first !== undefined; first = this.#waiting.first) {
      if (this.isUsedUp()) return;
      this.#waiting.remove(first);
      first.value();
      // Its work counts, so it must have begun.
      for (let hop = 0; hop < HOPS; hop++) await undefined;
    }
  };
}

// One for the process, as there is one event loop.
const loopTurn = new LoopTurn();

/** One long work's share of the event loop. */
export class Turns {
  /** Whether this turn of the loop is used up: for work that shall not wait at all where it is not. */
  get isOver(): boolean {
    return loopTurn.isUsedUp();
  }

  /** Resolves at once as long as this turn of the loop is not used up, else after others had theirs. */
  async pause(): Promise<void> {
    if (loopTurn.isUsedUp()) await loopTurn.wait();
  }

  /** Does a piece of work in this turn of the loop, or in a later one when it is used up. */
  async do<T>(work: () => T): Promise<T> {
    if (loopTurn.isUsedUp()) await loopTurn.wait();
    return work();
  }

  /** Does work step by step. */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      if (loopTurn.isUsedUp()) await loopTurn.wait();
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }
}
