/**
 * What replicas tell each other. A message may get lost: whoever sends one can do without it, or asks again. Each has a
 * topic; that of an answer is the request that it answers.
 */
import type { Json } from "../../base/json.ts";
import type { Logger } from "../../platform/log.ts";
import type { ShardStore } from "../../store/port.ts";
import type { Reply } from "../shard/answers.ts";
import type { SoughtTask } from "../tasks_elsewhere.ts";

/** Topics that are no requests. Replicas of other versions know them by these texts. */
const Topic = {
  Rebalance: "@rebalance",
  CancelTask: "@cancel",
  RunningTasks: "@running",
  NotRunning: "@not-running",
  Adopt: "@adopt",
  Adopted: "@adopted",
  WhoOwns: "@who-owns",
  Owner: "@owner",
  Describe: "@describe",
  Description: "@description",
} as const;

/** What becomes of a message. */
export interface ReplicaListener {
  /** A command that this replica has sent has its answer. */
  onAnswer(request: string, answer: Json): void;
  /** Who owns what has changed: look at once. */
  onRebalance(): void;
  /** A task was cancelled; this replica may run it. */
  onCancelTask(task: string): void;
  /** Another replica asks which of these tasks are not running here. */
  onRunningTasks(from: string, tasks: string[]): void;
  /** Another replica does not run these tasks. */
  onNotRunning(tasks: string[]): void;
  /** Another replica owns a task that nobody runs; this one goes on with it if it is at its place. */
  onAdopt(from: string, sought: SoughtTask): void;
  /** Another replica goes on with a task. */
  onAdopted(from: string, task: string): void;
  /** Another replica asks whether this one owns a shard. */
  onWhoOwns(asked: AboutOwner): void;
  /** Another replica owns a shard, as it was asked. */
  onOwner(told: AboutOwner): void;
  /** Another replica asks how this one is. */
  onDescribe(from: string, question: number): void;
  /** Another replica says how it is, as it was asked. */
  onDescription(from: string, question: number, facts: Json): void;
}

/** A question about the owner of a shard, or its answer. */
export interface AboutOwner {
  /** Who asks, or who owns the shard. */
  replica: string;
  shard: number;
  /** Number of the question. */
  question: number;
}

interface Described {
  from: string;
  /** Number of the question. */
  question: number;
  facts: Json;
}

export interface ReplicaChannelDeps {
  store: Pick<ShardStore, "reply" | "onReply">;
  log: Logger;
  /** Name of this replica. */
  replica: string;
}

export class ReplicaChannel {
  readonly #deps: ReplicaChannelDeps;

  constructor(deps: ReplicaChannelDeps) {
    this.#deps = deps;
  }

  /** Hears messages until the signal aborts. Resolves as soon as it listens. */
  listen(listener: ReplicaListener, signal: AbortSignal): Promise<void> {
    const { store, replica } = this.#deps;
    return store.onReply(replica, (topic, body) => {
      switch (topic) {
        case Topic.Rebalance:
          return listener.onRebalance();
        case Topic.CancelTask:
          return listener.onCancelTask(String(body));
        case Topic.RunningTasks: {
          const { from, tasks } = body as { from: string; tasks: string[] };
          return listener.onRunningTasks(from, tasks);
        }
        case Topic.NotRunning:
          return listener.onNotRunning(body as string[]);
        case Topic.Adopt: {
          const { from, ...sought } = body as unknown as SoughtTask & { from: string };
          return listener.onAdopt(from, sought);
        }
        case Topic.Adopted: {
          const { from, task } = body as { from: string; task: string };
          return listener.onAdopted(from, task);
        }
        case Topic.WhoOwns:
          return listener.onWhoOwns(body as unknown as AboutOwner);
        case Topic.Owner:
          return listener.onOwner(body as unknown as AboutOwner);
        case Topic.Describe: {
          const { from, question } = body as unknown as Described;
          return listener.onDescribe(from, question);
        }
        case Topic.Description: {
          const { from, question, facts } = body as unknown as Described;
          return listener.onDescription(from, question, facts);
        }
        default:
          return listener.onAnswer(topic, body);
      }
    }, signal);
  }

  /** Tells another replica what became of its commands. One that gets lost has a receipt in the store. */
  answer(replica: string, answers: Reply[]): void {
    const { store, log } = this.#deps;
    store.reply(replica, answers).catch((cause: unknown) => {
      log.warn({ replica, err: cause }, "answers could not be sent");
    });
  }

  /** Tells replicas to look at once who should own what. */
  rebalance(replicas: readonly string[]): void {
    for (const replica of replicas) this.#tell(replica, Topic.Rebalance, null);
  }

  /** Asks replicas to end a task, should they run it. */
  cancelTask(replicas: readonly string[], task: string): void {
    for (const replica of replicas) this.#tell(replica, Topic.CancelTask, task);
  }

  /** Asks a replica which of these tasks it does not run. */
  askAboutTasks(replica: string, tasks: string[]): void {
    this.#tell(replica, Topic.RunningTasks, { from: this.#deps.replica, tasks });
  }

  /** Answers that question. */
  tellNotRunning(replica: string, tasks: string[]): void {
    this.#tell(replica, Topic.NotRunning, tasks);
  }

  /** Asks a replica to go on with a task if it is at its place. */
  askToAdopt(replica: string, sought: SoughtTask): void {
    this.#tell(replica, Topic.Adopt, { from: this.#deps.replica, ...sought } as unknown as Json);
  }

  /** Answers that question. */
  tellAdopted(replica: string, task: string): void {
    this.#tell(replica, Topic.Adopted, { from: this.#deps.replica, task });
  }

  /** Asks a replica whether it owns a shard. */
  askOwner(replica: string, shard: number, question: number): void {
    this.#tell(replica, Topic.WhoOwns, { replica: this.#deps.replica, shard, question });
  }

  /** Answers that question. */
  tellOwner(replica: string, shard: number, question: number): void {
    this.#tell(replica, Topic.Owner, { replica: this.#deps.replica, shard, question });
  }

  /** Asks a replica how it is. */
  askHow(replica: string, question: number): void {
    this.#tell(replica, Topic.Describe, { from: this.#deps.replica, question });
  }

  /** Answers that question. */
  tellHow(replica: string, question: number, facts: Json): void {
    this.#tell(replica, Topic.Description, { from: this.#deps.replica, question, facts });
  }

  #tell(replica: string, topic: string, body: Json): void {
    const { store, log } = this.#deps;
    store.reply(replica, [{ request: topic, answer: body }]).catch((cause: unknown) => {
      log.debug({ replica, topic, err: cause }, "message lost");
    });
  }
}
