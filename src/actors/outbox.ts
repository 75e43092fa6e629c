/**
 * The outbox of a shard: effects that are committed and not yet known to be done. A row stays until a later commit drops
 * it, so after a crash everything that may not have happened is done again; ids are stable, so again does no harm.
 */
import { isJsonObject, type Json } from "../base/json.ts";
import type { ActorId } from "../store/port.ts";
import type { HostEffect } from "./hot_actor.ts";

/** Effects that leave a row. Timers have rows of their own; samples of metrics are not kept. */
export type KeptEffect = Exclude<
  HostEffect,
  { type: "set-timer" | "clear-timer" | "observe-metric" }
>;

export interface OutboxRow {
  id: string;
  actor: ActorId;
  /** Order of making within the shard; rows are redone in this order. */
  seq: number;
  /** Earliest time to do it, epoch ms. */
  notBefore?: number;
  effect: KeptEffect;
  /** Of a task: the replica that runs it. */
  replica?: string;
  /** Of a task: where it lives, if only a replica at that place finds it again. */
  place?: string;
}

/** Row whose text tells which commit was the last one; not an effect. */
export const COMMIT_MARK = "!";

/** Row of a running task: it is dropped by the commit that applies the task's outcome. */
export function taskRowId(task: string): string {
  return `task/${task}`;
}

/** Id of an effect's row. But for tasks every emission has a row of its own, so that being done with one drops no other. */
export function rowIdOf(actor: ActorId, effect: KeptEffect, seq: number): string {
  return effect.type === "start-task"
    ? taskRowId(effect.task.id)
    : `${effect.type}/${actor}/${effect.id}/${seq}`;
}

export function encodeRow(row: OutboxRow): string {
  const { id: _, ...rest } = row;
  return JSON.stringify(rest);
}

/**
 * Rows of a stored outbox in the order they were made.
 * @param onUnreadable hears of a row that can't be read, which is passed over
 */
export function decodeRows(
  outbox: Record<string, string>,
  onUnreadable: (id: string) => void,
): OutboxRow[] {
  const rows: OutboxRow[] = [];
  for (const [id, text] of Object.entries(outbox)) {
    if (id === COMMIT_MARK) continue;
    const row = decodeRow(id, text);
    if (row === undefined) onUnreadable(id);
    else rows.push(row);
  }
  return rows.sort((a, b) => a.seq - b.seq);
}

function decodeRow(id: string, text: string): OutboxRow | undefined {
  try {
    const row = JSON.parse(text) as Json;
    if (!isJsonObject(row)) return undefined;
    const { actor, seq, effect, notBefore } = row;
    const isRow = typeof actor === "string" && Number.isFinite(seq) && isJsonObject(effect) &&
      typeof effect["type"] === "string" &&
      (notBefore === undefined || Number.isFinite(notBefore));
    return isRow ? { ...row as unknown as OutboxRow, id } : undefined;
  } catch {
    return undefined;
  }
}

/** Which rows a shard has, and whose they are. */
export class OutboxIndex {
  readonly #rows = new Map<string, ActorId>();
  readonly #byActor = new Map<ActorId, Set<string>>();

  get size(): number {
    return this.#rows.size;
  }

  has(id: string): boolean {
    return this.#rows.has(id);
  }

  add(id: string, actor: ActorId): void {
    this.#rows.set(id, actor);
    let own = this.#byActor.get(actor);
    if (!own) this.#byActor.set(actor, own = new Set());
    own.add(id);
  }

  remove(id: string): void {
    const actor = this.#rows.get(id);
    if (actor === undefined) return;
    this.#rows.delete(id);
    const own = this.#byActor.get(actor);
    own?.delete(id);
    if (own?.size === 0) this.#byActor.delete(actor);
  }

  /** Rows of one actor. */
  of(actor: ActorId): string[] {
    return [...this.#byActor.get(actor) ?? []];
  }
}
