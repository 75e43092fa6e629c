/** What the object of a workflow does not show of its past, and a workflow that comes back from an archive must know. */
import type { CallbackNote } from "./records.ts";
import type { WorkflowState } from "./state.ts";

export interface WorkflowPast {
  /** How often it was retried by hand. */
  retries: number;
  /** How often nodes were started, by id, also those that a retry removed. Absent: once if it is a pod, else never. */
  starts?: Record<string, number>;
  /** The callbacks that ended the waits of nodes, by id, so that a repeat is known. */
  callbacks?: Record<string, CallbackNote>;
  /** A step was given a URL of a callback. */
  makesCallbacks?: true;
}

/** The past of a workflow. */
export function pastOf({ header, nodes, specs }: WorkflowState): WorkflowPast {
  const starts: Record<string, number> = { ...specs.pastStarts };
  const callbacks: Record<string, CallbackNote> = {};
  for (const [id, { starts: count = 0, type, callback }] of nodes) {
    // A pod that is imported counts as started once.
    if (count > (type === "Pod" ? 1 : 0)) starts[id] = count;
    if (callback !== undefined) callbacks[id] = callback;
  }
  return {
    retries: header.retries ?? 0,
    ...(Object.keys(starts).length > 0 && { starts }),
    ...(Object.keys(callbacks).length > 0 && { callbacks }),
    ...(header.makesCallbacks === true && { makesCallbacks: true }),
  };
}

/** Gives a workflow that was made from its object its past back, so that no task id is used twice. */
export function recallPast(state: WorkflowState, past: WorkflowPast): void {
  const { header, nodes, specs } = state;
  const { retries, starts = {}, callbacks = {}, makesCallbacks } = past;
  if (retries > 0) header.retries = retries;
  if (makesCallbacks === true) header.makesCallbacks = true;
  const gone: Record<string, number> = {};
  for (const [id, count] of Object.entries(starts)) {
    const node = nodes.get(id);
    if (node === undefined) gone[id] = count;
    else node.starts = count;
  }
  if (Object.keys(gone).length > 0) specs.pastStarts = gone;
  for (const [id, note] of Object.entries(callbacks)) {
    const node = nodes.get(id);
    if (node !== undefined) node.callback = note;
  }
}
