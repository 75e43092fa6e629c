/**
 * Brings commands to actors, wherever they live: straight into the queue of a shard that this replica owns, else through the
 * shard's mailbox.
 */
import type { Json } from "../base/json.ts";
import { isProblem, Problem, ProblemCode } from "../base/problem.ts";
import type { Clock } from "../platform/clock.ts";
import { Deadlines } from "../platform/deadlines.ts";
import type { Ids } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import { Turns } from "../platform/turns.ts";
import { ManifestsChanged } from "../store/manifest_port.ts";
import type { ActorId } from "../store/port.ts";
import { typeOf } from "./command_body.ts";
import type { OwnedShards } from "./owned_shards.ts";
import type { ExecuteOptions } from "./port.ts";
import type { RemoteCalls } from "./remote_calls.ts";
import { Moved, type Result } from "./result.ts";
import type { QueuedCommand } from "./shard/actor_batch.ts";

/** How long the sender of a command waits for the answer, ms. After that it may still be applied. */
const TIMEOUT_MS = 30_000;
/** Waits before a fact is delivered again, ms: after the first failure, the second, and so on. */
const RETRY_MS = [100, 200, 400, 800, 1_600, 3_200, 5_000] as const;

export interface DeliveryDeps {
  clock: Clock;
  ids: Ids;
  log: Logger;
  /** Name of this replica. */
  replica: string;
  shards: OwnedShards;
  calls: RemoteCalls;
}

export class Delivery {
  readonly #deps: DeliveryDeps;
  readonly #deadlines: Deadlines;
  /**
   * One for each wait: while the store is away, tens of thousands of facts may wait, and a timer and a listener for each would
   * take longer than their delivery.
   */
  readonly #pauses: readonly Deadlines[];
  readonly #turns = new Turns("facts");
  #isStopped = false;
  #requests = 0;

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
    this.#pauses = RETRY_MS.map((ms) => new Deadlines(deps.clock, ms));
    this.#deadlines = new Deadlines(deps.clock, TIMEOUT_MS);
  }

  /** Sends a command. @param done hears the result, once */
  call(actor: ActorId, body: Json, options: ExecuteOptions, done: (result: Result) => void): void {
    const { clock, shards, calls, replica } = this.#deps;
    const { idempotency, manifests, ifManifests } = options;
    const shard = shards.shardOf(actor);
    const arrivedAt = clock.monotonic();
    let isOver = false;
    let forget: (() => void) | undefined;
    const finish = (result: Result) => {
      if (isOver) return;
      isOver = true;
      cancel();
      done(result);
    };
    const cancel = this.#deadlines.add(() => {
      forget?.();
      const text = "No answer in time; the request may still be done";
      finish({ ok: false, error: new Problem(ProblemCode.DeadlineExceeded, text) });
    }, arrivedAt);
    const send = () => {
      if (ifManifests !== undefined) return finish({ ok: false, error: new ManifestsChanged() });
      const id = `${replica}/${++this.#requests}`;
      const command = { id, actor, body, ...(idempotency && { idempotency }) };
      ({ forget } = calls.call(shard, command, finish));
    };
    const settle = (result: Result) => {
      if (!result.ok && result.error instanceof Moved) send();
      else finish(result);
    };
    const command: QueuedCommand = { actor, body, settle, arrivedAt };
    if (idempotency) command.idempotency = idempotency;
    if (manifests) command.manifests = manifests;
    if (ifManifests !== undefined) command.ifManifests = ifManifests;
    if (!shards.enqueue(shard, command)) send();
  }

  /**
   * Brings a command to an actor and resolves when it is durable: applied where the actor is ours, else in the mailbox of
   * its shard. A command that the actor refuses is delivered.
   *
   * @throws {Problem} Unavailable: try again
   */
  async deliver(id: string, actor: ActorId, body: Json): Promise<void> {
    const result = await new Promise<Result>((settle) => this.#offer(actor, body, settle));
    if (!result.ok) await this.#deliverAgain(id, actor, body, result.error);
  }

  /** Puts a command into the queue of its shard, if that is ours. */
  #offer(actor: ActorId, body: Json, settle: (result: Result) => void): void {
    const { clock, shards } = this.#deps;
    const command = { actor, body, settle, arrivedAt: clock.monotonic() };
    if (!shards.enqueue(shards.shardOf(actor), command)) settle({ ok: false, error: new Moved() });
  }

  /** What follows when a command was not applied. @throws {Problem} Unavailable: try again */
  async #deliverAgain(id: string, actor: ActorId, body: Json, error: unknown): Promise<void> {
    const { log, shards, calls } = this.#deps;
    if (error instanceof Moved) return await calls.post(shards.shardOf(actor), { id, actor, body });
    if (isProblem(error, ProblemCode.Unavailable)) throw error;
    log.warn({ actor, command: typeOf(body), err: error }, "command refused");
  }

  /**
   * Brings a fact to an actor, however long it takes.
   * @param delivered called when it is durable there, or after `stop`
   */
  post(actor: ActorId, body: Json, delivered: () => void): void {
    if (this.#isStopped) return delivered();
    this.#offer(actor, body, (result) => {
      if (result.ok) delivered();
      else void this.#postAgain(actor, body, result.error).then(delivered);
    });
  }

  async #postAgain(actor: ActorId, body: Json, error: unknown): Promise<void> {
    const { ids, log } = this.#deps;
    const id = ids.uuid();
    for (let attempt = 0; !this.#isStopped; attempt++) {
      try {
        return await (attempt === 0
          ? this.#deliverAgain(id, actor, body, error)
          : this.deliver(id, actor, body));
      } catch (cause) {
        if (attempt % 10 === 0) {
          log.warn({ actor, fact: typeOf(body), err: cause }, "not delivered");
        }
        const pause = this.#pauses[attempt] ?? this.#pauses.at(-1);
        await new Promise<void>((over) => void pause?.add(over));
        await this.#turns.pause();
      }
    }
  }

  /** Tries no more. */
  stop(): void {
    this.#isStopped = true;
    for (const pause of this.#pauses) pause.expire();
  }
}
