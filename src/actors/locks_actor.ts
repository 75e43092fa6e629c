/**
 * The actor `locks`: keeps the lock table of all workflows and tells holders what became of their requests. Who gets what
 * is decided by the table in the engine; here are only its commands, its storage and its messages.
 */
import type { Json } from "../base/json.ts";
import type { EngineEnv } from "../engine/engine.ts";
import { holderName, type WorkflowHolders } from "../engine/locks/holder.ts";
import {
  acquireLocks,
  emptyLockTable,
  type LockDemand,
  type LockNews,
  type LockTable,
  releaseLocks,
  releaseWorkflow,
  resizeLock,
} from "../engine/locks/locks.ts";
import type { StoredActor } from "../store/port.ts";
import { LOCKS_ACTOR, workflowActorId } from "./actor_ids.ts";
import { unknownCommand } from "./command_body.ts";
import type { ActorKind, HotActor, SendCommand, Taken } from "./hot_actor.ts";

/** What the actor understands. All of it may be repeated. */
export type LocksCommand =
  | ({ type: "acquire" } & LockDemand)
  | { type: "release"; holder: string }
  /** All that a workflow and its nodes have or wait for. */
  | ({ type: "release-all" } & WorkflowHolders)
  /** New sizes of semaphores, by key. */
  | { type: "resize"; limits: Record<string, number> };

const TABLE_PART = "t";

/** The table as it is stored; empty when nobody has asked for a lock yet. Changing it changes nothing else. */
export function lockTableOf(stored: StoredActor | undefined): LockTable {
  const text = stored?.parts[TABLE_PART];
  return text === undefined ? emptyLockTable() : JSON.parse(text) as LockTable;
}

class LocksActor implements HotActor {
  readonly id = LOCKS_ACTOR;
  readonly #table: LockTable;
  #isChanged = false;
  #sends: SendCommand[] = [];

  constructor(stored: StoredActor | undefined) {
    this.#table = lockTableOf(stored);
  }

  exists(): boolean {
    return true;
  }

  receive(body: Json, { now }: Pick<EngineEnv, "now">): undefined {
    const command = body as unknown as LocksCommand;
    switch (command.type) {
      case "acquire":
        return this.#acquire(command, now);
      case "release":
        return this.#tell(releaseLocks(this.#table, command.holder, now));
      case "release-all":
        return this.#tell(releaseWorkflow(this.#table, command, now));
      case "resize":
        for (const [key, limit] of Object.entries(command.limits)) {
          const isWanted = this.#table.waiting.some(({ keys }) =>
            keys.some((one) => one.key === key)
          );
          if (isWanted) this.#tell(resizeLock(this.#table, key, limit, now));
        }
        return;
      default:
        throw unknownCommand(body);
    }
  }

  advance(): void {}

  take(): Taken {
    const put = this.#isChanged ? [{ key: TABLE_PART, text: JSON.stringify(this.#table) }] : [];
    const taken = { put, drop: [], effects: this.#sends, needs: [] };
    this.#isChanged = false;
    this.#sends = [];
    return taken;
  }

  weight(): number {
    return 1 + Math.ceil(this.#table.waiting.length / 10);
  }

  isGrowing(): boolean {
    return false;
  }

  rests(): boolean {
    return false;
  }

  #acquire({ type: _, ...demand }: LockDemand & { type: "acquire" }, now: number): undefined {
    return this.#tell(acquireLocks(this.#table, demand, now));
  }

  #tell(news: LockNews[]): undefined {
    this.#isChanged = true;
    for (const { type, ...rest } of news) {
      this.#send(rest.holder, { type: `locks-${type}`, ...rest });
    }
  }

  #send(holder: string, body: Json): void {
    const [namespace = "", workflow = ""] = holderName(holder).split("/");
    this.#sends.push({ type: "send", id: holder, to: workflowActorId(namespace, workflow), body });
  }
}

export const locksKind: ActorKind = {
  prefix: LOCKS_ACTOR,
  silent: true,
  creates: () => false,
  hydrate: (_id, stored) => new LocksActor(stored),
};
