/** Base of the executors whose tasks run in the replica itself, without a process of their own. */
import { errorText } from "../base/error_text.ts";
import { notFound } from "../base/problem.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import { type Clock, runAt } from "../platform/clock.ts";
import { DEADLINE_MESSAGE } from "./deadline.ts";
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

  start(task: TaskSpec, report: Report): Promise<void> {
    if (this.#running.has(task.id)) return Promise.resolve();
    const controller = new AbortController();
    this.#running.set(task.id, controller);
    void this.#outcome(task, controller, report).then((outcome) => {
      if (this.#running.get(task.id) !== controller) return;
      this.#running.delete(task.id);
      report({ type: "task-ended", task: task.id, outcome });
    });
    return Promise.resolve();
  }

  /** How a task ends. It ends at its deadline even if its work does not listen. */
  #outcome(task: TaskSpec, controller: AbortController, report: Report): Promise<TaskOutcome> {
    const { deadline, deadlineMessage = DEADLINE_MESSAGE } = task;
    return new Promise((resolve) => {
      const fail = (message: string) => {
        resolve({ phase: "Failed", message });
        controller.abort();
      };
      const cancelDeadline = deadline === undefined
        ? () => {}
        : runAt(this.clock, deadline, () => fail(deadlineMessage));
      this.run(task, { signal: controller.signal, fail }, report).then(
        resolve,
        (error) => resolve({ phase: "Error", message: errorText(error) }),
      ).finally(cancelDeadline);
    });
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
