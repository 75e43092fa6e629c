/** Long work on the event loop, a little at a time, so that others get their turn. */
import { Chain, type Link } from "../base/chain.ts";
import type { Steps } from "../base/steps.ts";

/** How long work goes on before others get their turn, in milliseconds. */
const TURN_MS = 20;

/** At most so many promises are settled, one after the other, from the end of a wait to the work that waited. */
const HOPS = 8;

let nowMs = () => performance.now();

/**
 * Measures turns by another clock. By the one of a simulation none is ever used up, so its course does not depend on how
 * fast its machine is.
 *
 * @returns goes back to the clock before
 */
export function measureTurnsBy(now: () => number): () => void {
  const before = nowMs;
  nowMs = now;
  return () => {
    nowMs = before;
  };
}

/** Those of one name wait for each other. */
interface Lane {
  readonly name: string;
  /** Resume the works that wait, oldest first. */
  readonly waiting: Chain<() => void>;
}

/**
 * The turn of the event loop that all long work shares: each of many works that begin together would otherwise take a turn
 * of its own before anything else is heard. What requests wait for and all other work come first alternately; the lanes of
 * the other work follow each other. So who reads is not kept by hundreds of costly events, nor the events of one by those of
 * another.
 */
class LoopTurn {
  /** Undefined: no long work has been done in this turn of the loop yet. */
  #begun: number | undefined;
  /** Resume the works of requests that wait, oldest first. */
  readonly #requests = new Chain<() => void>();
  /** The lanes in which somebody waits, next first. */
  readonly #lanes = new Chain<Lane>();
  readonly #laneOf = new Map<string, Link<Lane>>();
  #areRequestsFirst = false;

  /** Whether others must have their turn before long work goes on. */
  isUsedUp(): boolean {
    const now = nowMs();
    if (this.#begun !== undefined) return now - this.#begun >= TURN_MS;
    this.#begun = now;
    // Intentionally no immediate: on Deno, many of those run before requests are heard.
    setTimeout(() => void this.#next(), 0);
    return false;
  }

  /** Resolves in a later turn, in each lane in the order of the calls. @param lane absent: the one of requests */
  wait(lane: string | undefined): Promise<void> {
    const waiting = lane === undefined ? this.#requests : this.#waitingIn(lane);
    return new Promise((resolve) => void waiting.add(resolve));
  }

  #waitingIn(name: string): Chain<() => void> {
    let lane = this.#laneOf.get(name);
    if (lane === undefined) {
      lane = this.#lanes.add({ name, waiting: new Chain() });
      this.#laneOf.set(name, lane);
    }
    return lane.value.waiting;
  }

  /**
   * Lets those that wait go on until they have used up a turn. Nothing else happens in between: what else the loop does, a
   * write of the embedded store for one, may take as long as a turn each time, and then only one of them would go on.
   */
  readonly #next = async (): Promise<void> => {
    this.#begun = undefined;
    this.#areRequestsFirst = !this.#areRequestsFirst;
    while (this.#isAwaited && !this.isUsedUp()) {
      this.#takeNext()?.();
      // Its work counts, so it must have begun.
      for (let hop = 0; hop < HOPS; hop++) await undefined;
    }
  };

  get #isAwaited(): boolean {
    return this.#requests.first !== undefined || this.#lanes.first !== undefined;
  }

  #takeNext(): (() => void) | undefined {
    const request = this.#requests.first;
    const lane = this.#lanes.first;
    if (lane === undefined || (request !== undefined && this.#areRequestsFirst)) {
      if (request !== undefined) this.#requests.remove(request);
      return request?.value;
    }
    const { name, waiting } = lane.value;
    const work = waiting.first;
    if (work !== undefined) waiting.remove(work);
    if (waiting.first !== undefined) this.#lanes.moveToEnd(lane);
    else {
      this.#lanes.remove(lane);
      this.#laneOf.delete(name);
    }
    return work?.value;
  }
}

// One for the process, as there is one event loop.
const loopTurn = new LoopTurn();

/** One long work's share of the event loop. */
export class Turns {
  readonly #lane: string | undefined;

  /** @param lane of work that no request waits for: with whom it shares, such as the namespace that it is done for */
  constructor(lane?: string) {
    this.#lane = lane;
  }

  /** Whether this turn of the loop is used up: for work that shall not wait at all where it is not. */
  get isOver(): boolean {
    return loopTurn.isUsedUp();
  }

  /** Resolves at once as long as this turn of the loop is not used up, else after others had theirs. */
  async pause(): Promise<void> {
    if (loopTurn.isUsedUp()) await loopTurn.wait(this.#lane);
  }

  /** Does a piece of work in this turn of the loop, or in a later one when it is used up. */
  async do<T>(work: () => T): Promise<T> {
    if (loopTurn.isUsedUp()) await loopTurn.wait(this.#lane);
    return work();
  }

  /** Does work step by step. */
  async run<T>(steps: Steps<T>): Promise<T> {
    for (;;) {
      if (loopTurn.isUsedUp()) await loopTurn.wait(this.#lane);
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }
}

/** What a source gives. One that has very much ready would be read without a turn of the loop in between, for minutes. */
export async function* inSharedTurns<T>(
  source: AsyncIterable<T> | Iterable<T>,
  lane?: string,
): AsyncGenerator<T> {
  const turns = new Turns(lane);
  for await (const value of source) {
    if (turns.isOver) await turns.pause();
    yield value;
  }
}
