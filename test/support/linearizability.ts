/**
 * Is a history of concurrent calls linearizable: could every call have happened at one moment between its sending and
 * its answer? The search of Wing and Gong with a memory of what was tried (Lowe). Three rules keep it small: a call
 * that only reads and fits is taken at once; among equal calls the one that ended first goes first; answers with the
 * version of what they show are taken in its order.
 */

import { seededFraction } from "./seeded_ids.ts";

/** One call as its caller saw it. */
export interface Call {
  input: string;
  /** The answer; undefined if unknown: then the call happened at any time after `calledAt`, or never. */
  output: string | undefined;
  calledAt: number;
  heardAt: number;
  /** A call that happened before this read, usually right before it. */
  after?: Call;
  /** For a read: the version of what was shown. Reads must be in the order of their versions. */
  version?: number;
}

/** A sequential object. States must be plain data. */
export interface Model<S> {
  initial: S;
  /** Applies a call; undefined if it can't have had this answer. An unknown answer fits everything. */
  step(state: S, call: Call): S | undefined;
  /** Whether a call with this answer changes nothing in any state. */
  isRead(call: Call): boolean;
  /** What the object may do by itself at any moment. */
  drift(state: S): S;
}

/** A search gives up after this many steps, the last one after more. */
const MAX_STEPS = 10_000;
const MAX_LAST_STEPS = 100_000;
/** How many reads may happen some time after the call they follow: small numbers are tried first. */
const LATE_READS = [0, 1, 3, Infinity];
/**
 * Searches that go through the possible orders in another sequence each. One wrong choice at the beginning can cost
 * millions of steps; another search makes another one.
 */
const SEARCHES = 40;

const [AT_ONCE, SILENT, LATE] = [0, 1, 2];

export type Verdict =
  | { isLinearizable: true }
  /**
   * `best`: the longest order that was found; `stuck`: calls of which none can come next. `isProved`: false if the
   * search was given up.
   */
  | { isLinearizable: false; best: Call[]; stuck: Call[]; isProved: boolean };

export function checkLinearizable<S>(calls: readonly Call[], model: Model<S>): Verdict {
  let verdict: Verdict = { isLinearizable: true };
  for (let sequence = 0; sequence < SEARCHES; sequence++) {
    for (const late of LATE_READS) {
      verdict = new Search(calls, model, late, sequence).run();
      // With the last number of late reads, everything is allowed.
      if (verdict.isLinearizable || (late === Infinity && verdict.isProved)) return verdict;
    }
  }
  return verdict;
}

class Search<S> {
  readonly #calls: readonly Call[];
  readonly #model: Model<S>;
  readonly #tried = new Set<string>();
  readonly #isTaken: boolean[];
  /**
   * Two hashes of the set taken so far, and what each call adds to them (Zobrist): sets are compared by their 64 bits.
   */
  readonly #taken: [number, number] = [0, 0];
  readonly #marks: readonly [number, number][];
  /** Calls with the same number are equal. */
  readonly #kinds: readonly number[];
  readonly #places: ReadonlyMap<Call, number>;
  /** The read that follows a call. */
  readonly #followers: ReadonlyMap<Call, Call>;
  /** Positions of reads that have a version, in version order. */
  readonly #reads: readonly number[];
  readonly #order: Call[] = [];
  #steps = 0;
  readonly #maxSteps: number;
  /** Answered calls that are not taken yet. */
  #open: number;
  /** Reads that may still be late. */
  #late: number;
  #best: { order: Call[]; stuck: Call[] } | undefined;

  /** Mixes up what may come next; undefined: earlier calls first. */
  readonly #mix: (() => number) | undefined;

  constructor(calls: readonly Call[], model: Model<S>, late: number, sequence: number) {
    this.#maxSteps = sequence === SEARCHES - 1 ? MAX_LAST_STEPS : MAX_STEPS;
    this.#mix = sequence === 0 ? undefined : seededFraction(sequence);
    this.#calls = [...calls].sort((a, b) => a.calledAt - b.calledAt);
    this.#model = model;
    this.#late = late;
    this.#isTaken = this.#calls.map(() => false);
    const random = seededFraction(calls.length);
    this.#marks = this.#calls.map(() => [random() * 2 ** 32 | 0, random() * 2 ** 32 | 0]);
    this.#places = new Map(this.#calls.map((call, at) => [call, at]));
    this.#followers = new Map(calls.flatMap((call) => call.after ? [[call.after, call]] : []));
    const kinds = new Map<string, number>();
    this.#kinds = this.#calls.map((call) => {
      const text = this.#kindOf(call);
      kinds.set(text, kinds.get(text) ?? kinds.size);
      return kinds.get(text) ?? 0;
    });
    this.#reads = [...this.#calls.keys()].filter((at) => this.#versionOf(at) !== Infinity)
      .sort((a, b) => this.#versionOf(a) - this.#versionOf(b));
    this.#open = calls.filter(({ output }) => output !== undefined).length;
  }

  run(): Verdict {
    if (this.#from(this.#model.initial)) return { isLinearizable: true };
    const { order, stuck } = this.#best ?? { order: [], stuck: [] };
    const isProved = this.#steps <= this.#maxSteps;
    return { isLinearizable: false, best: order, stuck, isProved };
  }

  /** Whether the remaining calls fit after a state. */
  #from(state: S): boolean {
    if (this.#open === 0) return true;
    if (++this.#steps > this.#maxSteps) return false;
    const text = JSON.stringify(state);
    const key = `${this.#taken[0]} ${this.#taken[1]} ${this.#late} ${text}`;
    if (this.#tried.has(key)) return false;
    this.#tried.add(key);
    const version = this.#nextVersion();
    const next = this.#candidates(version);
    const branches: { at: number; state: S; order: number }[] = [];
    for (const at of next) {
      const call = this.#calls[at];
      const after = call && this.#model.step(state, call);
      if (call === undefined || after === undefined) continue;
      if (this.#model.isRead(call)) return this.#take(at, after);
      branches.push({ at, state: after, order: this.#orderOf(call, after, version) });
    }
    if (this.#best === undefined || this.#order.length > this.#best.order.length) {
      const stuck = next.flatMap((at) => this.#calls[at] ?? []);
      this.#best = { order: [...this.#order], stuck };
    }
    const drifted = this.#model.drift(state);
    const isDrifting = JSON.stringify(drifted) !== text;
    if (this.#mix !== undefined) shuffle(branches, this.#mix);
    const [shown, silent, late] = [AT_ONCE, SILENT, LATE].map((order) =>
      branches.filter((branch) => branch.order === order)
    );
    return shown?.some((branch) => this.#take(branch.at, branch.state)) ||
      (isDrifting && this.#from(drifted)) ||
      silent?.some((branch) => this.#take(branch.at, branch.state)) ||
      (late?.some((branch) => this.#takeLate(branch.at, branch.state)) ?? false);
  }

  /** Calls whose read fits at once are tried first, those whose read must wait last. */
  #orderOf(call: Call, after: S, version: number): number {
    const read = this.#followers.get(call);
    if (read === undefined) return SILENT;
    const fits = (read.version ?? 0) <= version && this.#model.step(after, read) !== undefined;
    return fits ? AT_ONCE : LATE;
  }

  #takeLate(at: number, after: S): boolean {
    if (this.#late === 0) return false;
    this.#late--;
    const fits = this.#take(at, after);
    this.#late++;
    return fits;
  }

  #take(at: number, after: S): boolean {
    const call = this.#calls[at];
    if (call === undefined) return false;
    const isAnswered = call.output !== undefined;
    this.#mark(at, true);
    this.#order.push(call);
    if (isAnswered) this.#open--;
    const fits = this.#from(after);
    if (isAnswered) this.#open++;
    this.#order.pop();
    this.#mark(at, false);
    return fits;
  }

  #mark(at: number, isTaken: boolean): void {
    this.#isTaken[at] = isTaken;
    const [high, low] = this.#marks[at] ?? [0, 0];
    this.#taken[0] ^= high;
    this.#taken[1] ^= low;
  }

  #versionOf(at: number): number {
    return this.#calls[at]?.version ?? Infinity;
  }

  /** The version that the next read must show. */
  #nextVersion(): number {
    const next = this.#reads.find((at) => !this.#isTaken[at]);
    return next === undefined ? Infinity : this.#versionOf(next);
  }

  /** Calls that may come next: no remaining call was over before they began. Of equal calls, only one. */
  #candidates(version: number): number[] {
    let firstEnd = Infinity;
    for (const [at, call] of this.#calls.entries()) {
      const isOpen = !this.#isTaken[at] && call.output !== undefined;
      if (isOpen && call.heardAt < firstEnd) firstEnd = call.heardAt;
    }
    const byKind = new Map<number, number>();
    for (const [at, call] of this.#calls.entries()) {
      if (call.calledAt > firstEnd) break;
      if (!this.#mayCome(at, call, version)) continue;
      const kind = this.#kinds[at] ?? 0;
      const other = this.#calls[byKind.get(kind) ?? -1];
      if (other === undefined || call.heardAt < other.heardAt) byKind.set(kind, at);
    }
    return [...byKind.values()];
  }

  #kindOf(call: Call): string {
    const read = this.#followers.get(call);
    return [call.input, call.output ?? "?", call.version, read?.output, read?.version].join("\n");
  }

  #mayCome(at: number, call: Call, version: number): boolean {
    if (this.#isTaken[at]) return false;
    const before = call.after === undefined ? undefined : this.#places.get(call.after);
    if (before !== undefined && !this.#isTaken[before]) return false;
    return call.version === undefined || call.version <= version;
  }
}

function shuffle(items: unknown[], random: () => number): void {
  for (let at = items.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [items[at], items[other]] = [items[other], items[at]];
  }
}
