/**
 * Turns what a batch changed into one commit: actors, outbox rows, timers, answers, cursor. Pure bookkeeping over ids;
 * nothing is done here.
 */
import { isJsonObject } from "../../base/json.ts";
import { newTable } from "../../base/table.ts";
import type { MetricSample, TaskSpec } from "../../engine/effect.ts";
import { ManifestsChanged } from "../../store/manifest_port.ts";
import type { ActorChange, ActorId, Lease, ShardCommit } from "../../store/port.ts";
import type { Notice } from "../../engine/notice.ts";
import type { HostEffect } from "../hot_actor.ts";
import type { PostWebhooks } from "../webhooks/delivery.ts";
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

/** Most characters that several commands may write together: a commit stands in memory several times, as one piece. */
const MAX_COMMIT = 8 * 1024 * 1024;

/** The batch would make too large a commit: it must be cut. */
export class LargeCommit extends Error {}

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
  /** What tells subscribers of a change. Undefined: nobody is told. */
  postOf(notice: Notice): PostWebhooks | undefined;
}

/**
 * @param commands all commands of the batch
 * @param known results of those that went to no actor. Undefined: no command has an idempotency key
 * @param now epoch ms
 * @throws {ManifestsChanged} when commands have read different versions of the manifests
 * @throws {LargeCommit} several commands have changed too much together
 */
export function planBatch(
  shard: PlanShard,
  batches: ActorBatch[],
  commands: QueuedCommand[],
  known: KnownResults | undefined,
  now: number,
): BatchPlan {
  const [only] = batches;
  const actors = only !== undefined && batches.length === 1
    ? only.changes
    : batches.flatMap(({ changes }) => changes);
  const plan = new Plan(shard, actors, now);
  for (const batch of batches) {
    plan.dropDone(batch);
    if (batch.isRemoved) plan.cancelTasks(batch.id, "workflow deleted");
    else if (batch.isAside === true) plan.cancelTasks(batch.id, "workflow put aside");
    else if (batch.endsTasks) plan.cancelTasks(batch.id, "workflow terminated");
    for (const effect of batch.effects) plan.addEffect(batch.id, effect);
    if (known !== undefined) plan.addAnswers(batch);
  }
  if (commands.some(({ replyTo }) => replyTo !== undefined)) plan.addReceipts(batches, known);
  plan.finish(commands);
  return plan;
}

/** Stands for the timers of a commit that sets none, as most do. */
const NO_TIMERS: Record<string, number> = Object.freeze(newTable<number>());

class Plan implements BatchPlan {
  readonly commit: ShardCommit;
  rows: OutboxRow[] = [];
  readonly samples: BatchPlan["samples"] = [];
  isNeeded = false;
  readonly #shard: PlanShard;
  readonly #now: number;
  /** Each is made when something comes into it. */
  #rows: Map<string, OutboxRow> | undefined;
  #drops: Set<string> | undefined;
  #timersClear: Set<string> | undefined;

  constructor(shard: PlanShard, actors: ActorChange[], now: number) {
    this.#shard = shard;
    this.#now = now;
    this.commit = {
      shard: shard.lease.shard,
      epoch: shard.lease.epoch,
      actors,
      outboxPut: newTable(),
      outboxDrop: [],
      timersSet: NO_TIMERS,
      timersClear: [],
      answers: [],
    };
  }

  /** Drops the timers that came up and the rows of the tasks that ended. */
  dropDone({ commands, outcomes }: ActorBatch): void {
    let at = 0;
    for (const { body, timer } of commands) {
      const outcome = outcomes[at++];
      if (outcome === undefined || "error" in outcome) continue;
      if (timer !== undefined) this.#clear(timer);
      if (!isJsonObject(body) || body["type"] !== "task-ended") continue;
      this.#drop(taskRowId(String(body["task"])));
    }
  }

  /** Cancels all tasks of an actor. */
  cancelTasks(actor: ActorId, reason: string): void {
    for (const id of this.#shard.rows.of(actor)) {
      const task = taskOfRow(id);
      if (task === undefined) continue;
      this.#drop(id);
      this.#addRow(actor, { type: "cancel-task", id: `removed/${task}`, task, reason });
    }
  }

  addEffect(actor: ActorId, effect: HostEffect): void {
    switch (effect.type) {
      case "set-timer": {
        const id = timerRowId(actor, effect.id);
        this.#timersClear?.delete(id);
        if (this.commit.timersSet === NO_TIMERS) this.commit.timersSet = newTable();
        this.commit.timersSet[id] = effect.at;
        return;
      }
      case "clear-timer": {
        const id = timerRowId(actor, effect.id);
        if (this.commit.timersSet !== NO_TIMERS) delete this.commit.timersSet[id];
        this.#clear(id);
        return;
      }
      case "observe-metric":
        this.samples.push({ actor, sample: effect.sample });
        return;
      case "notice": {
        const post = this.#shard.postOf(effect.notice);
        if (post !== undefined) this.#addRow(actor, post);
        return;
      }
      case "cancel-task": {
        const row = taskRowId(effect.task);
        if (this.#rows?.delete(row) === true) return;
        this.#drop(row);
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
    for (const answer of answersToKeep(batch, this.#now)) this.commit.answers.push(answer);
  }

  /** Notes what became of commands whose senders wait elsewhere, because an answer may get lost on its way. */
  addReceipts(batches: ActorBatch[], known: KnownResults = new Map()): void {
    const outcomes = new Map<QueuedCommand, object & { error?: unknown }>();
    for (const batch of batches) {
      batch.outcomes.forEach((outcome, at) => {
        const command = batch.commands[at];
        if (command !== undefined) outcomes.set(command, outcome);
      });
    }
    for (const [command, found] of known) {
      if (!("ok" in found)) outcomes.set(command, outcomes.get(found) ?? {});
      else outcomes.set(command, found.ok ? {} : { error: found.error });
    }
    for (const [command, outcome] of outcomes) {
      if (!command.replyTo) continue;
      this.commit.answers.push({
        key: receiptKey(command.replyTo.request),
        fingerprint: "",
        answer: "error" in outcome ? encodeResult({ ok: false, error: outcome.error }) : null,
        expiresAt: this.#now + RECEIPT_TTL_MS,
      });
    }
  }

  finish(commands: QueuedCommand[]): void {
    const { commit } = this;
    let left = commands.length === 1 ? Infinity : MAX_COMMIT;
    for (const { put } of commit.actors) {
      for (const { text } of put) left -= text.length;
    }
    if (this.#rows !== undefined) {
      this.rows = [...this.#rows.values()];
      for (const row of this.rows) {
        if (left < 0) break;
        const text = commit.outboxPut[row.id] = encodeRow(row);
        left -= text.length;
        this.#drops?.delete(row.id);
      }
    }
    if (left < 0) throw new LargeCommit();
    if (this.#drops !== undefined) commit.outboxDrop.push(...this.#drops);
    if (this.#timersClear !== undefined) commit.timersClear.push(...this.#timersClear);
    for (const { cursor, ifManifests } of commands) {
      if (cursor !== undefined) commit.cursor = cursor;
      if (ifManifests === undefined) continue;
      // They can't both be right.
      if ((commit.ifManifests ??= ifManifests) !== ifManifests) throw new ManifestsChanged();
    }
    this.isNeeded = commit.actors.length > 0 || this.rows.length > 0 ||
      commit.outboxDrop.length > 0 || commit.cursor !== undefined || commit.answers.length > 0 ||
      commit.timersClear.length > 0 || Object.keys(commit.timersSet).length > 0;
  }

  /** Drops a row, if the shard has it. */
  #drop(row: string): void {
    if (this.#shard.rows.has(row)) (this.#drops ??= new Set()).add(row);
  }

  #clear(timer: string): void {
    (this.#timersClear ??= new Set()).add(timer);
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
    (this.#rows ??= new Map()).set(row.id, row);
  }
}
