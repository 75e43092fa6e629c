/**
 * Several executors as one: each task goes to the first that runs its kind of template. What none can run fails with a
 * message that says which executor could.
 */
import { isProblem, notFound, ProblemCode } from "../base/problem.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { Executor, LogLine, LogQuery, Report, WorkflowClaims } from "./port.ts";

export class RoutingExecutor implements Executor {
  readonly name: string;
  readonly #executors: readonly Executor[];

  /**
   * @param name That of `--executor`.
   * @param executors In order of preference.
   */
  constructor(name: string, executors: readonly Executor[]) {
    this.#executors = executors;
    this.name = name;
  }

  refuses(task: TaskSpec): string | undefined {
    return this.#find(task) === undefined ? this.#reason(task) : undefined;
  }

  isTied(task: TaskSpec): boolean {
    return this.#find(task)?.isTied?.(task) ?? false;
  }

  placeOf(task: TaskSpec): string | undefined {
    return this.#find(task)?.placeOf?.(task);
  }

  #find(task: TaskSpec): Executor | undefined {
    return this.#executors.find((executor) => executor.refuses(task) === undefined);
  }

  #reason({ template }: TaskSpec): string {
    const cannot = (kind: string, who: string) =>
      `A ${kind} template can't run with --executor ${this.name}; ${who}`;
    if (template.resource !== undefined) {
      return cannot("resource", "it needs a cluster: use --executor kubernetes");
    }
    if (template.plugin !== undefined) {
      return cannot("plugin", "no executor of this server runs plugins");
    }
    if (template.data !== undefined) {
      return cannot("data", "start the server with an artifact repository");
    }
    if (template.http !== undefined) {
      return cannot("http", "the server runs it itself where allowed");
    }
    const kind = template.script === undefined ? "container" : "script";
    return cannot(kind, "use --executor process, container or kubernetes");
  }

  start(task: TaskSpec, report: Report): Promise<void> | void {
    const executor = this.#find(task);
    if (executor !== undefined) return executor.start(task, report);
    const outcome = { phase: "Error" as const, message: this.#reason(task) };
    report({ type: "task-ended", task: task.id, outcome });
  }

  async cancel(taskId: string, graceMs: number): Promise<void> {
    await Promise.all(this.#executors.map((executor) => executor.cancel(taskId, graceMs)));
  }

  async *logs(
    task: { id: string; podName: string; namespace: string },
    query: LogQuery,
  ): AsyncGenerator<LogLine> {
    for (const executor of this.#executors) {
      try {
        yield* executor.logs(task, query);
        return;
      } catch (error) {
        if (!isProblem(error, ProblemCode.NotFound)) throw error;
      }
    }
    throw notFound(`Logs of pod "${task.podName}" are not kept any more, or it has not started`);
  }

  async clean(taskIds: string[]): Promise<void> {
    await Promise.all(this.#executors.map((executor) => executor.clean(taskIds)));
  }

  async removeClaims(claims: WorkflowClaims): Promise<void> {
    await Promise.all(this.#executors.map((executor) => executor.removeClaims?.(claims)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#executors.map((executor) => executor.close()));
  }
}
