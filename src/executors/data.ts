/** The executor of data templates: lists an artifact location and transforms the list, in the replica. */
import type { Json } from "../base/json.ts";
import { notFound } from "../base/problem.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { DataTemplate } from "../spec/manifest.ts";
import type { Executor, LogLine, Report } from "./port.ts";
import { MAX_PARAMETER_BYTES } from "./capture.ts";

/** JSON text of an expression's value over an environment. */
export type EvaluateJson = (expression: string, env: Record<string, Json>) => Json;

export class DataExecutor implements Executor {
  readonly name = "data";
  readonly #artifacts: ArtifactStore;
  readonly #evaluate: EvaluateJson;
  readonly #running = new Map<string, Report>();

  constructor(artifacts: ArtifactStore, evaluate: EvaluateJson) {
    this.#artifacts = artifacts;
    this.#evaluate = evaluate;
  }

  refuses(task: TaskSpec): string | undefined {
    return task.template.data === undefined
      ? "The data executor runs data templates only"
      : undefined;
  }

  isTied(): boolean {
    return true;
  }

  start(task: TaskSpec, report: Report): Promise<void> {
    const { data } = task.template;
    if (data === undefined || this.#running.has(task.id)) return Promise.resolve();
    this.#running.set(task.id, report);
    report({ type: "task-started", task: task.id });
    void this.#run(task, data).catch((error): TaskOutcome => ({
      phase: "Error",
      message: error instanceof Error ? error.message : String(error),
    })).then((outcome) => {
      if (this.#running.get(task.id) !== report) return;
      this.#running.delete(task.id);
      report({ type: "task-ended", task: task.id, outcome });
    });
    return Promise.resolve();
  }

  async #run(task: TaskSpec, data: DataTemplate): Promise<TaskOutcome> {
    const source = data.source?.artifactPaths;
    if (source === undefined) throw new Error("data template has no source.artifactPaths");
    const { artifactRepositoryRef } = task.podSpec;
    const keys = await this.#artifacts.list(source, {
      namespace: task.namespace,
      ...(artifactRepositoryRef && { repositoryRef: artifactRepositoryRef }),
    });
    let value: Json = keys;
    for (const { expression = "" } of data.transformation ?? []) {
      value = this.#evaluate(expression, { data: value });
    }
    const result = JSON.stringify(value);
    if (Buffer.byteLength(result) > MAX_PARAMETER_BYTES) {
      throw new Error(`result of the data template has more than ${MAX_PARAMETER_BYTES} bytes`);
    }
    return { phase: "Succeeded", outputs: { result, exitCode: "0" } };
  }

  cancel(taskId: string): Promise<void> {
    this.#running.delete(taskId);
    return Promise.resolve();
  }

  // deno-lint-ignore require-yield
  async *logs(task: { podName: string }): AsyncGenerator<LogLine> {
    throw notFound(`"${task.podName}" is a data template, which has no log`);
  }

  clean(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#running.clear();
    return Promise.resolve();
  }
}
