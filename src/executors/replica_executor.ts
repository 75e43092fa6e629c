/** Base of the executors whose tasks the replica itself does, without a process of their own. */
import { notFound } from "../base/problem.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { Clock } from "../platform/clock.ts";
import { MAX_TIMER_MS } from "../platform/clock.ts";
import { DEADLINE_MESSAGE } from "./deadline.ts";
import type { Executor, LogLine, Report } from "./port.ts";

export abstract class ReplicaExecutor implements Executor {
  abstract readonly name: string;
  /** What its tasks are, for example `an HTTP request`. */
  protected abstract readonly taskKind: string;
  protected readonly clock: Clock;
  readonly #running = new Map<string, AbortController>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  abstract refuses(task: TaskSpec): string | undefined;

  /**
   * Does a task. The signal aborts at its deadline and when it is cancelled; a rejection after that ends it with the
   * deadline's message, any other one with phase Error.
   */
  protected abstract run(
    task: TaskSpec,
    signal: AbortSignal,
    report: Report,
  ): Promise<TaskOutcome>;

  start(task: TaskSpec, report: Report): Promise<void> {
    if (this.#running.has(task.id)) return Promise.resolve();
    const stop = new AbortController();
    this.#running.set(task.id, stop);
    const cancelDeadline = this.#abortAt(task.deadline, stop);
    void this.#runUntil(task, stop.signal, report).catch((error): TaskOutcome =>
      stop.signal.aborted
        ? { phase: "Failed", message: task.deadlineMessage ?? DEADLINE_MESSAGE }
        : { phase: "Error", message: error instanceof Error ? error.message : String(error) }
    ).then((outcome) => {
      cancelDeadline();
      if (this.#running.get(task.id) !== stop) return;
      this.#running.delete(task.id);
      report({ type: "task-ended", task: task.id, outcome });
    });
    return Promise.resolve();
  }

  /** What a task comes to, or the signal's reason as soon as it aborts: not all work hears of that. */
  #runUntil(task: TaskSpec, signal: AbortSignal, report: Report): Promise<TaskOutcome> {
    return new Promise((resolve, reject) => {
      const stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
      this.run(task, signal, report).then(resolve, reject)
        .finally(() => signal.removeEventListener("abort", stop));
    });
  }

  #abortAt(deadline: number | undefined, stop: AbortController): () => void {
    if (deadline === undefined) return () => {};
    let cancel = () => {};
    const look = () => {
      const left = deadline - this.clock.now();
      if (left <= 0) stop.abort();
      else cancel = this.clock.after(Math.min(left, MAX_TIMER_MS), look);
    };
    look();
    return () => cancel();
  }

  cancel(taskId: string): Promise<void> {
    const stop = this.#running.get(taskId);
    this.#running.delete(taskId);
    stop?.abort();
    return Promise.resolve();
  }

  // deno-lint-ignore require-yield
  async *logs(task: { podName: string }): AsyncGenerator<LogLine> {
    throw notFound(`"${task.podName}" is ${this.taskKind}, which has no log`);
  }

  clean(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    for (const stop of this.#running.values()) stop.abort();
    this.#running.clear();
    return Promise.resolve();
  }
}
