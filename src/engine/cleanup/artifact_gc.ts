/** Which artifacts a workflow gives up, and when. */
import type { Artifact, WorkflowSpec } from "../../spec/manifest.ts";
import type { UnwantedArtifacts } from "../effect.ts";
import { formerKeys } from "./former_keys.ts";
import { executedSpec, workflowName, workflowNamespace, type WorkflowState } from "../state.ts";
import type { NodeRecord } from "../records.ts";

/** Moments at which artifacts are removed. */
export type ArtifactGcStrategy = "OnWorkflowCompletion" | "OnWorkflowDeletion";

/**
 * Output artifacts to remove at this moment. The strategy of an artifact comes before that of its workflow. Undefined when
 * there are none.
 */
export function artifactsToCollect(
  state: WorkflowState,
  moment: ArtifactGcStrategy,
): UnwantedArtifacts | undefined {
  const spec = executedSpec(state);
  const { artifactRepositoryRef: repositoryRef } = spec;
  const general = artifactGcOf(spec);
  const artifacts: Artifact[] = [];
  for (const node of state.nodes.values()) {
    if (node.outputs?.artifacts === undefined) continue;
    for (const artifact of artifactsOfNode(node, general, moment)) artifacts.push(artifact);
  }
  if (artifacts.length === 0) return undefined;
  const former = formerKeys({
    namespace: workflowNamespace(state),
    name: workflowName(state),
    nodes: state.nodes.values(),
  }, artifacts);
  return {
    artifacts,
    ...(repositoryRef === undefined ? {} : { repositoryRef }),
    ...(former.length === 0 ? {} : { formerKeys: former }),
  };
}

/** The same for one node. */
export function artifactsOfNode(
  { outputs }: Pick<NodeRecord, "outputs">,
  general: unknown,
  moment: ArtifactGcStrategy,
): Artifact[] {
  return (outputs?.artifacts ?? []).filter((artifact) =>
    (strategyOf(artifact.artifactGC) ?? general) === moment
  );
}

/** Strategy of a workflow for artifacts without one of their own. */
export function artifactGcOf(spec: WorkflowSpec): unknown {
  return strategyOf(spec.artifactGC);
}

function strategyOf(gc: { strategy?: unknown } | undefined): unknown {
  return gc?.strategy === undefined || gc.strategy === "" ? undefined : gc.strategy;
}
