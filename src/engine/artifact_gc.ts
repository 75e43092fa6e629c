/** Which artifacts a workflow gives up, and when. */
import type { Artifact } from "../spec/manifest.ts";
import { executedSpec, type WorkflowState } from "./state.ts";

/** Moments at which artifacts are removed. */
export type ArtifactGcStrategy = "OnWorkflowCompletion" | "OnWorkflowDeletion";

/** Output artifacts that are to be removed at this moment; what the artifact itself says counts before the workflow. */
export function artifactsToCollect(state: WorkflowState, moment: ArtifactGcStrategy): Artifact[] {
  const general = strategyOf(executedSpec(state).artifactGC);
  return [...state.nodes.values()]
    .flatMap((node) => node.outputs?.artifacts ?? [])
    .filter((artifact) => (strategyOf(artifact.artifactGC) ?? general) === moment);
}

function strategyOf(gc: { strategy?: unknown } | undefined): unknown {
  return gc?.strategy === undefined || gc.strategy === "" ? undefined : gc.strategy;
}
