/** Pure: whose artifacts a task's are. */
import type { ArtifactScope } from "../artifacts/port.ts";
import { defined } from "../base/defined.ts";
import type { TaskSpec } from "../engine/effect.ts";

/** The scope in which an output of a task is saved. */
export function outputScope(task: TaskSpec): ArtifactScope {
  return { ...artifactScope(task), siblings: task.template.outputs?.artifacts ?? [] };
}

/** Decides the repository, the Secrets and the keys of a task's artifacts. */
export function artifactScope(task: TaskSpec): ArtifactScope {
  const { namespace, podSpec, template } = task;
  return {
    namespace,
    ...defined({
      repositoryRef: podSpec.artifactRepositoryRef,
      archiveLocation: template.archiveLocation,
      formerKeys: task.formerKeys,
    }),
    names: {
      "workflow.name": task.workflow,
      "workflow.namespace": namespace,
      "workflow.uid": task.workflowUid,
      "pod.name": task.podName,
      "node.name": task.nodeName,
    },
  };
}
