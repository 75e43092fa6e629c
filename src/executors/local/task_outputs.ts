/** Collects what a task on this machine leaves: parameters, artifacts, logs. */
import { defined } from "../../base/defined.ts";
import { errorText } from "../../base/error_text.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Artifact, Outputs } from "../../spec/manifest.ts";
import { outputScope } from "../artifact_scope.ts";
import { saveLog, writeLines } from "../archived_log.ts";
import { MAX_PARAMETER_BYTES, readParameters, resultFrom } from "../capture.ts";
import type { RunningContainer } from "./runtime.ts";
import type { EndedContainer } from "./task_outcome.ts";

import { noArtifactStore } from "./task_inputs.ts";
import type { LocalTaskDeps, TaskPlan } from "./task_plan.ts";

/** The outputs of a task, and what is wrong with the first that could not be had. */
export interface CollectedOutputs {
  outputs: Outputs;
  fault?: string;
}

/** Reads the outputs of the main container after all containers have ended. @param signal ends their transfer */
export async function collectOutputs(
  { task, folder, containers }: TaskPlan,
  { running, end }: EndedContainer,
  deps: LocalTaskDeps,
  signal: AbortSignal,
): Promise<CollectedOutputs> {
  const outputs: Outputs = {};
  if ("code" in end) outputs.exitCode = String(end.code);
  if (running === undefined) return { outputs };
  if (task.includeResult) outputs.result = resultFrom(await running.stdout());
  const { parameters = [], artifacts = [] } = task.template.outputs ?? {};
  let fault: string | undefined;
  if (parameters.length > 0) {
    const read = await readParameters(
      parameters,
      (path) => running.locate(path, MAX_PARAMETER_BYTES),
    );
    outputs.parameters = read.parameters;
    fault = read.fault;
  }
  const saved: Artifact[] = [];
  for (const artifact of artifacts) {
    try {
      const kept = await saveOutput(artifact, running, task, deps, signal);
      if (kept !== undefined) saved.push(kept);
    } catch (error) {
      fault ??= errorText(error);
    }
  }
  if (task.archiveLogs === true) {
    saved.push(...await archiveLogs({ task, folder, containers }, deps));
  }
  if (saved.length > 0) outputs.artifacts = saved;
  return { outputs, ...defined({ fault }) };
}

/** Undefined when an optional artifact is missing. */
async function saveOutput(
  artifact: Artifact,
  running: RunningContainer,
  task: TaskSpec,
  { artifacts, maxArtifactBytes }: LocalTaskDeps,
  signal: AbortSignal,
): Promise<Artifact | undefined> {
  if (artifact.path === undefined) return artifact;
  const place = await running.locate(artifact.path, maxArtifactBytes);
  if (place === undefined) {
    if (artifact.optional === true) return undefined;
    throw new Error(
      `Cannot save output artifact "${artifact.name}": ${artifact.path} no such file or directory`,
    );
  }
  if (artifacts === undefined) throw noArtifactStore(artifact.name);
  return await artifacts.save(artifact, place, task.artifactPrefix, outputScope(task), signal);
}

/** The logs of the main containers as artifacts named `<container>-logs`. One that can't be read or saved is left out. */
async function archiveLogs(
  { task, folder, containers }: TaskPlan,
  { artifacts, runtime }: LocalTaskDeps,
): Promise<Artifact[]> {
  if (artifacts === undefined) return [];
  const saved: Artifact[] = [];
  for (const { name, role } of containers) {
    if (role !== "main") continue;
    const place = { root: folder.dir, path: `logs/${name}.log` };
    const query = { container: name, follow: false, signal: new AbortController().signal };
    try {
      await writeLines(place, runtime.logs(folder, query, () => Promise.resolve(true)));
      saved.push(await saveLog(artifacts, name, place, task));
    } catch {
      // The step has not failed by that.
    }
  }
  return saved;
}
