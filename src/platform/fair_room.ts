/**
 * Room that several parties share: each takes as much as it needs, up to its share, and gives it back. A party gets room as
 * long as it then has at most three times as much as is free, so one alone has three quarters of all at most, a second one
 * three quarters of the rest, and so on: whoever comes next finds some at once. One that has none is given whatever is free.
 * `FairLimiter` is the same for places, and rounds up: of two places one alone has both.
 */
import { Chain, type Link } from "../base/chain.ts";
import { SHARE } from "./fair_limiter.ts";

interface Waiter {
  readonly size: number;
  begin: () => void;
}

interface Party {
  readonly name: string;
  held: number;
  readonly waiting: Chain<Waiter>;
  /** Its place among those who wait. */
  turn: Link<Party> | undefined;
}

/** One that waits for room. */
export interface Wait {
  readonly party: Party;
  readonly place: Link<Waiter>;
}

export class FairRoom {
  /** Most that one party gets; what needs more than that is counted as so much. */
  readonly most: number;
  #free: number;
  /** Those who have room or wait for some. */
  readonly #parties = new Map<string, Party>();
  /** Those who wait, next first. */
  readonly #turns = new Chain<Party>();

  constructor(size: number) {
    this.#free = size;
    this.most = size * SHARE / (SHARE + 1);
  }

  /** Whether somebody waits. */
  get isAwaited(): boolean {
    return this.#turns.first !== undefined;
  }

  /** Whether somebody waits who would have room if others had less. */
  get isShort(): boolean {
    for (const party of this.#turns) {
      const next = party.waiting.first?.value;
      if (next !== undefined && isWithinShare(party, next.size, this.#free)) return true;
    }
    return false;
  }

  /** Whether a party waits. */
  isAwaitedBy(name: string): boolean {
    return this.#parties.get(name)?.waiting.first !== undefined;
  }

  /** Takes room if there is so much for this party, and nobody waits who comes before it. */
  enter(name: string, size: number): boolean {
    const party = this.#parties.get(name);
    if (party?.waiting.first !== undefined || this.isShort) return false;
    if (size > this.#free || !isWithinShare(party, size, this.#free)) return false;
    this.take(name, size);
    return true;
  }

  /** Takes room whether there is some or not. */
  take(name: string, size: number): void {
    if (size === 0) return;
    this.#partyOf(name).held += size;
    this.#free -= size;
  }

  leave(name: string, size: number): void {
    const party = this.#parties.get(name);
    if (party === undefined || size === 0) return;
    party.held -= size;
    this.#free += size;
    this.#forget(party);
    this.#admit();
  }

  /** Waits for room. @param begin is called when it has been taken */
  wait(name: string, size: number, begin: () => void): Wait {
    const party = this.#partyOf(name);
    const place = party.waiting.add({ size, begin });
    party.turn ??= this.#turns.add(party);
    return { party, place };
  }

  /** Waits no longer. */
  giveUp({ party, place }: Wait): void {
    party.waiting.remove(place);
    this.#forget(party);
    // Those behind it may need less.
    this.#admit();
  }

  #partyOf(name: string): Party {
    const known = this.#parties.get(name);
    if (known !== undefined) return known;
    const party: Party = { name, held: 0, waiting: new Chain(), turn: undefined };
    this.#parties.set(name, party);
    return party;
  }

  #forget(party: Party): void {
    if (party.waiting.first !== undefined) return;
    if (party.turn !== undefined) this.#turns.remove(party.turn);
    party.turn = undefined;
    if (party.held === 0) this.#parties.delete(party.name);
  }

  #admit(): void {
    for (let turn = this.#turns.first; turn !== undefined;) {
      const party = turn.value;
      const first = party.waiting.first;
      if (first === undefined || !isWithinShare(party, first.value.size, this.#free)) {
        turn = turn.after;
        continue;
      }
      // It is its turn: nobody behind it takes what becomes free.
      if (first.value.size > this.#free) return;
      this.take(party.name, first.value.size);
      party.waiting.remove(first);
      this.#turns.moveToEnd(turn);
      this.#forget(party);
      first.value.begin();
      turn = this.#turns.first;
    }
  }
}

/** Whether a party may have so much more. Of one that has nothing the answer does not depend on what is free. */
function isWithinShare(party: Party | undefined, size: number, free: number): boolean {
  const held = party?.held ?? 0;
  return held === 0 || held + size <= SHARE * (free - size);
}
