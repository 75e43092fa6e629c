/** Artifacts in the deployment's repository that are not the workflow's: no node may hold one, or it could be read by it. */
import { foreignKey } from "../spec/artifact_key.ts";
import type { Artifact } from "../spec/manifest.ts";
import { executedSpec, type Turn, workflowNamespace } from "./state.ts";

/** The first artifact whose key is another namespace's; undefined when keys are shared, or the workflow has its own repository. */
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
