/** Stored actors as the workflows that clients see. */
import type { Workflow } from "../spec/manifest.ts";
import type { Change, StoredActor } from "../store/port.ts";

/** The workflow of a stored actor, with its version. */
export function workflowFromStored(stored: StoredActor): Workflow {
  const workflow = JSON.parse(stored.parts.w ?? "{}") as Workflow;
  return {
    ...workflow,
    metadata: { ...workflow.metadata, resourceVersion: stored.version },
  };
}

/** How often tasks of a node were started; part of task ids. */
export function startsOf(_stored: StoredActor, _nodeId: string): number {
  return 1;
}

/** What is known of a workflow that was deleted: its last state, or what the list index had. */
export function deletedWorkflow(
  last: Workflow | undefined,
  change: Change,
  place: { namespace: string; name: string },
): Workflow {
  const metadata = {
    ...(last?.metadata ?? {
      ...place,
      ...(change.index === undefined ? {} : {
        uid: change.index.uid,
        labels: change.index.labels,
      }),
    }),
    resourceVersion: change.version,
  };
  return { ...(last ?? { spec: { arguments: {} } }), metadata };
}
