/**
 * Does what committed batches want done outside; the only place that turns effects into calls. Everything here may run
 * again after a crash, on any replica: ids are stable and every receiver takes a repeat as the first call. What concerns
 * the same lock holder is done in the order of the rows.
 */
import { isJsonObject, type Json } from "../base/json.ts";
import { unreachable } from "../base/unreachable.ts";
import type { UnwantedArtifacts } from "../engine/effect.ts";
import { type Clock, MAX_TIMER_MS } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { ActorId, Store } from "../store/port.ts";
import { LOCKS_ACTOR } from "./actor_ids.ts";
import type { HostEffect } from "./hot_actor.ts";
import { saveMemo } from "./memo.ts";
import type { OutboxRow } from "./shard/outbox.ts";
import { sweepRemains } from "./remains.ts";
import type { Tasks } from "./tasks.ts";
import { lostTaskMessage, type SoughtTask, TasksElsewhere } from "./tasks_elsewhere.ts";
import type { PostWebhook, PostWebhooks } from "./webhooks/delivery.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

/** Longest delay before the effects of a shard that was taken over are done again, ms. */
const TAKEOVER_JITTER_MS = 200;

/** What effects need of the shard that made them. */
export interface EffectShard {
  readonly shard: number;
  readonly rows: { has(id: string): boolean };
  /** False when the shard was lost: its rows are another replica's business. */
  readonly isHeld: boolean;
  rowDone(id: string): void;
  /** Notes that this replica runs the task of a row from now on. */
  claim(row: OutboxRow): void;
  /** Stores a row anew with a later commit. */
  rewrite(id: string, make: () => OutboxRow): void;
}

export interface EffectDeps {
  /** Name of this replica. */
  replica: string;
  /** Live replicas, as far as is known. */
  replicas(): readonly string[];
  leaseTtlMs: number;
  tasks: Tasks;
  store: Store;
  clock: Clock;
  ids: Ids;
  log: Logger;
  labelPrefix: string;
  /** Asks a replica which of these tasks it does not run; its answer comes to `notRunning`. */
  askAbout(replica: string, tasks: string[]): void;
  /** Asks a replica to go on with a task if it is at its place; its answer comes to `adopted`. */
  seek(replica: string, sought: SoughtTask): void;
  /** Asks the other replicas to end a task. */
  cancelElsewhere(task: string): void;
  /** Brings a command to an actor; resolves when it is durable there. */
  deliver(id: string, actor: ActorId, body: Json): Promise<void>;
  /** Brings changes to those who subscribe to them. Absent: nobody does. */
  webhooks?: Pick<Webhooks, "isAny" | "postOf" | "take">;
  /** Removes artifacts that nobody needs any more. */
  collectArtifacts?(actor: ActorId, unwanted: UnwantedArtifacts): Promise<void>;
  /** Removes a workflow from the archive. */
  forgetArchived?(uid: string): Promise<void>;
  /** Called before a workflow whose time is over is deleted. */
  beforeDeletion?(actor: ActorId, uid: string): Promise<void>;
}

export class Effects {
  readonly #deps: EffectDeps;
  readonly #elsewhere: TasksElsewhere;
  /** The last effect under way of each row of effects that need their order. */
  readonly #chains = new Map<string, Promise<void>>();

  constructor(deps: EffectDeps) {
    this.#deps = deps;
    this.#elsewhere = new TasksElsewhere(deps, (shard, row) => this.#takeOver(shard, row));
  }

  /** Does rows that were just committed. */
  perform(shard: EffectShard, rows: OutboxRow[]): void {
    for (const row of rows) this.#begin(shard, row);
  }

  /** Does the rows that the last owner of a shard left, after a short random wait. */
  recover(shard: EffectShard, rows: OutboxRow[]): void {
    const { clock, ids } = this.#deps;
    // At once, before any commit adds others that must come after them.
    for (const row of rows.filter(isPost)) this.#begin(shard, row);
    clock.after(ids.fraction() * TAKEOVER_JITTER_MS, () => {
      for (const row of rows) {
        if (!isPost(row) && !this.#elsewhere.take(shard, row)) this.#takeOver(shard, row);
      }
      this.#elsewhere.look();
    });
  }

  /** A replica says that it does not run these tasks. */
  notRunning(tasks: string[]): void {
    this.#elsewhere.notRunning(tasks);
  }

  /** A replica says that it goes on with a task. */
  adopted(replica: string, task: string): void {
    this.#elsewhere.adopted(replica, task);
  }

  /** Looks after the tasks of replicas that are gone. */
  replicasChanged(): void {
    this.#elsewhere.look();
  }

  #takeOver(shard: EffectShard, row: OutboxRow): void {
    const { effect, replica } = row;
    const isClaimed = effect.type === "start-task" && replica !== this.#deps.replica;
    if (isClaimed && !this.#isOutOfReach(row)) {
      const { place: _, ...rest } = row;
      const place = this.#deps.tasks.placeOf(effect.task);
      shard.claim(place === undefined ? rest : { ...rest, place });
    }
    this.#begin(shard, row);
  }

  /** True for a task that may still run where no server is any more. */
  #isOutOfReach({ effect, place }: OutboxRow): boolean {
    return effect.type === "start-task" && place !== undefined &&
      place !== this.#deps.tasks.placeOf(effect.task);
  }

  #begin(shard: EffectShard, row: OutboxRow): void {
    if (isPost(row)) {
      const { deliver, webhooks } = this.#deps;
      webhooks?.take({
        effect: row.effect,
        isHeld: () => shard.isHeld && shard.rows.has(row.id),
        done: () => shard.rowDone(row.id),
        rewrite: (make) => shard.rewrite(row.id, () => ({ ...row, effect: make() })),
        deliver,
      });
      return;
    }
    const wait = row.notBefore === undefined ? 0 : row.notBefore - this.#deps.clock.now();
    if (wait > 0) {
      this.#deps.clock.after(Math.min(wait, MAX_TIMER_MS), () => this.#begin(shard, row));
      return;
    }
    const key = chainOf(row);
    if (key === undefined) {
      void this.#finish(shard, row);
      return;
    }
    const before = this.#chains.get(key) ?? Promise.resolve();
    const after = before.then(() => this.#finish(shard, row)).then(() => {
      if (this.#chains.get(key) === after) this.#chains.delete(key);
    });
    this.#chains.set(key, after);
  }

  /** Does a row until it succeeds or the shard is lost. */
  async #finish(shard: EffectShard, row: OutboxRow): Promise<void> {
    const { clock, ids, log } = this.#deps;
    for (let attempt = 0; shard.isHeld && shard.rows.has(row.id); attempt++) {
      try {
        const doing = this.#do(shard, row);
        if (doing !== undefined) await doing;
        if (row.effect.type !== "start-task") shard.rowDone(row.id);
        return;
      } catch (cause) {
        if (attempt % 10 === 0) {
          log.warn({ actor: row.actor, effect: row.effect.type, err: cause }, "effect failed");
        }
        await clock.sleep(Math.min(30_000, 100 * 2 ** attempt) * (0.5 + ids.fraction()));
      }
    }
  }

  #do(shard: EffectShard, row: OutboxRow): Promise<void> | void {
    const { tasks, deliver } = this.#deps;
    const { actor, effect } = row;
    switch (effect.type) {
      case "start-task":
        if (this.#isOutOfReach(row)) {
          return tasks.giveUp(actor, effect.task, lostTaskMessage(row));
        }
        return tasks.start(actor, effect.task, () => shard.isHeld && shard.rows.has(row.id));
      case "cancel-task":
        if (!tasks.has(effect.task)) this.#deps.cancelElsewhere(effect.task);
        return tasks.cancel(effect.task);
      case "clean-tasks":
        return tasks.clean(effect.tasks);
      case "remove-claims":
        return tasks.removeClaims(effect);
      case "acquire-locks": {
        const { holder, keys, priority, createdAt } = effect;
        const body = { type: "acquire", holder, keys, priority, createdAt };
        return deliver(row.id, LOCKS_ACTOR, body as unknown as Json);
      }
      case "release-locks":
        return deliver(row.id, LOCKS_ACTOR, { type: "release", holder: effect.holder });
      case "release-all-locks": {
        const { namespace, workflow, uid } = effect;
        return deliver(row.id, LOCKS_ACTOR, { type: "release-all", namespace, workflow, uid });
      }
      case "sweep-remains":
        return sweepRemains(shard.shard, effect, {
          shards: this.#deps.store.shards,
          clean: (ids) => tasks.clean(ids),
          collect: (unwanted) => this.#collect(actor, unwanted),
        });
      case "forget-archived":
        return this.#deps.forgetArchived?.(effect.uid);
      case "drop-remains":
        return this.#deps.store.shards.dropRemains(shard.shard, effect.remains);
      case "send":
        return this.#send(row.id, actor, effect);
      case "save-memo":
        return saveMemo(this.#deps.store.manifests, effect, this.#deps.labelPrefix);
      case "collect-artifacts":
        return this.#collect(actor, effect);
      case "post-webhook":
      case "post-webhooks":
        // Not done here: whoever delivers it says when it is done.
        return;
      default:
        return unreachable(effect);
    }
  }

  #send(
    id: string,
    actor: ActorId,
    { to, body }: Extract<HostEffect, { type: "send" }>,
  ): Promise<void> {
    const { deliver, beforeDeletion } = this.#deps;
    const isOwnEnd = to === actor && isJsonObject(body) && body["type"] === "delete";
    const uid = isOwnEnd ? body["uid"] : undefined;
    if (beforeDeletion === undefined || typeof uid !== "string") return deliver(id, to, body);
    return beforeDeletion(actor, uid).then(() => deliver(id, to, body));
  }

  async #collect(actor: ActorId, unwanted: UnwantedArtifacts): Promise<void> {
    const { collectArtifacts, log } = this.#deps;
    if (collectArtifacts) return await collectArtifacts(actor, unwanted);
    log.warn({ actor, count: unwanted.artifacts.length }, "no artifact store; artifacts stay");
  }
}

function isPost(row: OutboxRow): row is OutboxRow & { effect: PostWebhook | PostWebhooks } {
  return row.effect.type === "post-webhook" || row.effect.type === "post-webhooks";
}

/** What must be done one after the other: everything about one lock holder. Undefined for what needs no order. */
function chainOf({ actor, effect }: OutboxRow): string | undefined {
  switch (effect.type) {
    case "acquire-locks":
    case "release-locks":
      return `locks/${effect.holder}`;
    case "send":
      return `send/${actor}/${effect.to}/${effect.id}`;
    default:
      return undefined;
  }
}
