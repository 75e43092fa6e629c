/** Downloads of artifacts. */
import { type ArtifactRef, openArtifact, openArtifactByUid } from "../service/artifacts.ts";
import { download, type DownloadRoute, param } from "./route.ts";

const tag = "artifacts";

function refOf(call: { params: Record<string, string> }, side: ArtifactRef["side"]): ArtifactRef {
  return { nodeId: param(call, "nodeId"), artifact: param(call, "artifactName"), side };
}

function byName(side: ArtifactRef["side"]): DownloadRoute {
  const folder = side === "outputs" ? "artifacts" : "input-artifacts";
  return download({
    path: `/${folder}/{namespace}/{name}/{nodeId}/{artifactName}`,
    operation: side === "outputs"
      ? "ArtifactService_GetOutputArtifact"
      : "ArtifactService_GetInputArtifact",
    tag,
    summary: `Download an artifact of a step's ${side}`,
    open: (call) =>
      openArtifact(
        call.service,
        call.caller,
        param(call, "namespace"),
        param(call, "name"),
        refOf(call, side),
      ),
  });
}

function byUid(side: ArtifactRef["side"]): DownloadRoute {
  const folder = side === "outputs" ? "artifacts-by-uid" : "input-artifacts-by-uid";
  return download({
    path: `/${folder}/{uid}/{nodeId}/{artifactName}`,
    operation: side === "outputs"
      ? "ArtifactService_GetOutputArtifactByUID"
      : "ArtifactService_GetInputArtifactByUID",
    tag,
    summary: `Download an artifact of a step's ${side}, the workflow found by its uid`,
    open: (call) =>
      openArtifactByUid(call.service, call.caller, param(call, "uid"), refOf(call, side)),
  });
}

/** Every route of artifacts. */
export const ARTIFACT_ROUTES: readonly DownloadRoute[] = [
  byName("outputs"),
  byName("inputs"),
  byUid("outputs"),
  byUid("inputs"),
];
