/** Labels of a workflow that exists. */
import type { WorkflowState } from "../../engine/state.ts";

/** Sets labels; null removes one. */
export function relabel(state: WorkflowState, labels: Record<string, string | null>): void {
  const { metadata } = state.header;
  const merged = { ...metadata.labels };
  for (const [key, value] of Object.entries(labels)) {
    if (value === null) delete merged[key];
    else merged[key] = value;
  }
  if (Object.keys(merged).length > 0) metadata.labels = merged;
  else delete metadata.labels;
  state.pending.header = true;
  state.pending.index = true;
}
