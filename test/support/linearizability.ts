/**
 * Is a history of concurrent calls linearizable: could every call have happened at one moment between its sending and its
 * answer? The search of Wing and Gong with a memory of what was tried (Lowe), and two reductions that keep it small:
 * a call that only reads and fits is taken at once, and of calls that are alike the one that ended first goes first.
 */

/** One call as its caller saw it. */
export interface Call {
  input: string;
  /** What was answered; undefined when nothing is known: then it happened at any time after `calledAt`, or never. */
  output: string | undefined;
  calledAt: number;
  heardAt: number;
  /** A call that happened before this one, whatever their times say. */
  after?: Call;
}

/** A sequential object. States must be plain data. */
export interface Model<S> {
  initial: S;
  /** Does a call; undefined when it can't have had this answer. An unknown answer fits everything. */
  step(state: S, call: Call): S | undefined;
  /** Whether a call with this answer changes nothing in any state. */
  isRead(call: Call): boolean;
  /** What the object may do by itself at any moment. */
  drift(state: S): S;
}

export type Verdict =
  | { isLinearizable: true }
  /** `best`: the longest order that was found; `stuck`: calls of which none can come next. */
  | { isLinearizable: false; best: Call[]; stuck: Call[] };

export function checkLinearizable<S>(calls: readonly Call[], model: Model<S>): Verdict {
  return new Search(calls, model).run();
}

class Search<S> {
  readonly #calls: readonly Call[];
  readonly #model: Model<S>;
  readonly #tried = new Set<string>();
  readonly #isTaken: boolean[];
  readonly #places: ReadonlyMap<Call, number>;
  readonly #order: Call[] = [];
  /** Answered calls that are not taken yet. */
  #open: number;
  #best: { order: Call[]; stuck: Call[] } | undefined;

  constructor(calls: readonly Call[], model: Model<S>) {
    this.#calls = [...calls].sort((a, b) => a.calledAt - b.calledAt);
    this.#model = model;
    this.#isTaken = this.#calls.map(() => false);
    this.#places = new Map(this.#calls.map((call, at) => [call, at]));
    this.#open = calls.filter(({ output }) => output !== undefined).length;
  }

  run(): Verdict {
    if (this.#from(this.#model.initial)) return { isLinearizable: true };
    const { order, stuck } = this.#best ?? { order: [], stuck: [] };
    return { isLinearizable: false, best: order, stuck };
  }

  /** Whether what is left fits after a state. */
  #from(state: S): boolean {
    if (this.#open === 0) return true;
    const key = `${this.#isTaken.map(Number).join("")}${JSON.stringify(state)}`;
    if (this.#tried.has(key)) return false;
    this.#tried.add(key);
    const text = JSON.stringify(state);
    const next = this.#candidates();
    const branches: { at: number; state: S }[] = [];
    for (const at of next) {
      const call = this.#calls[at];
      const after = call && this.#model.step(state, call);
      if (call === undefined || after === undefined) continue;
      if (this.#model.isRead(call)) return this.#take(at, after);
      branches.push({ at, state: after });
    }
    if (this.#best === undefined || this.#order.length > this.#best.order.length) {
      const stuck = next.flatMap((at) => this.#calls[at] ?? []);
      this.#best = { order: [...this.#order], stuck };
    }
    const drifted = this.#model.drift(state);
    if (JSON.stringify(drifted) !== text && this.#from(drifted)) return true;
    return branches.some((branch) => this.#take(branch.at, branch.state));
  }

  #take(at: number, after: S): boolean {
    const call = this.#calls[at];
    if (call === undefined) return false;
    const isAnswered = call.output !== undefined;
    this.#isTaken[at] = true;
    this.#order.push(call);
    if (isAnswered) this.#open--;
    const fits = this.#from(after);
    if (isAnswered) this.#open++;
    this.#order.pop();
    this.#isTaken[at] = false;
    return fits;
  }

  /** Calls that may come next: none that is left was over before they began. Of those that are alike, one. */
  #candidates(): number[] {
    let firstEnd = Infinity;
    for (const [at, call] of this.#calls.entries()) {
      const isOpen = !this.#isTaken[at] && call.output !== undefined;
      if (isOpen && call.heardAt < firstEnd) firstEnd = call.heardAt;
    }
    const byKind = new Map<string, number>();
    for (const [at, call] of this.#calls.entries()) {
      if (call.calledAt > firstEnd) break;
      const waitsFor = call.after === undefined ? undefined : this.#places.get(call.after);
      if (this.#isTaken[at] || (waitsFor !== undefined && !this.#isTaken[waitsFor])) continue;
      const kind = `${call.input}\n${call.output ?? "?"}`;
      const other = this.#calls[byKind.get(kind) ?? -1];
      if (other === undefined || call.heardAt < other.heardAt) byKind.set(kind, at);
    }
    return [...byKind.values()];
  }
}
