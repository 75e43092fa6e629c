/**
 * Changes of a shard's outbox rows that wait for a commit to take them along: rows of effects that are done, rows of tasks
 * that this replica has taken over, and rows of which a part is done. When no commit comes for a while, they are due for one of their own.
 */
import type { Clock } from "../../platform/clock.ts";
import type { ShardCommit } from "../../store/port.ts";
import { encodeRow, type OutboxIndex, type OutboxRow } from "./outbox.ts";

/** How long changes may wait for a commit, ms. */
const WAIT_MS = 500;

/** Makes a row as it is now. */
type MakeRow = () => OutboxRow;

/** What a commit has taken along: ids of rows, and what has made those that were stored anew. */
export interface TakenChanges {
  drops: readonly string[];
  rewritten: readonly [id: string, make: MakeRow][];
}

const NOTHING: TakenChanges = { drops: [], rewritten: [] };

export class RowChanges {
  readonly #rows: OutboxIndex;
  readonly #clock: Pick<Clock, "after">;
  readonly #onDue: () => void;
  readonly #drops = new Set<string>();
  readonly #rewritten = new Map<string, MakeRow>();
  #cancelWait: (() => void) | undefined;
  #isDue = false;

  /** @param onDue called when the changes are due */
  constructor(rows: OutboxIndex, clock: Pick<Clock, "after">, onDue: () => void) {
    this.#rows = rows;
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** True when there are changes. */
  get isAny(): boolean {
    return this.#drops.size > 0 || this.#rewritten.size > 0;
  }

  /** True when there are changes that have waited long enough. */
  get isDue(): boolean {
    return this.#isDue && this.isAny;
  }

  /** Drops a row, if the shard has it. */
  drop(id: string): void {
    if (!this.#rows.has(id)) return;
    this.#drops.add(id);
    this.#wait();
  }

  /** Stores a row anew, if the shard has it. */
  rewrite(id: string, make: MakeRow): void {
    if (!this.#rows.has(id)) return;
    this.#rewritten.set(id, make);
    this.#wait();
  }

  /** Puts the changes into a commit. What changes while the commit is under way becomes due again. */
  takeInto(commit: ShardCommit): TakenChanges {
    this.#isDue = false;
    if (!this.isAny) return NOTHING;
    const drops = [...this.#drops];
    commit.outboxDrop.push(...drops);
    if (this.#rewritten.size === 0) return { drops, rewritten: [] };
    const dropped = new Set(commit.outboxDrop);
    for (const [id, make] of this.#rewritten) {
      const isOver = !this.#rows.has(id) || dropped.has(id);
      if (isOver) this.#rewritten.delete(id);
      else commit.outboxPut[id] ??= encodeRow(make());
    }
    return { drops, rewritten: [...this.#rewritten] };
  }

  /** The commit that took these changes is in. */
  committed(changes: TakenChanges): void {
    if (changes === NOTHING) return;
    const { drops, rewritten } = changes;
    for (const id of drops) this.#drops.delete(id);
    for (const [id, make] of rewritten) {
      // It may have changed again while the commit was under way.
      if (this.#rewritten.get(id) === make) this.#rewritten.delete(id);
    }
  }

  /** Becomes due no more. */
  stop(): void {
    this.#cancelWait?.();
  }

  #wait(): void {
    this.#cancelWait ??= this.#clock.after(WAIT_MS, () => {
      this.#cancelWait = undefined;
      this.#isDue = true;
      this.#onDue();
    });
  }
}
