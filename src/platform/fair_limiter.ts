/**
 * Bounds how many of a kind of work run at once, and shares the places between those for whom it is done (namespaces, say).
 * Somebody gets a free place as long as he holds less than three times as many as are free. So one alone has three quarters
 * of all at most, a second one three quarters of the rest, and so on: whoever comes next finds a place at once, however
 * many wait and however long the work of others takes. Those who wait get their turn one after the other, each in the order
 * of his own.
 */

import { Chain, type Link } from "../base/chain.ts";

/** Places that one may hold for each that is free. */
export const SHARE = 3;

/** Whether somebody who holds so many places may have one of those that are free. */
function mayHaveOne(held: number, free: number): boolean {
  return held < SHARE * free;
}

/** Those who neither hold nor wait are forgotten only beyond so many: most come again at once. */
const MAX_IDLE = 256;

/** One for whom work is done. */
interface Party {
  held: number;
  /** Begin the work of those that wait; undefined: nobody has had to. */
  waiting: Chain<() => void> | undefined;
  /** Its place among those who wait. */
  turn: Link<Party> | undefined;
}

export class FairLimiter {
  #free: number;
  readonly #parties = new Map<string, Party>();
  /** Those who wait, next first. */
  readonly #turns = new Chain<Party>();

  /** @param limit places, at least 1 */
  constructor(limit: number) {
    this.#free = limit;
  }

  /** True when the next `enter` for this one would wait. */
  isFull(name: string): boolean {
    return this.#isFullFor(this.#parties.get(name));
  }

  #isFullFor(party: Party | undefined): boolean {
    return party?.waiting?.first !== undefined || !mayHaveOne(party?.held ?? 0, this.#free);
  }

  /**
   * Runs `work` when there is a place for it.
   * @throws {unknown} the reason of the signal when that aborts before; then nothing was run
   */
  async run<T>(name: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const place = this.enter(name, signal);
    if (place !== undefined) await place;
    try {
      return await work();
    } finally {
      this.leave(name);
    }
  }

  /**
   * Waits for a place and takes it; `leave` gives it back.
   * @throws {unknown} the reason of the signal when that aborts before; then no place is held
   */
  enter(name: string, signal?: AbortSignal): Promise<void> | void {
    signal?.throwIfAborted();
    let party = this.#parties.get(name);
    const isFull = this.#isFullFor(party);
    if (party === undefined) {
      party = { held: 0, waiting: undefined, turn: undefined };
      this.#parties.set(name, party);
    }
    if (isFull) return this.#wait(name, party, signal);
    this.#free--;
    party.held++;
  }

  leave(name: string): void {
    const party = this.#parties.get(name);
    if (party === undefined || party.held === 0) throw new Error(`${name} holds no place`);
    this.#free++;
    party.held--;
    while (this.#admitNext());
    this.#forget(name, party);
  }

  #wait(name: string, party: Party, signal: AbortSignal | undefined): Promise<void> {
    const waiting = party.waiting ??= new Chain();
    if (party.turn === undefined) party.turn = this.#turns.add(party);
    else if (!party.turn.isIn) this.#turns.moveToEnd(party.turn);
    if (signal === undefined) return new Promise((resolve) => void waiting.add(resolve));
    return new Promise((resolve, reject) => {
      const waiter = waiting.add(() => {
        signal.removeEventListener("abort", stop);
        resolve();
      });
      const stop = () => {
        waiting.remove(waiter);
        this.#forget(name, party);
        reject(signal.reason);
      };
      signal.addEventListener("abort", stop, { once: true });
    });
  }

  /** Gives a free place to the next one who may have it; false when there is none. */
  #admitNext(): boolean {
    if (this.#free === 0) return false;
    for (let turn = this.#turns.first; turn !== undefined; turn = turn.after) {
      const party = turn.value;
      const first = party.waiting?.first;
      if (first === undefined || !mayHaveOne(party.held, this.#free)) continue;
      this.#free--;
      party.held++;
      party.waiting?.remove(first);
      if (party.waiting?.first === undefined) this.#turns.remove(turn);
      else this.#turns.moveToEnd(turn);
      first.value();
      return true;
    }
    return false;
  }

  #forget(name: string, party: Party): void {
    if (party.waiting?.first !== undefined) return;
    if (party.turn !== undefined) this.#turns.remove(party.turn);
    if (party.held === 0 && this.#parties.size > MAX_IDLE) this.#parties.delete(name);
  }
}
