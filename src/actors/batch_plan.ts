/**
 * Turns what a batch changed into one commit: actors, outbox rows, timers, answers, cursor. Pure bookkeeping over ids;
 * nothing is done here.
 */
import { isJsonObject } from "../base/json.ts";
import type { MetricSample, TaskSpec } from "../engine/effect.ts";
import type { Clock } from "../platform/clock.ts";
import type { ActorId, Lease, ShardCommit } from "../store/port.ts";
import type { Group, QueueItem } from "./batch.ts";
import type { HostEffect } from "./hot_actor.ts";
import {
  COMMIT_MARK,
  encodeRow,
  type KeptEffect,
  type OutboxIndex,
  type OutboxRow,
  rowIdOf,
  taskRowId,
} from "./outbox.ts";
import { encodeResult, receiptKey, type Result } from "./result.ts";

/** How long a receipt is kept: longer than anybody waits for an answer. */
const RECEIPT_TTL_MS = 60_000;

export interface BatchPlan {
  commit: ShardCommit;
  /** New effects, in order, to be done after the commit. */
  rows: OutboxRow[];
  /** What is told to those who measure once the commit is in, and never again. */
  samples: { actor: ActorId; sample: MetricSample }[];
  /** False when there is nothing to write. */
  isNeeded: boolean;
}

/** What a plan must know of the shard. */
export interface PlanShard {
  readonly lease: Lease;
  readonly rows: OutboxIndex;
  /** Name of this replica. */
  readonly replica: string;
  /** The next number for an outbox row of this shard. */
  nextSeq(): number;
  /** Where this replica runs a task, see `Executor.placeOf`. */
  placeOf(task: TaskSpec): string | undefined;
}

/** Key of a timer's row: the actor and the timer's own id. */
export function timerRowId(actor: ActorId, timer: string): string {
  return `${actor} ${timer}`;
}

export function parseTimerRowId(id: string): { actor: ActorId; timer: string } {
  const space = id.indexOf(" ");
  return { actor: id.slice(0, space), timer: id.slice(space + 1) };
}

/**
 * @param known results of items that are not in the groups
 * @param mark text of the row that tells this commit from all others
 */
export function planBatch(
  shard: PlanShard,
  groups: Group[],
  items: QueueItem[],
  known: ReadonlyMap<QueueItem, Result | QueueItem> | undefined,
  options: { clock: Clock },
  mark: string,
  answerTtlMs: number,
): BatchPlan {
  const plan = new Plan(shard, options.clock.now(), mark);
  for (const group of groups) {
    plan.addGroup(group);
    if (group.removed) plan.cancelTasks(group.id, "workflow deleted");
    else if (group.isAside === true) plan.cancelTasks(group.id, "workflow put aside");
    else if (group.endsTasks) plan.cancelTasks(group.id, "workflow terminated");
    for (const effect of group.effects) plan.addEffect(group.id, effect);
    plan.addAnswers(group, answerTtlMs);
  }
  plan.addReceipts(groups, known);
  return plan.finish(items);
}

class Plan {
  readonly #shard: PlanShard;
  readonly #now: number;
  readonly #commit: ShardCommit;
  readonly #rows = new Map<string, OutboxRow>();
  readonly #drops = new Set<string>();
  readonly #timersClear = new Set<string>();
  readonly #samples: BatchPlan["samples"] = [];
  readonly #mark: string;

  constructor(shard: PlanShard, now: number, mark: string) {
    this.#shard = shard;
    this.#now = now;
    this.#mark = mark;
    this.#commit = {
      shard: shard.lease.shard,
      epoch: shard.lease.epoch,
      actors: [],
      outboxPut: {},
      outboxDrop: [],
      timersSet: {},
      timersClear: [],
      answers: [],
    };
  }

  addGroup(group: Group): void {
    for (const change of group.changes) this.#commit.actors.push(change);
    for (const [item, outcome] of group.outcomes) {
      if ("error" in outcome) continue;
      if (item.timer !== undefined) this.#timersClear.add(item.timer);
      if (!isJsonObject(item.body) || item.body["type"] !== "task-ended") continue;
      const row = taskRowId(String(item.body["task"]));
      if (this.#shard.rows.has(row)) this.#drops.add(row);
    }
  }

  /** Ends what an actor has under way. */
  cancelTasks(actor: ActorId, reason: string): void {
    for (const id of this.#shard.rows.of(actor)) {
      if (!id.startsWith("task/")) continue;
      this.#drops.add(id);
      const task = id.slice("task/".length);
      this.#addRow(actor, {
        type: "cancel-task",
        id: `removed/${task}`,
        task,
        reason,
      });
    }
  }

  addEffect(actor: ActorId, effect: HostEffect): void {
    switch (effect.type) {
      case "set-timer": {
        const id = timerRowId(actor, effect.id);
        this.#timersClear.delete(id);
        this.#commit.timersSet[id] = effect.at;
        return;
      }
      case "clear-timer": {
        const id = timerRowId(actor, effect.id);
        delete this.#commit.timersSet[id];
        this.#timersClear.add(id);
        return;
      }
      case "observe-metric":
        this.#samples.push({ actor, sample: effect.sample });
        return;
      case "cancel-task": {
        const row = taskRowId(effect.task);
        if (this.#rows.delete(row)) return;
        if (this.#shard.rows.has(row)) this.#drops.add(row);
        this.#addRow(actor, effect);
        return;
      }
      case "clean-tasks":
        this.#addRow(actor, effect, this.#now + effect.delayMs);
        return;
      default:
        this.#addRow(actor, effect);
    }
  }

  addAnswers(group: Group, ttlMs: number): void {
    const { id, changes, entry: { version } } = group;
    const versioned = changes.length > 0 ? { actor: id } : version === undefined ? {} : { version };
    for (const [item, outcome] of group.outcomes) {
      if (!item.idempotency || "error" in outcome || !outcome.answer) continue;
      const wire = encodeResult({ ok: true, answer: outcome.answer(undefined) });
      const { key, fingerprint, ttlMs: ownTtlMs } = item.idempotency;
      this.#commit.answers.push({
        key,
        fingerprint,
        answer: isJsonObject(wire) ? wire["answer"] ?? null : null,
        expiresAt: this.#now + (ownTtlMs ?? ttlMs),
        ...versioned,
      });
    }
  }

  /** Notes what became of commands that somebody elsewhere waits for, in case the answer gets lost on its way. */
  addReceipts(groups: Group[], known: ReadonlyMap<QueueItem, Result | QueueItem> = new Map()) {
    const outcomes = new Map<QueueItem, object & { error?: unknown }>();
    for (const group of groups) {
      for (const [item, outcome] of group.outcomes) outcomes.set(item, outcome);
    }
    for (const [item, found] of known) {
      if (!("ok" in found)) outcomes.set(item, outcomes.get(found) ?? {});
      else outcomes.set(item, found.ok ? {} : { error: found.error });
    }
    for (const [item, outcome] of outcomes) {
      if (!item.replyTo) continue;
      this.#commit.answers.push({
        key: receiptKey(item.replyTo.request),
        fingerprint: "",
        answer: "error" in outcome ? encodeResult({ ok: false, error: outcome.error }) : null,
        expiresAt: this.#now + RECEIPT_TTL_MS,
      });
    }
  }

  finish(items: QueueItem[]): BatchPlan {
    const commit = this.#commit;
    const rows = [...this.#rows.values()];
    for (const row of rows) {
      commit.outboxPut[row.id] = encodeRow(row);
      this.#drops.delete(row.id);
    }
    commit.outboxDrop.push(...this.#drops);
    commit.timersClear.push(...this.#timersClear);
    for (const item of items) if (item.cursor !== undefined) commit.cursor = item.cursor;
    const isNeeded = commit.actors.length > 0 || rows.length > 0 || this.#drops.size > 0 ||
      commit.cursor !== undefined || commit.answers.length > 0 || commit.timersClear.length > 0 ||
      Object.keys(commit.timersSet).length > 0;
    commit.outboxPut[COMMIT_MARK] = this.#mark;
    return { commit, rows, samples: this.#samples, isNeeded };
  }

  #addRow(actor: ActorId, effect: KeptEffect, notBefore?: number): void {
    const seq = this.#shard.nextSeq();
    const row: OutboxRow = { id: rowIdOf(actor, effect, seq), actor, seq, effect };
    if (effect.type === "start-task") {
      row.replica = this.#shard.replica;
      const place = this.#shard.placeOf(effect.task);
      if (place !== undefined) row.place = place;
    }
    if (notBefore !== undefined && notBefore > this.#now) row.notBefore = notBefore;
    this.#rows.set(row.id, row);
  }
}
