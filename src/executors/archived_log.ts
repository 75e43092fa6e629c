/** Logs of ended containers as artifacts. */
import { open } from "node:fs/promises";
import type { ArtifactScope, ArtifactStore } from "../artifacts/port.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { Artifact } from "../spec/manifest.ts";
import type { LogLine } from "./port.ts";

/** Whose artifacts a task's are. */
export function artifactScope(task: TaskSpec): ArtifactScope {
  const { namespace, podSpec, template } = task;
  return {
    namespace,
    ...(podSpec.artifactRepositoryRef && { repositoryRef: podSpec.artifactRepositoryRef }),
    ...(template.archiveLocation && { archiveLocation: template.archiveLocation }),
    names: {
      "workflow.name": task.workflow,
      "workflow.namespace": namespace,
      "workflow.uid": task.workflowUid,
      "pod.name": task.podName,
      "node.name": task.nodeName,
    },
  };
}

/** Writes the texts of lines to a file. */
export async function writeLines(path: string, lines: AsyncIterable<LogLine>): Promise<void> {
  const file = await open(path, "w");
  try {
    for await (const line of lines) await file.write(`${line.text}\n`);
  } finally {
    await file.close();
  }
}

/** Stores a log file as the artifact `<container>-logs`. */
export async function saveLog(
  artifacts: ArtifactStore,
  container: string,
  path: string,
  task: TaskSpec,
): Promise<Artifact> {
  const artifact = { name: `${container}-logs`, path, archive: { none: {} } };
  const kept = await artifacts.save(artifact, path, task.artifactPrefix, artifactScope(task));
  const { path: _path, archive: _archive, ...rest } = kept;
  return rest;
}
