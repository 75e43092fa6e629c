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

/**
 * The workflow of a change: as it was then, or what the list index had where the feed doesn't tell more (an older version
 * of the program has written it).
 */
export function changedWorkflow(
  stored: StoredActor,
  { index, version }: Change,
  place: { namespace: string; name: string },
): Workflow {
  const isKnown = stored.parts["h"] !== undefined && stored.parts["s"] !== undefined;
  if (isKnown) return workflowFromStored({ ...stored, version });
  const known = index === undefined ? {} : { uid: index.uid, labels: index.labels };
  return {
    spec: { arguments: {} },
    metadata: { ...place, ...known, resourceVersion: version },
  };
}

/** Labels of a workflow by the text of its header; undefined without one. */
export function labelsOf(header: string | undefined): Record<string, string> | undefined {
  if (header === undefined) return undefined;
  return (JSON.parse(header) as { metadata: { labels?: Record<string, string> } }).metadata
    .labels ?? {};
}
