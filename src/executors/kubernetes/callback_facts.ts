/** Pure: the artifacts and parameters of a task that a pod calls back about. */
import type { JsonObject } from "../../base/json.ts";
import type { ArtifactScope } from "../../artifacts/port.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Artifact, Container, Parameter } from "../../spec/manifest.ts";
import { artifactScope } from "../artifact_scope.ts";
import { planContainers } from "../container_plan.ts";

/** What a replica that is called back must know of a task it may never have seen. */
export interface CallbackFacts extends Omit<ArtifactScope, "namespace"> {
  inputs: Artifact[];
  outputs: Artifact[];
  /** What keys of outputs without a location begin with. */
  prefix: string;
}

/** Output parameters in files, as index in the template and path. Both sides of a call back count alike. */
export function outputFiles(parameters: readonly Parameter[] = []): [number, string][] {
  return parameters.flatMap((parameter, index) =>
    parameter.valueFrom?.path === undefined ? [] : [[index, parameter.valueFrom.path]]
  );
}

/** Input artifacts with a path, and their index in the template. */
export function inputsOf(
  task: TaskSpec,
): { artifact: Artifact; path: string; index: number }[] {
  return (task.template.inputs?.artifacts ?? []).flatMap((artifact, index) =>
    artifact.path === undefined
      ? []
      : [{ artifact, path: artifact.path.replace(/\/+$/, ""), index }]
  );
}

/** True when an input lies in a volume of the main container, where its own name counts. */
function liesInVolume(task: TaskSpec, path: string): boolean {
  const mains = planContainers(task.template).filter(({ role }) => role === "main");
  const main = mains.find(({ name }) => name === "main") ?? mains[0];
  return main !== undefined && volumeMountOf(main.spec, path) !== undefined;
}

/** The mount of a container that a path lies in; undefined when it lies in none. */
export function volumeMountOf(spec: Container, path: string): JsonObject | undefined {
  return (spec.volumeMounts ?? []).find((mount) =>
    path.startsWith(`${String(mount["mountPath"]).replace(/\/+$/, "")}/`)
  );
}

/** The facts about a task's call backs. */
export function callbackFacts(task: TaskSpec): CallbackFacts {
  const { inputs, outputs } = task.template;
  const { namespace: _namespace, ...scope } = artifactScope(task);
  return {
    // The name of the only entry in the archive of an input.
    inputs: (inputs?.artifacts ?? []).map((artifact) => ({
      ...artifact,
      path: artifact.path !== undefined && liesInVolume(task, artifact.path)
        ? artifact.path.replace(/\/+$/, "").replace(/^.*\//, "")
        : artifact.name,
    })),
    outputs: outputs?.artifacts ?? [],
    prefix: task.artifactPrefix,
    ...scope,
  };
}
