/** Base of the executors whose tasks run in the replica itself, without a process of their own. */
import { errorText } from "../base/error_text.ts";
import { notFound } from "../base/problem.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import { type Clock, runAt } from "../platform/clock.ts";
import { LATE } from "./deadline.ts";
import type { Executor, LogLine, Report } from "./port.ts";

/** How a task that is under way is ended from outside. */
export interface Stop {
  /** Aborts at the task's deadline, when it is cancelled, and with `fail`. */
  signal: AbortSignal;
  /** Ends the task at once with phase Failed and this message. */
  fail: (message: string) => void;
}

export abstract class ReplicaExecutor implements Executor {
  abstract readonly name: string;
  /** What its tasks are, such as `an HTTP request`. */
  protected abstract readonly taskKind: string;
  protected readonly clock: Clock;
  readonly #running = new Map<string, AbortController>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  abstract refuses(task: TaskSpec): string | undefined;

  /** Does a task. A rejection ends it with phase Error, unless it has ended already. */
  protected abstract run(task: TaskSpec, stop: Stop, report: Report): Promise<TaskOutcome>;

  start(task: TaskSpec, report: Report): void {
    const { id, deadline } = task;
    if (this.#running.has(id)) return;
    const controller = new AbortController();
    this.#running.set(id, controller);
    let cancelDeadline: (() => void) | undefined;
    const end = (outcome: TaskOutcome) => {
      cancelDeadline?.();
      if (this.#running.get(id) !== controller) return;
      this.#running.delete(id);
      report({ type: "task-ended", task: id, outcome });
    };
    // It ends at once even if its work does not listen.
    const stop = (outcome: TaskOutcome) => {
      end(outcome);
      controller.abort();
    };
    const fail = (message: string) => stop({ phase: "Failed", message });
    if (deadline !== undefined) cancelDeadline = runAt(this.clock, deadline, () => stop(LATE));
    if (controller.signal.aborted) return;
    this.run(task, { signal: controller.signal, fail }, report).then(
      end,
      (error) => end({ phase: "Error", message: errorText(error) }),
    );
  }

  cancel(taskId: string): Promise<void> {
    const controller = this.#running.get(taskId);
    this.#running.delete(taskId);
    controller?.abort();
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
    for (const controller of this.#running.values()) controller.abort();
    this.#running.clear();
    return Promise.resolve();
  }
}
