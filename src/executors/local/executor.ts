/**
 * The executor of one machine: keeps track of its tasks, their deadlines and their cancellation. The same for processes and
 * containers; how those are run is the business of a `LocalRuntime`.
 */
import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { errorText } from "../../base/error_text.ts";
import { notFound } from "../../base/problem.ts";
import type { ArtifactStore } from "../../artifacts/port.ts";
import type { ConfigSource } from "../../artifacts/config_source.ts";
import type { TaskOutcome } from "../../engine/command.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { type Clock, runAt } from "../../platform/clock.ts";
import { FairLimiter } from "../../platform/fair_limiter.ts";
import { DEFAULT_MAX_ARTIFACT_BYTES } from "../../artifacts/budget.ts";
import { LATE } from "../deadline.ts";
import { DEFAULT_GRACE_MS, LocalTask } from "./task.ts";
import type { LocalTaskDeps } from "./task_plan.ts";
import type { LocalRuntime } from "./runtime.ts";
import type { Executor, LogLine, LogQuery, Report, WorkflowClaims } from "../port.ts";
import { Scratch } from "./scratch.ts";
import type { TaskFolder } from "./scratch.ts";

/** How often logs and progress of running tasks are looked at, and how much rarer with each task. */
const SAMPLE_MS = 500;
const SAMPLE_MS_PER_TASK = 4;

export interface LocalExecutorOptions {
  /** Folder for everything that is kept; must outlive the server. */
  dir: string;
  config: ConfigSource;
  clock: Clock;
  artifacts?: ArtifactStore;
  /** Most bytes of one artifact. @default {10 GiB} */
  maxArtifactBytes?: number;
  /** @default {500} More tasks than this wait their turn. */
  maxRunning?: number;
}

interface Running {
  task: LocalTask;
  cancelDeadline(): void;
}

export class LocalExecutor implements Executor {
  readonly name: string;
  readonly #runtime: LocalRuntime;
  readonly #scratch: Scratch;
  readonly #deps: LocalTaskDeps;
  readonly #clock: Clock;
  readonly #maxRunning: number;
  readonly #turns: FairLimiter;
  readonly #running = new Map<string, Running>();
  /** Names of folders whose containers are being ended: they may still write. */
  readonly #ending = new Set<string>();
  #cancelSampling: (() => void) | undefined;
  #recovered: Promise<void> | undefined;
  #isClosed = false;

  constructor(
    createRuntime: (scratch: Scratch) => LocalRuntime,
    options: LocalExecutorOptions,
  ) {
    const { dir, config, clock, artifacts, maxRunning = 500 } = options;
    const { maxArtifactBytes = DEFAULT_MAX_ARTIFACT_BYTES } = options;
    this.#scratch = new Scratch(dir);
    this.#runtime = createRuntime(this.#scratch);
    this.name = this.#runtime.name;
    this.#clock = clock;
    this.#maxRunning = maxRunning;
    this.#turns = new FairLimiter(maxRunning);
    this.#deps = {
      runtime: this.#runtime,
      scratch: this.#scratch,
      artifacts,
      config,
      clock,
      maxArtifactBytes,
    };
  }

  isTied(): boolean {
    return true;
  }

  /** Processes and containers go on without their server; their folder is the way back to them. */
  placeOf(): string {
    return `${hostname()}:${this.#scratch.dir}`;
  }

  refuses(task: TaskSpec): string | undefined {
    const { container, script, containerSet } = task.template;
    if (container !== undefined || script !== undefined || containerSet !== undefined) {
      return undefined;
    }
    return `The ${this.name} executor runs container, script and containerSet templates only`;
  }

  async start(spec: TaskSpec, report: Report): Promise<void> {
    if (this.#isClosed || this.#running.has(spec.id)) return;
    const refusal = this.refuses(spec) ?? this.#runtime.refuses?.(spec);
    if (refusal !== undefined) {
      return report({
        type: "task-ended",
        task: spec.id,
        outcome: { phase: "Error", message: refusal },
      });
    }
    const task = new LocalTask(spec, this.#deps, report);
    const entry: Running = { task, cancelDeadline: () => {} };
    this.#running.set(spec.id, entry);
    try {
      await this.#recover();
      if (await task.folder.isCancelled()) return void this.#running.delete(spec.id);
      await mkdir(task.folder.dir, { recursive: true });
    } catch (error) {
      const message = errorText(error);
      return this.#settle(entry, { phase: "Error", message }, report);
    }
    this.#armDeadline(entry, report);
    this.#startSampling();
    void this.#runInTurn(entry, report);
  }

  async #runInTurn(entry: Running, report: Report): Promise<void> {
    const { id, namespace } = entry.task.task;
    if (this.#turns.isFull(namespace)) {
      report({
        type: "task-pending",
        task: id,
        message:
          `Waiting: this machine runs ${this.#maxRunning} tasks at most, three quarters of them of one namespace`,
      });
    }
    await this.#turns.enter(namespace);
    try {
      if (this.#running.get(id) !== entry) return;
      const outcome = await entry.task.run();
      if (outcome !== undefined) this.#settle(entry, outcome, report);
    } finally {
      this.#turns.leave(namespace);
    }
  }

  /** Reports once, unless the task was cancelled or ended by its deadline meanwhile. */
  #settle(entry: Running, outcome: TaskOutcome, report: Report): void {
    const { id } = entry.task.task;
    if (this.#running.get(id) !== entry || this.#isClosed) return;
    this.#running.delete(id);
    entry.cancelDeadline();
    report({ type: "task-ended", task: id, outcome });
  }

  #armDeadline(entry: Running, report: Report): void {
    const { deadline } = entry.task.task;
    if (deadline === undefined) return;
    entry.cancelDeadline = runAt(
      this.#clock,
      deadline,
      () => void this.#endAtDeadline(entry, report),
    );
  }

  async #endAtDeadline(entry: Running, report: Report): Promise<void> {
    const { task, folder } = entry.task;
    if (this.#running.get(task.id) !== entry) return;
    // It may have ended in time while no server was there to see it.
    const kept = await folder.outcome().catch(() => undefined);
    const outcome: TaskOutcome = kept ?? LATE;
    if (kept === undefined) {
      entry.task.abandon();
      await folder.saveOutcome(outcome).catch(() => {});
    }
    this.#settle(entry, outcome, report);
    // Its mark stays when that fails: the next server tries again.
    await this.#end(folder, DEFAULT_GRACE_MS).catch(() => {});
  }

  async cancel(taskId: string, graceMs: number): Promise<void> {
    const entry = this.#running.get(taskId);
    this.#running.delete(taskId);
    entry?.cancelDeadline();
    entry?.task.abandon();
    await this.#end(this.#scratch.task(taskId), graceMs);
  }

  /** Ends what runs in a folder; goes on after a restart. */
  async #end(folder: TaskFolder, graceMs: number): Promise<void> {
    this.#ending.add(folder.name);
    try {
      if (await folder.exists()) await folder.beginCancel(this.#clock.now() + graceMs);
      await this.#runtime.stop(folder, graceMs);
      await folder.endCancel();
    } finally {
      this.#ending.delete(folder.name);
    }
  }

  /** Sees through what an earlier server was ending. */
  #recover(): Promise<void> {
    this.#recovered ??= (async () => {
      await this.#scratch.make();
      for (const folder of await this.#scratch.cancelling()) {
        const graceMs = Math.max(0, await folder.killAt() - this.#clock.now());
        // Its mark stays when that fails: the next server tries again.
        void this.#end(folder, graceMs).catch(() => {});
      }
    })().catch((error) => {
      // The next task tries again.
      this.#recovered = undefined;
      throw error;
    });
    return this.#recovered;
  }

  #startSampling(): void {
    if (this.#cancelSampling !== undefined || this.#isClosed) return;
    const again = () => {
      this.#cancelSampling = undefined;
      void Promise.all(
        [...this.#running.values()].map(({ task }) => task.sample().catch(() => {})),
      ).then(() => {
        if (this.#running.size > 0) this.#startSampling();
      });
    };
    this.#cancelSampling = this.#clock.after(
      SAMPLE_MS + SAMPLE_MS_PER_TASK * this.#running.size,
      again,
    );
  }

  async *logs(
    task: { id: string; podName: string; namespace: string },
    query: LogQuery,
  ): AsyncGenerator<LogLine> {
    const folder = this.#scratch.task(task.id);
    if (!this.#running.has(task.id) && !await folder.exists()) {
      throw notFound(`Logs of pod "${task.podName}" are not kept any more, or it has not started`);
    }
    const isOver = async () =>
      !this.#running.has(task.id) && !this.#ending.has(folder.name) &&
      (await folder.outcome() !== undefined || await folder.isCancelled());
    yield* this.#runtime.logs(folder, query, isOver);
  }

  async clean(taskIds: string[]): Promise<void> {
    for (const id of taskIds) {
      if (this.#running.has(id)) continue;
      const folder = this.#scratch.task(id);
      await this.#runtime.release(folder);
      await folder.remove();
    }
  }

  async removeClaims(claims: WorkflowClaims): Promise<void> {
    const { namespace, workflow, workflowUid, names } = claims;
    for (const name of names) {
      await this.#scratch.removeClaim(namespace, `${workflow}-${name}`, workflowUid);
    }
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelSampling?.();
    for (const entry of this.#running.values()) {
      entry.cancelDeadline();
      entry.task.abandon();
    }
    this.#running.clear();
    this.#runtime.close();
    return Promise.resolve();
  }
}
