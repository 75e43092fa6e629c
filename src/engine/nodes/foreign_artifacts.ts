/** Artifacts of other namespaces in the deployment's repository. No node may hold one, or its workflow could read it. */
import { foreignKey } from "../../spec/artifact_key.ts";
import type { Artifact } from "../../spec/manifest.ts";
import { executedSpec, workflowNamespace } from "../state.ts";
import type { Turn } from "../turn.ts";

/** The first artifact of another namespace. Undefined when keys are shared or the workflow has a repository of its own. */
export function foreignArtifact(
  turn: Turn,
  artifacts: readonly Artifact[] = [],
): { artifact: Artifact; key: string } | undefined {
  if (artifacts.length === 0 || turn.env.artifactKeys !== "namespace") return undefined;
  if (executedSpec(turn.state).artifactRepositoryRef !== undefined) return undefined;
  for (const artifact of artifacts) {
    const key = foreignKey(artifact, workflowNamespace(turn.state));
    if (key !== undefined) return { artifact, key };
  }
  return undefined;
}
