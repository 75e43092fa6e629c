/**
 * An executor that runs nothing: a test decides the outcome of each task. It keeps the port's rules: starting a task
 * again counts as one start. Replicas may share it as they would share a machine: it reports an outcome to all who
 * started the task.
 */
import type { TaskOutcome } from "../../src/engine/command.ts";
import type { TaskSpec } from "../../src/engine/effect.ts";
import type { Executor, LogLine, Report } from "../../src/executors/port.ts";

export interface ScriptedTask {
  task: TaskSpec;
  /** Calls of `start`, repeats included. */
  starts: number;
  cancelled: boolean;
  /** Set once the task has ended; reported again to whoever starts it again. */
  outcome: TaskOutcome | undefined;
}

/** Returns the outcome of a task; undefined lets it run until `end`. */
export type Script = (task: TaskSpec) => TaskOutcome | undefined;

export class ScriptedExecutor implements Executor {
  readonly name = "scripted";
  /** Tasks are pending until `begin`. */
  isSlow = false;
  /** All tasks ever started, in order of their first start. */
  readonly tasks = new Map<string, ScriptedTask>();
  readonly #reports = new Map<string, Set<Report>>();
  readonly #script: Script;
  readonly #isTied: boolean;
  readonly #place: string | undefined;

  /**
   * @param isTied no other replica can continue its tasks
   * @param place where its tasks continue without it
   */
  constructor(
    script: Script = () => ({ phase: "Succeeded" }),
    isTied = false,
    place?: string,
  ) {
    this.#script = script;
    this.#isTied = isTied;
    this.#place = place;
  }

  placeOf(): string | undefined {
    return this.#place;
  }

  isTied(): boolean {
    return this.#isTied;
  }

  refuses(): undefined {
    return undefined;
  }

  start(task: TaskSpec, report: Report): Promise<void> {
    const known = this.tasks.get(task.id) ?? {
      task,
      starts: 0,
      cancelled: false,
      outcome: undefined,
    };
    known.starts++;
    this.tasks.set(task.id, known);
    if (known.cancelled) return Promise.resolve();
    this.#reports.set(task.id, (this.#reports.get(task.id) ?? new Set()).add(report));
    const outcome = known.outcome ?? this.#script(task);
    queueMicrotask(() => {
      if (!this.isSlow) report({ type: "task-started", task: task.id });
      if (outcome) this.end(task.id, outcome);
    });
    return Promise.resolve();
  }

  /** Ends a running task. */
  end(id: string, outcome: TaskOutcome = { phase: "Succeeded" }): void {
    const known = this.tasks.get(id);
    if (!known || known.cancelled) return;
    known.outcome = outcome;
    for (const report of this.#reports.get(id) ?? []) {
      report({ type: "task-ended", task: id, outcome });
    }
  }

  /** Reports that a task runs. */
  begin(id: string): void {
    for (const report of this.#reports.get(id) ?? []) report({ type: "task-started", task: id });
  }

  cancel(id: string): Promise<void> {
    const known = this.tasks.get(id);
    if (known) known.cancelled = true;
    return Promise.resolve();
  }

  async *logs(): AsyncIterable<LogLine> {}

  clean(_tasks: string[]): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#reports.clear();
    return Promise.resolve();
  }
}
