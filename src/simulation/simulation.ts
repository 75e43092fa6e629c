/**
 * Runs workflows on a simulated clock, with tasks that do what a script says. It calls the functions of the engine as the
 * host does, and keeps the rest of the world in memory. It decides nothing: it performs effects and reports facts.
 */
import { accept } from "../engine/accept.ts";
import { advance } from "../engine/advance.ts";
import { loadWorkflow, takeChanges } from "../engine/codec.ts";
import type { ControlRequest, TaskOutcome } from "../engine/command.ts";
import { control } from "../engine/orders/control.ts";
import { runToEnd } from "../base/steps.ts";
import { createWorkflow } from "../engine/create.ts";
import type { Effect } from "../engine/effect.ts";
import type { EngineEnv, WorkflowLimits } from "../engine/engine.ts";
import { holderName } from "../engine/locks/holder.ts";
import {
  acquireLocks,
  emptyLockTable,
  type LockNews,
  releaseLocks,
  releaseWorkflow,
} from "../engine/locks/locks.ts";
import { type ResubmitOptions, resubmitSteps, resultSteps } from "../engine/orders/resubmit.ts";
import type { WorkflowState } from "../engine/state.ts";
import { rfc3339 } from "../engine/scope/time_text.ts";
import { viewWorkflow } from "../engine/view.ts";
import type { ConfigMap, ManifestKind, Workflow } from "../spec/manifest.ts";
import { configMapTypeLabel, type Naming, STANDARD_NAMING } from "../spec/naming.ts";
import { type Job, LATE, ruleOf, taskOutcome, type TaskRule } from "./task_rule.ts";

/** Namespace of everything in a simulation. */
export const SIMULATION_NAMESPACE = "default";

/** When a simulation begins, epoch ms: midnight UTC of 1 January 2024. */
export const SIMULATION_START: number = Date.UTC(2024, 0, 1);

export interface SimulationOptions {
  /** Rules of tasks. The first that fits a task counts. */
  rules?: readonly TaskRule[];
  /** After each commit loads every workflow again from its stored parts, as after a crash. */
  isForgetful?: boolean;
  /** What happens at the same time is reported in the opposite order. */
  isReversed?: boolean;
  /** Does what executors do besides the script: successful tasks leave their output artifacts, and deadlines end tasks. */
  isLikeExecutors?: boolean;
  /** Names of the deployment. @default those of the reference */
  naming?: Naming;
  /** What a workflow may grow to. @default the defaults of the server */
  limits?: WorkflowLimits;
}

const DEFAULT_LIMITS: WorkflowLimits = { nodes: 100_000, bytes: 64 * 2 ** 20 };

/** One world: workflows, manifests, tasks, locks, timers and the clock. */
export class Simulation {
  /** Epoch ms. */
  now = SIMULATION_START;
  /** Names of the workflows, in the order of their submission. */
  readonly order: string[] = [];
  /** May be changed at any time. A running task follows the rule that fits at that time. */
  readonly rules: TaskRule[];
  readonly #states = new Map<string, WorkflowState>();
  readonly #jobs = new Map<string, Job>();
  readonly #starts = new Map<string, number>();
  readonly #timers = new Map<string, number>();
  readonly #manifests = new Map<string, unknown>();
  readonly #locks = emptyLockTable();
  readonly #parts = new Map<string, Record<string, string>>();
  readonly #isForgetful: boolean;
  readonly #isLikeExecutors: boolean;
  readonly #isReversed: boolean;
  readonly #limits: WorkflowLimits;
  readonly #naming: Naming;
  #random = 0;

  constructor(options: SimulationOptions) {
    const { rules = [], isForgetful = false, isLikeExecutors = false } = options;
    this.#naming = options.naming ?? STANDARD_NAMING;
    this.rules = [...rules];
    this.#isForgetful = isForgetful;
    this.#isLikeExecutors = isLikeExecutors;
    this.#isReversed = options.isReversed ?? false;
    this.#limits = options.limits ?? DEFAULT_LIMITS;
  }

  /** What a call of the engine gets at this moment. */
  get env(): EngineEnv {
    return {
      now: this.now,
      randomSuffix: (length) => String(this.#random++).padStart(length, "x").slice(-length),
      findManifest: (kind, namespace, name) =>
        this.#manifests.get(manifestKey(kind, namespace, name)) ?? null,
      ...this.#naming,
      limits: this.#limits,
    };
  }

  /** Stores a manifest that workflows may refer to. */
  addManifest(kind: ManifestKind, manifest: { metadata: { name?: string } }): void {
    const key = manifestKey(kind, SIMULATION_NAMESPACE, manifest.metadata.name ?? "");
    this.#manifests.set(key, manifest);
  }

  /** Ids of the tasks that were started and have not ended. */
  get openTasks(): string[] {
    return [...this.#jobs.keys()];
  }

  /** Creates a workflow without validation. It must have a name. */
  submit(workflow: Workflow): void {
    const name = workflow.metadata.name ?? "";
    const complete: Workflow = {
      ...workflow,
      metadata: {
        ...workflow.metadata,
        namespace: SIMULATION_NAMESPACE,
        uid: `uid-${name}`,
        creationTimestamp: rfc3339(SIMULATION_START),
      },
    };
    this.#states.set(name, createWorkflow(complete, this.env));
    if (!this.order.includes(name)) this.order.push(name);
    this.#parts.set(name, {});
  }

  /** Carries out what a user asks. @throws {Problem} when it is refused */
  control(name: string, request: ControlRequest): void {
    control(this.#state(name), request, this.env);
  }

  /**
   * Submits a copy of a workflow, which takes the place of the old one.
   * @throws {Problem} when it is refused
   */
  resubmit(name: string, newName: string, options: ResubmitOptions): void {
    const from = viewWorkflow(this.#state(name));
    const copy = runToEnd(resubmitSteps(from, options, this.env));
    const { generateName: _generate, ...metadata } = copy.metadata;
    const named: Workflow = { ...copy, metadata: { ...metadata, name: newName } };
    this.order.splice(this.order.indexOf(name), 1, newName);
    const isMemoized = options.memoized === true;
    this.submit(isMemoized ? runToEnd(resultSteps(named, from, newName, this.env)) : named);
  }

  /** The workflow as clients see it. */
  view(name: string): Workflow {
    return viewWorkflow(this.#state(name));
  }

  /** How many tasks were started for a node of this name; undefined when none was. */
  startsOf(workflow: string, node: string): number | undefined {
    return this.#starts.get(`${workflow}/${node}`);
  }

  /** How many tasks were started for all nodes of a workflow. */
  allStartsOf(workflow: string): number {
    let sum = 0;
    for (const [key, starts] of this.#starts) if (key.startsWith(`${workflow}/`)) sum += starts;
    return sum;
  }

  /** Lets every workflow continue until nothing more can be done. True when something has changed. */
  settle(): boolean {
    let hasChanged = false;
    for (let round = 0; round < 10_000; round++) {
      let isQuiet = true;
      for (const name of this.order) {
        const state = this.#state(name);
        advance(state, this.env);
        const changes = takeChanges(state);
        if (changes.needs.length > 0) {
          throw new Error(`manifests needed: ${JSON.stringify(changes.needs)}`);
        }
        const parts = this.#parts.get(name) ?? {};
        for (const key of changes.drop) delete parts[key];
        for (const { key, text } of changes.put) parts[key] = text;
        if (changes.put.length + changes.drop.length > 0) {
          hasChanged = true;
          if (this.#isForgetful) this.#states.set(name, loadWorkflow(parts));
        }
        for (const effect of changes.effects) {
          if (this.#perform(name, effect)) isQuiet = false;
        }
      }
      if (isQuiet) return hasChanged;
    }
    throw new Error("the engine does not come to rest");
  }

  /** Tells whether every workflow has ended. */
  isComplete(): boolean {
    return this.order.every((name) => this.#states.get(name)?.header.finishedAt !== undefined);
  }

  /** Lets one second pass: timers fire and tasks make progress. True when a task has made progress or will do so in time. */
  tick(): boolean {
    return this.moveTo(this.now + 1000);
  }

  /** Sets the clock to a later time, at which timers fire and tasks make progress. Result as of {@link tick}. */
  moveTo(at: number): boolean {
    this.now = at;
    let isBusy = false;
    for (const [key, due] of [...this.#timers]) {
      if (due > this.now) continue;
      this.#timers.delete(key);
      const [workflow = "", ...timer] = key.split(" ");
      accept(this.#state(workflow), { type: "timer-fired", timer: timer.join(" ") }, this.env);
    }
    const jobs = [...this.#jobs];
    if (this.#isReversed) jobs.reverse();
    for (const [id, job] of jobs) {
      const rule = ruleOf(this.rules, job);
      const outcome = outcomeNow(job, rule);
      if (outcome === "Pending") continue;
      const state = this.#state(job.workflow);
      if (job.runningAt === undefined) {
        job.runningAt = this.now;
        isBusy = true;
        accept(state, { type: "task-started", task: id, podIP: "10.0.0.1", ready: true }, this.env);
        continue;
      }
      const isLate = this.now >= this.#deadlineOf(job);
      if (outcome === "Hang" && !isLate) continue;
      isBusy = true;
      if (this.now < endOf(job.runningAt, rule) && !isLate) continue;
      this.#jobs.delete(id);
      const report: TaskOutcome = isLate || outcome === "Hang"
        ? LATE
        : taskOutcome(job, rule, outcome, this.#isLikeExecutors);
      accept(state, { type: "task-ended", task: id, outcome: report }, this.env);
    }
    return isBusy;
  }

  /** When the next thing happens by itself, epoch ms; undefined when nothing will. */
  nextAt(): number | undefined {
    const times = [...this.#timers.values()].map((at) => Math.max(at, this.now));
    for (const job of this.#jobs.values()) {
      const rule = ruleOf(this.rules, job);
      const outcome = outcomeNow(job, rule);
      if (outcome === "Pending") continue;
      if (job.runningAt === undefined) times.push(this.now + 1000);
      else {
        const end = outcome === "Hang" ? Infinity : endOf(job.runningAt, rule);
        times.push(Math.max(Math.min(end, this.#deadlineOf(job)), this.now));
      }
    }
    const next = Math.min(...times);
    return next === Infinity ? undefined : next;
  }

  /** When the executor ends a task that still runs, epoch ms. */
  #deadlineOf({ task }: Job): number {
    return this.#isLikeExecutors ? task.deadline ?? Infinity : Infinity;
  }

  #state(name: string): WorkflowState {
    const state = this.#states.get(name);
    if (state === undefined) throw new Error(`no workflow ${name}`);
    return state;
  }

  /** Performs an effect. True when that reported something to the engine at once. */
  #perform(workflow: string, effect: Effect): boolean {
    switch (effect.type) {
      case "start-task": {
        const { task } = effect;
        const key = `${workflow}/${task.nodeName}`;
        const attempt = (this.#starts.get(key) ?? 0) + 1;
        this.#starts.set(key, attempt);
        this.#jobs.set(task.id, { workflow, task, attempt, createdAt: this.now });
        return false;
      }
      case "cancel-task":
        this.#jobs.delete(effect.task);
        return false;
      case "set-timer":
        this.#timers.set(`${workflow} ${effect.id}`, effect.at);
        return false;
      case "clear-timer":
        this.#timers.delete(`${workflow} ${effect.id}`);
        return false;
      case "acquire-locks":
        return this.#tell(acquireLocks(this.#locks, effect, this.now));
      case "release-locks":
        return this.#tell(releaseLocks(this.#locks, effect.holder, this.now));
      case "release-all-locks":
        return this.#tell(releaseWorkflow(this.#locks, effect, this.now));
      case "save-memo": {
        const key = manifestKey("ConfigMap", effect.namespace, effect.configMap);
        const known = this.#manifests.get(key) as ConfigMap | undefined;
        this.#manifests.set(key, {
          metadata: {
            name: effect.configMap,
            labels: { [configMapTypeLabel(this.#naming)]: "Cache" },
          },
          data: { ...known?.data, [effect.key]: effect.entry },
        });
        return false;
      }
      case "notice":
      case "clean-tasks":
      case "sweep-remains":
      case "drop-remains":
      case "forget-archived":
      case "remove-claims":
      case "collect-artifacts":
      case "delete-workflow":
      case "observe-metric":
        return false;
    }
  }

  #tell(news: LockNews[]): boolean {
    for (const { type, holder, message, waiting, holders } of news) {
      const [, name] = holderName(holder).split("/");
      const state = this.#states.get(name ?? "");
      if (state === undefined) continue;
      if (type === "granted") accept(state, { type: "locks-granted", holder }, this.env);
      else {
        accept(state, {
          type: "locks-waiting",
          holder,
          message: message ?? "",
          waiting: waiting ?? "",
          ...(holders === undefined ? {} : { holders }),
        }, this.env);
      }
    }
    return news.length > 0;
  }
}

function manifestKey(kind: ManifestKind, namespace: string, name: string): string {
  return `${kind}/${kind === "ClusterWorkflowTemplate" ? "" : namespace}/${name}`;
}

function outcomeNow(job: Job, rule: TaskRule): NonNullable<TaskRule["outcome"]> {
  return rule.outcome ?? (job.task.template.daemon === true ? "Hang" : "Succeeded");
}

function endOf(runningAt: number, rule: TaskRule): number {
  return runningAt + (rule.after ?? 1) * 1000;
}
