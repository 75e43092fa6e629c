/** Routes of artifacts: downloads, and uploads of inputs for workflows. */
import { invalid } from "../../base/problem.ts";
import {
  type ArtifactRef,
  openArtifact,
  openArtifactByUid,
  openArtifactFile,
  uploadArtifact,
} from "../../service/artifacts/artifacts.ts";
import { folderPage } from "./folder_page.ts";
import { type Call, type Download, download, param, type Route, upload } from "../route.ts";

const tag = "artifacts";

function refOf(call: { params: Record<string, string> }, side: ArtifactRef["side"]): ArtifactRef {
  return { nodeId: param(call, "nodeId"), artifact: param(call, "artifactName"), side };
}

function byName(side: ArtifactRef["side"]): Route {
  const folder = side === "outputs" ? "artifacts" : "input-artifacts";
  return download({
    path: `/${folder}/{namespace}/{name}/{nodeId}/{artifactName}`,
    operation: side === "outputs"
      ? "ArtifactService_GetOutputArtifact"
      : "ArtifactService_GetInputArtifact",
    tag,
    summary: `Download an artifact of a step's ${side}`,
    open: async (call) => ({
      type: "file",
      content: await openArtifact(
        call.service,
        call.caller,
        param(call, "namespace"),
        param(call, "name"),
        refOf(call, side),
      ),
    }),
  });
}

function byUid(side: ArtifactRef["side"]): Route {
  const folder = side === "outputs" ? "artifacts-by-uid" : "input-artifacts-by-uid";
  return download({
    path: `/${folder}/{uid}/{nodeId}/{artifactName}`,
    operation: side === "outputs"
      ? "ArtifactService_GetOutputArtifactByUID"
      : "ArtifactService_GetInputArtifactByUID",
    tag,
    summary: `Download an artifact of a step's ${side}, the workflow found by its uid`,
    open: async (call) => ({
      type: "file",
      content: await openArtifactByUid(
        call.service,
        call.caller,
        param(call, "uid"),
        refOf(call, side),
      ),
    }),
  });
}

const FILES =
  "/artifact-files/{namespace}/{idDiscriminator}/{id}/{nodeId}/{artifactDiscriminator}/{artifactName}";

/** Opens the artifact itself, a file in it, or for a path with a slash at its end the list of a folder. */
async function openFile(call: Call): Promise<Download> {
  const [by, side] = [param(call, "idDiscriminator"), param(call, "artifactDiscriminator")];
  if (by !== "workflows" && by !== "archived-workflows") {
    throw invalid(`"${by}" in the path must be workflows or archived-workflows`);
  }
  if (side !== "inputs" && side !== "outputs") {
    throw invalid(`"${side}" in the path must be inputs or outputs`);
  }
  const { path } = call.params;
  const found = await openArtifactFile(call.service, call.caller, {
    ...refOf(call, side),
    namespace: param(call, "namespace"),
    by,
    id: param(call, "id"),
    path: path ?? "",
    isFolder: path !== undefined && (path === "" || path.endsWith("/")),
  });
  switch (found.type) {
    case "file":
      return found;
    case "folder":
      return found.entries.includes("index.html")
        ? { type: "redirect", to: "index.html" }
        : { type: "page", html: folderPage(found.entries) };
    case "is-folder": {
      const last = (path ?? "").split("/").at(-1) ?? "";
      return {
        type: "redirect",
        to: `./${encodeURIComponent(last || param(call, "artifactName"))}/`,
      };
    }
  }
}

/** Every route of artifacts. */
export const ARTIFACT_ROUTES: readonly Route[] = [
  byName("outputs"),
  byName("inputs"),
  byUid("outputs"),
  byUid("inputs"),
  download({
    path: FILES,
    operation: "ArtifactService_GetArtifactFile",
    tag,
    summary:
      "Download an artifact; of one that was stored as a folder, go to the list of its files",
    open: openFile,
  }),
  download({
    path: `${FILES}/{path}`,
    operation: "ArtifactService_GetFileOfArtifact",
    tag,
    summary:
      "Download a file of an artifact that was stored as a folder; with a slash at the end, list it",
    open: openFile,
  }),
  upload({
    path: "/upload-artifacts/{namespace}/{templateName}/{artifactName}",
    operation: "ArtifactService_UploadArtifact",
    tag,
    summary:
      "Upload a file for an argument of a workflow template; the answer's key goes into `submitOptions.artifacts`",
    open: async (call) => {
      const name = param(call, "artifactName");
      const store = await uploadArtifact(call.service, call.caller, {
        namespace: param(call, "namespace"),
        template: param(call, "templateName"),
        artifact: name,
      });
      return async (file) => ({ name, key: await store(file) });
    },
  }),
];
