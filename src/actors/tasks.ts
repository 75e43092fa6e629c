/**
 * Tasks of the shards this replica owns: starts and cancels them through the executors, a bounded number of starts at a
 * time, and turns what they report into facts for their workflow. A report goes to the workflow wherever it lives by
 * then, so a task may outlive the ownership of its shard.
 */
import { withoutCallbackTokens } from "../base/callback_tokens.ts";
import { errorText } from "../base/error_text.ts";
import type { Json } from "../base/json.ts";
import type { Fact, TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import { isFact } from "../engine/stored/fact_form.ts";
import type { Executor, WorkflowClaims } from "../executors/port.ts";
import type { Clock } from "../platform/clock.ts";
import { Deadlines } from "../platform/deadlines.ts";
import { FairLimiter } from "../platform/fair_limiter.ts";
import type { Logger } from "../platform/log.ts";
import type { ActorId } from "../store/port.ts";

/** Time between the gentle and the hard end of a cancelled task, the Kubernetes default. */
const GRACE_MS = 30_000;
/** How long an ended task is known after its outcome is durable, so that its new owner has applied it. */
const REMEMBER_MS = 10_000;

/** What a task came to whose executor reports something that is no outcome. */
const NO_OUTCOME: TaskOutcome = {
  phase: "Error",
  message:
    "the step has ended, but its executor reports no valid outcome; the server's log shows the report",
};

export interface TaskDeps {
  /** In order of preference. */
  executors: readonly Executor[];
  /** Starts under way at once; see `FairLimiter` for the share of one namespace. */
  maxStarts: number;
  /** Brings a fact to an actor, for certain; calls `delivered` when it is durable there. */
  post(actor: ActorId, body: Json, delivered: () => void): void;
  clock: Clock;
  log: Logger;
  /** Absent: marks of callbacks stay marks. */
  callbacks?: TaskCallbacks | undefined;
}

/** Puts the URLs of callbacks into tasks, and out of what tasks report. */
interface TaskCallbacks {
  /** The task as its executor gets it. */
  fill(task: TaskSpec): Promise<TaskSpec>;
}

interface Running {
  executor: Executor;
  started: Promise<void> | void;
}

export class Tasks {
  readonly #deps: TaskDeps;
  readonly #starts: FairLimiter;
  /** Tasks that wait for their start, run, or ended a moment ago. */
  readonly #known = new Set<string>();
  /** Tasks that were handed to an executor and have not ended, with the start itself. */
  readonly #running = new Map<string, Running>();
  /** One timer for all that ended. */
  readonly #remembered: Deadlines;

  constructor(deps: TaskDeps) {
    this.#deps = deps;
    this.#remembered = new Deadlines(deps.clock, REMEMBER_MS);
    this.#starts = new FairLimiter(deps.maxStarts);
  }

  get size(): number {
    return this.#running.size;
  }

  /**
   * Starts a task, or adopts it where it runs already; resolves when the start is on its way, or returns when there is nothing
   * to wait for. `isWanted` is asked when its turn comes.
   */
  start(actor: ActorId, task: TaskSpec, isWanted: () => boolean): Promise<void> | void {
    this.#known.add(task.id);
    const place = this.#starts.enter(task.namespace);
    return place === undefined
      ? this.#startNow(actor, task, isWanted)
      : place.then(() => this.#startNow(actor, task, isWanted));
  }

  /** Starts a task that has a place. */
  #startNow(actor: ActorId, task: TaskSpec, isWanted: () => boolean): Promise<void> | void {
    let started: Promise<void> | void = undefined;
    try {
      if (!this.#running.has(task.id)) {
        if (isWanted()) started = this.#hand(actor, task);
        else this.#known.delete(task.id);
      }
    } finally {
      if (started === undefined) this.#starts.leave(task.namespace);
    }
    return started?.finally(() => this.#starts.leave(task.namespace));
  }

  /** Hands a task to its executor. */
  #hand(actor: ActorId, task: TaskSpec): Promise<void> | void {
    const executor = this.#executorOf(task);
    if (executor === undefined) {
      const reasons = this.#deps.executors.map((one) => one.refuses(task)).join("; ");
      const text = reasons || "No executor is configured; start with --executor";
      return this.giveUp(actor, task, text);
    }
    const running: Running = { executor, started: undefined };
    this.#running.set(task.id, running);
    running.started = this.#startWith(executor, actor, task);
    return running.started;
  }

  /** True when only the replica that started a task can go on with it. */
  isTied(task: TaskSpec): boolean {
    return this.#executorOf(task)?.isTied?.(task) ?? false;
  }

  /** Where this replica runs a task, see `Executor.placeOf`. */
  placeOf(task: TaskSpec): string | undefined {
    return this.#executorOf(task)?.placeOf?.(task);
  }

  /** Ends a task that cannot be started, or that nobody can reach any more. */
  giveUp(actor: ActorId, task: TaskSpec, message: string): void {
    const outcome = { phase: "Error", message } as const;
    this.#report(actor, { type: "task-ended", task: task.id, outcome });
  }

  /** Those of the tasks that this replica neither runs nor is about to start, and whose outcome is not on its way. */
  unknownOf(tasks: string[]): string[] {
    return tasks.filter((task) => !this.#known.has(task));
  }

  /** True while this replica runs a task. */
  has(task: string): boolean {
    return this.#running.has(task);
  }

  /** Ends a task. Its outcome, if one still comes, is for nobody. */
  async cancel(task: string): Promise<void> {
    const running = this.#running.get(task);
    await running?.started;
    this.#running.delete(task);
    this.#known.delete(task);
    const executors = running ? [running.executor] : this.#deps.executors;
    await Promise.all(executors.map((executor) => executor.cancel(task, GRACE_MS)));
  }

  /** Removes the volume claims of a workflow that has ended. */
  async removeClaims(claims: WorkflowClaims): Promise<void> {
    await Promise.all(this.#deps.executors.map((executor) => executor.removeClaims?.(claims)));
  }

  /** Removes what ended tasks left behind. */
  async clean(tasks: string[]): Promise<void> {
    await Promise.all(this.#deps.executors.map((executor) => executor.clean(tasks)));
  }

  #startWith(executor: Executor, actor: ActorId, task: TaskSpec): Promise<void> | void {
    const { callbacks } = this.#deps;
    const isMarked = callbacks !== undefined && task.callbackSecret !== undefined;
    try {
      const started = isMarked
        ? callbacks.fill(task).then((filled) =>
          executor.start(filled, (fact) => this.#report(actor, withoutTokens(fact)))
        )
        : executor.start(task, (fact) => this.#report(actor, fact));
      return started?.catch((cause: unknown) => this.#failed(executor, actor, task, cause));
    } catch (cause) {
      this.#failed(executor, actor, task, cause);
    }
  }

  #failed({ name }: Executor, actor: ActorId, task: TaskSpec, cause: unknown): void {
    this.#deps.log.error({ task: task.id, executor: name, err: cause }, "start failed");
    this.giveUp(actor, task, withoutCallbackTokens(errorText(cause)));
  }

  #executorOf(task: TaskSpec): Executor | undefined {
    return this.#deps.executors.find((one) => one.refuses(task) === undefined);
  }

  #report(actor: ActorId, fact: Fact & { task: string }): void {
    const { type, task } = fact;
    if (type !== "task-ended") return this.#deps.post(actor, fact as unknown as Json, () => {});
    // A report that the workflow refuses would leave its step running for ever.
    const isSound = isFact(fact);
    if (!isSound) this.#deps.log.error({ task, outcome: shown(fact) }, "no outcome of a task");
    const body = (isSound ? fact : { type, task, outcome: NO_OUTCOME }) as unknown as Json;
    this.#running.delete(task);
    this.#deps.post(actor, body, () =>
      this.#remembered.add(() => {
        if (!this.#running.has(task)) this.#known.delete(task);
      }));
  }
}

/** An outcome for the log, without values: those of outputs may be secret, and long. */
function shown({ outcome }: Extract<Fact, { type: "task-ended" }>): Record<string, unknown> {
  return { ...outcome, outputs: Object.keys(outcome.outputs ?? {}) };
}

/** What a task reports may repeat its template, such as an address that it could not reach. */
function withoutTokens<T extends Fact>(fact: T): T {
  const text = JSON.stringify(fact);
  const shown = withoutCallbackTokens(text);
  return shown === text ? fact : JSON.parse(shown) as T;
}
