/** Stored actors as the workflows that clients see. */
import { loadWorkflow } from "../engine/codec.ts";
import { viewWorkflow } from "../engine/view.ts";
import { type Workflow } from "../spec/manifest.ts";
import { type Change, NODE_PART_PREFIX, type StoredActor } from "../store/port.ts";

/** The workflow of a stored actor, with its version. Nodes that were not loaded are not shown. */
export function workflowFromStored(stored: StoredActor): Workflow {
  const workflow = viewWorkflow(loadWorkflow(stored.parts));
  return {
    ...workflow,
    metadata: { ...workflow.metadata, resourceVersion: stored.version },
  };
}

/** How often tasks of a node were started; part of task ids. */
export function startsOf(stored: StoredActor, nodeId: string): number {
  const text = stored.parts[`${NODE_PART_PREFIX}${nodeId}`];
  const node = text === undefined ? undefined : JSON.parse(text) as { starts?: number };
  return node?.starts ?? 1;
}

/** What is known of a workflow that was deleted: its last state, or what the list index had. */
export function deletedWorkflow(
  last: Workflow | undefined,
  change: Change,
  place: { namespace: string; name: string },
): Workflow {
  const { index } = change;
  const known = last?.metadata ?? {
    ...place,
    ...(index === undefined ? {} : { uid: index.uid, labels: index.labels }),
  };
  return {
    ...last ?? { spec: { arguments: {} } },
    metadata: { ...known, resourceVersion: change.version },
  };
}
