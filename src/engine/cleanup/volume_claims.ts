/** When the volume claims of a workflow are removed. */
import type { WorkflowPhase } from "../../spec/manifest.ts";
import type { Effect } from "../effect.ts";
import { executedSpec, type WorkflowState } from "../state.ts";

type RemoveClaims = Extract<Effect, { type: "remove-claims" }>;

/** Tells whether the claims are removed when the workflow ends in this phase. By default only Succeeded removes them. */
export function givesUpClaims(state: WorkflowState, phase: WorkflowPhase): boolean {
  const { strategy } = executedSpec(state).volumeClaimGC ?? {};
  return phase === "Succeeded" || strategy === "OnWorkflowCompletion";
}

/** Removes the claims; undefined when there are none. */
export function removeClaims(state: WorkflowState, id: string): RemoveClaims | undefined {
  const names = (executedSpec(state).volumeClaimTemplates ?? []).flatMap(({ metadata }) =>
    typeof metadata === "object" && metadata !== null && "name" in metadata
      ? [String(metadata["name"])]
      : []
  );
  if (names.length === 0) return undefined;
  const { namespace = "", name = "", uid = "" } = state.header.metadata;
  return { type: "remove-claims", id, namespace, workflow: name, workflowUid: uid, names };
}
