/**
 * Changes of a shard's outbox rows that wait for a commit to take them along: rows of effects that are done, and rows of
 * tasks that this replica has taken over. When no commit comes for a while, they are due for one of their own.
 */
import type { Clock } from "../../platform/clock.ts";
import type { ShardCommit } from "../../store/port.ts";
import { encodeRow, type OutboxIndex, type OutboxRow } from "./outbox.ts";

/** How long changes may wait for a commit, ms. */
const WAIT_MS = 500;

/** Ids of the rows whose changes a commit has taken along. */
export interface TakenChanges {
  drops: readonly string[];
  claims: readonly string[];
}

const NOTHING: TakenChanges = { drops: [], claims: [] };

export class RowChanges {
  readonly #rows: OutboxIndex;
  readonly #clock: Pick<Clock, "after">;
  readonly #onDue: () => void;
  readonly #drops = new Set<string>();
  readonly #claims = new Map<string, OutboxRow>();
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
    return this.#drops.size > 0 || this.#claims.size > 0;
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
  claim(row: OutboxRow): void {
    if (!this.#rows.has(row.id)) return;
    this.#claims.set(row.id, row);
    this.#wait();
  }

  /** Puts the changes into a commit. What changes while the commit is under way becomes due again. */
  takeInto(commit: ShardCommit): TakenChanges {
    this.#isDue = false;
    if (!this.isAny) return NOTHING;
    const drops = [...this.#drops];
    commit.outboxDrop.push(...drops);
    for (const [id, row] of this.#claims) {
      const isOver = !this.#rows.has(id) || commit.outboxDrop.includes(id);
      if (isOver) this.#claims.delete(id);
      else commit.outboxPut[id] ??= encodeRow(row);
    }
    return { drops, claims: [...this.#claims.keys()] };
  }

  /** The commit that took these changes is in. */
  committed(changes: TakenChanges): void {
    if (changes === NOTHING) return;
    const { drops, claims } = changes;
    for (const id of drops) this.#drops.delete(id);
    for (const id of claims) this.#claims.delete(id);
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
