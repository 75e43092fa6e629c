/**
 * Resource templates: the server makes, changes, reads or deletes an object of the cluster, and waits for its condition. It
 * acts as the workflow's service account (impersonation), so a workflow may do no more than its account may.
 */
import { errorText } from "../../base/error_text.ts";
import type { JsonObject } from "../../base/json.ts";
import type { TaskOutcome } from "../../engine/command.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Parameter } from "../../spec/manifest.ts";
import type { Report } from "../port.ts";
import { ReplicaExecutor, type Stop } from "../replica_executor.ts";
import { Jq } from "./jq.ts";
import { readKubePath } from "./kube_path_apply.ts";
import { ResourceAction, type ResourceDeps } from "./action.ts";

export class ResourceExecutor extends ReplicaExecutor {
  readonly name = "kubernetes";
  protected readonly taskKind = "a resource template";
  readonly #options: ResourceDeps;
  readonly #jq: Jq;

  constructor(options: ResourceDeps) {
    super(options.clock);
    this.#options = options;
    this.#jq = new Jq(options.clock, options.jqCommand);
  }

  refuses({ template }: TaskSpec): string | undefined {
    return template.resource === undefined
      ? "This executor runs resource templates only"
      : undefined;
  }

  protected async run(
    task: TaskSpec,
    { signal }: Stop,
    report: Report,
  ): Promise<TaskOutcome> {
    report({ type: "task-started", task: task.id });
    try {
      return await this.#carryOut(task, signal);
    } catch (error) {
      // The reference does it in a pod, which fails: so a retry strategy applies that says no more.
      return { phase: "Failed", message: errorText(error) };
    }
  }

  async #carryOut(task: TaskSpec, signal: AbortSignal): Promise<TaskOutcome> {
    const act = new ResourceAction(task, task.template.resource ?? {}, this.#options, signal);
    const object = await act.perform();
    const ended = object === undefined ? undefined : await act.wait(object);
    if (ended?.failure !== undefined) return { phase: "Failed", message: ended.failure };
    const parameters: Parameter[] = [];
    for (const parameter of task.template.outputs?.parameters ?? []) {
      parameters.push(
        ended === undefined
          ? withoutObject(parameter)
          : await readOutput(parameter, ended.object, (filter) =>
            this.#jq.read(task.namespace, filter, ended.object, signal)),
      );
    }
    return {
      phase: "Succeeded",
      ...(parameters.length > 0 && { outputs: { parameters } }),
    };
  }

  override async close(): Promise<void> {
    await super.close();
    this.#jq.close();
  }
}

/** An output where there is no object: as in the reference, nothing or the default. */
function withoutObject(parameter: Parameter): Parameter {
  const { valueFrom } = parameter;
  return valueFrom === undefined ? parameter : { ...parameter, value: valueFrom.default ?? "" };
}

async function readOutput(
  parameter: Parameter,
  object: JsonObject,
  readJq: (filter: string) => Promise<string>,
): Promise<Parameter> {
  const { jsonPath, jqFilter, default: fallback } = parameter.valueFrom ?? {};
  if (jqFilter === undefined && jsonPath === undefined) return parameter;
  try {
    if (jqFilter !== undefined) {
      return { ...parameter, value: await readJq(jqFilter) };
    }
    const value = readKubePath(jsonPath ?? "", object);
    // What is not there is nothing.
    if (value === "" && fallback !== undefined) return { ...parameter, value: fallback };
    return { ...parameter, value };
  } catch (error) {
    if (fallback !== undefined) return { ...parameter, value: fallback };
    throw new Error(`Output parameter "${parameter.name}": ${String(error)}`);
  }
}
