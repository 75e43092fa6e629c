/** When the volume claims of a workflow are removed. */
import type { JsonObject } from "../../base/json.ts";
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
  const names = claimNames(state);
  if (names.length === 0) return undefined;
  const { namespace = "", name = "", uid = "" } = state.header.metadata;
  return { type: "remove-claims", id, namespace, workflow: name, workflowUid: uid, names };
}

/** The volumes of the claims, as the status shows them; undefined when the workflow has none, or gave them up. */
export function claimVolumes(state: WorkflowState): JsonObject[] | undefined {
  const { metadata, conditions, phase, finishedAt } = state.header;
  // One that never began has asked for none.
  if (conditions?.some(({ type }) => type === "PodRunning") !== true || phase === "") {
    return undefined;
  }
  if (finishedAt !== undefined && givesUpClaims(state, phase)) return undefined;
  const names = claimNames(state);
  if (names.length === 0) return undefined;
  return names.map((name) => ({
    name,
    persistentVolumeClaim: { claimName: `${metadata.name ?? ""}-${name}` },
  }));
}

function claimNames(state: WorkflowState): string[] {
  return (executedSpec(state).volumeClaimTemplates ?? []).flatMap(({ metadata }) =>
    typeof metadata === "object" && metadata !== null && "name" in metadata
      ? [String(metadata["name"])]
      : []
  );
}
