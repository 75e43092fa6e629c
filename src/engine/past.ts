/** What the object of a workflow does not show of its past, and a workflow that comes back from an archive must know. */
import type { WorkflowState } from "./state.ts";

export interface WorkflowPast {
  /** How often it was retried by hand. */
  retries: number;
  /** How often nodes were started, by id, also those that a retry removed. Absent: once if it is a pod, else never. */
  starts?: Record<string, number>;
}

/** The past of a workflow. */
export function pastOf({ header, nodes, specs }: WorkflowState): WorkflowPast {
  const starts: Record<string, number> = { ...specs.pastStarts };
  // A pod that is imported counts as started once.
  for (const [id, { starts: count = 0, type }] of nodes) {
    if (count > (type === "Pod" ? 1 : 0)) starts[id] = count;
  }
  const isKnown = Object.keys(starts).length > 0;
  return { retries: header.retries ?? 0, ...(isKnown && { starts }) };
}

/** Gives a workflow that was made from its object its past back, so that no task id is used twice. */
export function recallPast(state: WorkflowState, { retries, starts = {} }: WorkflowPast): void {
  const { header, nodes, specs } = state;
  if (retries > 0) header.retries = retries;
  const gone: Record<string, number> = {};
  for (const [id, count] of Object.entries(starts)) {
    const node = nodes.get(id);
    if (node === undefined) gone[id] = count;
    else node.starts = count;
  }
  if (Object.keys(gone).length > 0) specs.pastStarts = gone;
}
