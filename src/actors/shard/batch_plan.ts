/**
 * Turns what a batch changed into one commit: actors, outbox rows, timers, answers, cursor. Pure bookkeeping over ids;
 * nothing is done here.
 */
import { isJsonObject } from "../../base/json.ts";
import { newTable } from "../../base/table.ts";
import type { MetricSample, TaskSpec } from "../../engine/effect.ts";
import type { ActorId, Lease, ShardCommit } from "../../store/port.ts";
import type { HostEffect } from "../hot_actor.ts";
import { encodeResult, receiptKey } from "../result.ts";
import { timerRowId } from "../timers.ts";
import type { ActorBatch, KnownResults, QueuedCommand } from "./actor_batch.ts";
import { answersToKeep } from "./idempotency.ts";
import {
  encodeRow,
  type KeptEffect,
  type OutboxIndex,
  type OutboxRow,
  rowIdOf,
  taskOfRow,
  taskRowId,
} from "./outbox.ts";

/** How long a receipt is kept, ms: longer than anybody waits for an answer. */
const RECEIPT_TTL_MS = 60_000;

export interface BatchPlan {
  commit: ShardCommit;
  /** New effects, in order, to be done after the commit. */
  rows: OutboxRow[];
  /** Values that workflows measured: told once when the commit is in, and never again. */
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

/**
 * @param commands all commands of the batch
 * @param known results of those that went to no actor
 * @param now epoch ms
 */
export function planBatch(
  shard: PlanShard,
  batches: ActorBatch[],
  commands: QueuedCommand[],
  known: KnownResults | undefined,
  now: number,
): BatchPlan {
  const plan = new Plan(shard, now);
  for (const batch of batches) {
    plan.addChanges(batch);
    if (batch.isRemoved) plan.cancelTasks(batch.id, "workflow deleted");
    else if (batch.isAside === true) plan.cancelTasks(batch.id, "workflow put aside");
    else if (batch.endsTasks) plan.cancelTasks(batch.id, "workflow terminated");
    for (const effect of batch.effects) plan.addEffect(batch.id, effect);
    plan.addAnswers(batch);
  }
  if (commands.some(({ replyTo }) => replyTo !== undefined)) plan.addReceipts(batches, known);
  return plan.finish(commands);
}

class Plan {
  readonly #shard: PlanShard;
  readonly #now: number;
  readonly #commit: ShardCommit;
  readonly #rows = new Map<string, OutboxRow>();
  readonly #drops = new Set<string>();
  readonly #timersClear = new Set<string>();
  readonly #samples: BatchPlan["samples"] = [];

  constructor(shard: PlanShard, now: number) {
    this.#shard = shard;
    this.#now = now;
    this.#commit = {
      shard: shard.lease.shard,
      epoch: shard.lease.epoch,
      actors: [],
      outboxPut: newTable(),
      outboxDrop: [],
      timersSet: newTable(),
      timersClear: [],
      answers: [],
    };
  }

  addChanges(batch: ActorBatch): void {
    for (const change of batch.changes) this.#commit.actors.push(change);
    for (const [command, outcome] of batch.outcomes) {
      if ("error" in outcome) continue;
      if (command.timer !== undefined) this.#timersClear.add(command.timer);
      if (!isJsonObject(command.body) || command.body["type"] !== "task-ended") continue;
      const row = taskRowId(String(command.body["task"]));
      if (this.#shard.rows.has(row)) this.#drops.add(row);
    }
  }

  /** Cancels all tasks of an actor. */
  cancelTasks(actor: ActorId, reason: string): void {
    for (const id of this.#shard.rows.of(actor)) {
      const task = taskOfRow(id);
      if (task === undefined) continue;
      this.#drops.add(id);
      this.#addRow(actor, { type: "cancel-task", id: `removed/${task}`, task, reason });
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
      case "forget-archived":
        this.#addRow(actor, effect, this.#now + effect.delayMs);
        return;
      default:
        this.#addRow(actor, effect);
    }
  }

  addAnswers(batch: ActorBatch): void {
    for (const answer of answersToKeep(batch, this.#now)) this.#commit.answers.push(answer);
  }

  /** Notes what became of commands whose senders wait elsewhere, because an answer may get lost on its way. */
  addReceipts(batches: ActorBatch[], known: KnownResults = new Map()): void {
    const outcomes = new Map<QueuedCommand, object & { error?: unknown }>();
    for (const batch of batches) {
      for (const [command, outcome] of batch.outcomes) outcomes.set(command, outcome);
    }
    for (const [command, found] of known) {
      if (!("ok" in found)) outcomes.set(command, outcomes.get(found) ?? {});
      else outcomes.set(command, found.ok ? {} : { error: found.error });
    }
    for (const [command, outcome] of outcomes) {
      if (!command.replyTo) continue;
      this.#commit.answers.push({
        key: receiptKey(command.replyTo.request),
        fingerprint: "",
        answer: "error" in outcome ? encodeResult({ ok: false, error: outcome.error }) : null,
        expiresAt: this.#now + RECEIPT_TTL_MS,
      });
    }
  }

  finish(commands: QueuedCommand[]): BatchPlan {
    const commit = this.#commit;
    const rows = [...this.#rows.values()];
    for (const row of rows) {
      commit.outboxPut[row.id] = encodeRow(row);
      this.#drops.delete(row.id);
    }
    commit.outboxDrop.push(...this.#drops);
    commit.timersClear.push(...this.#timersClear);
    for (const { cursor } of commands) if (cursor !== undefined) commit.cursor = cursor;
    const isNeeded = commit.actors.length > 0 || rows.length > 0 || this.#drops.size > 0 ||
      commit.cursor !== undefined || commit.answers.length > 0 || commit.timersClear.length > 0 ||
      Object.keys(commit.timersSet).length > 0;
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
