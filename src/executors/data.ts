/** The executor of data templates: lists an artifact location and transforms the list, in the replica. */
import type { Json } from "../base/json.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { Clock } from "../platform/clock.ts";
import { artifactScope } from "./artifact_scope.ts";
import type { Report } from "./port.ts";
import { ReplicaExecutor, type Stop } from "./replica_executor.ts";
import { MAX_PARAMETER_BYTES } from "./capture.ts";

/** JSON text of an expression's value over an environment. */
export type EvaluateJson = (expression: string, env: Record<string, Json>) => Json;

export class DataExecutor extends ReplicaExecutor {
  readonly name = "data";
  protected readonly taskKind = "a data template";
  readonly #artifacts: ArtifactStore;
  readonly #evaluate: EvaluateJson;

  constructor(clock: Clock, artifacts: ArtifactStore, evaluate: EvaluateJson) {
    super(clock);
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

  protected async run(
    task: TaskSpec,
    { signal }: Stop,
    report: Report,
  ): Promise<TaskOutcome> {
    report({ type: "task-started", task: task.id });
    const data = task.template.data ?? {};
    const source = data.source?.artifactPaths;
    if (source === undefined) throw new Error("data template has no source.artifactPaths");
    const keys = await this.#artifacts.list(source, artifactScope(task), signal);
    signal.throwIfAborted();
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
}
