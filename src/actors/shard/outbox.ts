/**
 * The outbox of a shard: effects that are committed and not yet known to be done. A row stays until a later commit drops
 * it. So after a crash everything that may not have happened is done again; ids are stable, which makes that harmless.
 */
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { ActorId } from "../../store/port.ts";
import type { HostEffect } from "../hot_actor.ts";

/**
 * Effects that leave a row. Timers have rows of their own; samples of metrics are not kept; of a notice the deliveries are
 * kept that it causes.
 */
export type KeptEffect = Exclude<
  HostEffect,
  { type: "set-timer" | "clear-timer" | "observe-metric" | "notice" }
>;

export interface OutboxRow {
  id: string;
  actor: ActorId;
  /** Counts the rows of the shard as they are made; after a crash they are done again in this order. */
  seq: number;
  /** Earliest time to do it, epoch ms. */
  notBefore?: number;
  effect: KeptEffect;
  /** Of a task: the replica that runs it. */
  replica?: string;
  /** Of a task: where it lives, if only a replica at that place finds it again. */
  place?: string;
}

/** Row whose text tells which commit was the last one. It is no effect. */
export const COMMIT_MARK = "!";

const TASK_ROW = "task/";

/** Row of a running task. The commit that applies the task's outcome drops it. */
export function taskRowId(task: string): string {
  return TASK_ROW + task;
}

/** The task of such a row; undefined for other rows. */
export function taskOfRow(id: string): string | undefined {
  return id.startsWith(TASK_ROW) ? id.slice(TASK_ROW.length) : undefined;
}

/** Id of an effect's row. Except for tasks, each effect has a row of its own, so that the end of one drops no other. */
export function rowIdOf(actor: ActorId, effect: KeptEffect, seq: number): string {
  return effect.type === "start-task"
    ? taskRowId(effect.task.id)
    : `${effect.type}/${actor}/${effect.id}/${seq}`;
}

/** A row as it is stored. Its key is its id, so the text leaves that out. */
export function encodeRow(row: OutboxRow): string {
  return JSON.stringify({ ...row, id: undefined });
}

/**
 * Rows of a stored outbox in the order in which they were made.
 * @param onUnreadable hears of each row that cannot be read and is left out
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
  const row = parseOrUndefined(text);
  if (!isJsonObject(row)) return undefined;
  const { actor, seq, effect, notBefore } = row;
  const isRow = typeof actor === "string" && Number.isFinite(seq) && isJsonObject(effect) &&
    typeof effect["type"] === "string" &&
    (notBefore === undefined || Number.isFinite(notBefore));
  return isRow ? { ...row as unknown as OutboxRow, id } : undefined;
}

/** Which rows a shard has, and whose they are. */
export class OutboxIndex {
  readonly #rows = new Map<string, ActorId>();
  /** Rows of each actor: its only one, or all of them. Most have one. */
  readonly #byActor = new Map<ActorId, string | Set<string>>();

  has(id: string): boolean {
    return this.#rows.has(id);
  }

  add(id: string, actor: ActorId): void {
    this.#rows.set(id, actor);
    const own = this.#byActor.get(actor);
    if (own === undefined) this.#byActor.set(actor, id);
    else if (typeof own === "string") this.#byActor.set(actor, new Set([own, id]));
    else own.add(id);
  }

  remove(id: string): void {
    const actor = this.#rows.get(id);
    if (actor === undefined) return;
    this.#rows.delete(id);
    const own = this.#byActor.get(actor);
    if (typeof own === "object") own.delete(id);
    if (own === id || (typeof own === "object" && own.size === 0)) this.#byActor.delete(actor);
  }

  /** Rows of one actor. */
  of(actor: ActorId): string[] {
    const own = this.#byActor.get(actor) ?? [];
    return typeof own === "string" ? [own] : [...own];
  }
}
