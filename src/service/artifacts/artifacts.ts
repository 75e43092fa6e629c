/** Downloads of artifacts that were inputs or outputs of steps, and uploads of those that will be inputs. */
import type { Readable } from "node:stream";
import type { ArtifactContent, ArtifactScope } from "../../artifacts/port.ts";
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid, notFound, unavailable } from "../../base/problem.ts";
import { formerKeys } from "../../engine/cleanup/former_keys.ts";
import { uploadKey } from "../../spec/artifact_key.ts";
import type { Artifact, Workflow } from "../../spec/manifest.ts";
import type { ArtifactSource, ServiceDeps } from "../deps.ts";
import { requireAccess } from "../access.ts";
import { getArchived } from "../workflows/archive.ts";
import { WORKFLOW } from "../kinds.ts";
import { getTemplate } from "../manifests/reads.ts";
import { findWorkflowByUid, getWorkflow } from "../workflows/reads.ts";
import { withKey } from "../workflows/artifact_overrides.ts";

export type { ArtifactContent };

/** Which artifact of a workflow is meant. */
export interface ArtifactRef {
  nodeId: string;
  artifact: string;
  side: "inputs" | "outputs";
}

/** Opens an artifact of a workflow that is found by its name. */
export async function openArtifact(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  name: string,
  ref: ArtifactRef,
): Promise<ArtifactContent> {
  return await open(deps, await getWorkflow(deps, caller, { namespace, name }), ref);
}

/** Opens an artifact of a workflow that is found by its uid. */
export async function openArtifactByUid(
  deps: ServiceDeps,
  caller: Caller,
  uid: string,
  ref: ArtifactRef,
): Promise<ArtifactContent> {
  const workflow = await findWorkflowByUid(deps, uid);
  if (workflow === undefined) throw notFound("not found");
  const { namespace = "", name = "" } = workflow.metadata;
  await requireAccess(caller, { verb: "get", resource: WORKFLOW.resource, namespace, name });
  return await open(deps, workflow, ref);
}

/** A file of an artifact that was stored as a folder. */
export interface ArtifactFileRef extends ArtifactRef {
  namespace: string;
  /** Whether `id` is the name of a workflow or the uid of an archived one. */
  by: "workflows" | "archived-workflows";
  id: string;
  /** Path below the artifact. "" is the artifact itself; a slash at the end asks for the content of a folder. */
  path: string;
  /** The content of a folder is asked for. */
  isFolder: boolean;
}

/** What is at that path. */
export type ArtifactFile =
  | { type: "file"; content: ArtifactContent }
  /** Names in the folder; those of folders have a slash at the end. */
  | { type: "folder"; entries: string[] }
  /** A folder that was asked for as a file. */
  | { type: "is-folder" };

/** Opens a file of an artifact that was stored as a folder, or lists a folder of it. */
export async function openArtifactFile(
  deps: ServiceDeps,
  caller: Caller,
  ref: ArtifactFileRef,
): Promise<ArtifactFile> {
  const { namespace, id, path, isFolder } = ref;
  const workflow = ref.by === "workflows"
    ? await getWorkflow(deps, caller, { namespace, name: id })
    : await getArchived(deps, caller, { uid: id });
  if (workflow.metadata.namespace !== namespace) throw notFound("not found");
  const { artifact, source, scope } = find(deps, workflow, ref);
  const parts = path.replace(/\/$/, "").split("/").filter((part) => part !== "");
  if (parts.some((part) => part === "." || part === "..")) throw notFound("not found");
  const subPath = [artifact.subPath ?? "", ...parts].filter((part) => part !== "").join("/");
  const wanted = subPath === "" ? artifact : { ...artifact, subPath };
  const hasPath = artifact.raw === undefined && artifact.http === undefined &&
    artifact.artifactory === undefined;
  if (hasPath || parts.length === 0) {
    if (isFolder) {
      const entries = await source.entries(wanted, scope);
      if (entries.length > 0) return { type: "folder", entries };
    } else {
      const content = await source.open(wanted, scope);
      if (content !== undefined) return { type: "file", content };
      if ((await source.entries(wanted, scope)).length > 0) return { type: "is-folder" };
    }
  }
  throw notFound(`artifact "${ref.artifact}" has no ${isFolder ? "folder" : "file"} "${path}"`);
}

/** Longest name of an uploaded file, bytes. File systems take no more. */
const MAX_FILE_NAME = 255;
/** Characters of a name that a refusal shows. */
const SHOWN_NAME = 40;

/** A file for an argument of a stored template. */
export interface UploadRequest {
  namespace: string;
  template: string;
  /** Name of an artifact of the template's arguments. */
  artifact: string;
  /** The sender's name of the file; of a path, only the last part counts. */
  fileName: string;
  body: Readable;
}

/**
 * Checks that a caller may upload a file for an argument of a template.
 *
 * @returns stores the file; to be called once. Resolves to the key for `submitOptions.artifacts`
 */
export async function uploadArtifact(
  deps: ServiceDeps,
  caller: Caller,
  { namespace, template, artifact: name }: Omit<UploadRequest, "fileName" | "body">,
): Promise<(file: Pick<UploadRequest, "fileName" | "body">) => Promise<string>> {
  const stored = await getTemplate(deps, caller, "WorkflowTemplate", namespace, template);
  await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace });
  const artifact = stored.spec.arguments?.artifacts?.find((one) => one.name === name);
  if (artifact === undefined) {
    throw notFound(`workflow template "${template}" has no artifact "${name}" in its arguments`);
  }
  const source = sourceOf(deps);
  const { artifactRepositoryRef: repositoryRef } = stored.spec;
  return async ({ fileName, body }) => {
    const base = fileName.split(/[/\\]/).at(-1) ?? "";
    if (base === "" || base === "." || base === ".." || /\p{Cc}/u.test(base)) {
      throw invalid(`${JSON.stringify(base.slice(0, SHOWN_NAME))} can't be the name of a file`);
    }
    if (Buffer.byteLength(base) > MAX_FILE_NAME) {
      throw invalid(
        `the name "${
          base.slice(0, SHOWN_NAME)
        }…" has more than ${MAX_FILE_NAME} bytes; upload the file under a shorter one`,
      );
    }
    const key = uploadKey(namespace, deps.ids.uuid(), base);
    await source.write(withKey(artifact, key), body, {
      namespace,
      ...defined({ repositoryRef }),
    });
    return key;
  };
}

async function open(
  deps: ServiceDeps,
  workflow: Workflow,
  ref: ArtifactRef,
): Promise<ArtifactContent> {
  const { artifact, source, scope } = find(deps, workflow, ref);
  const content = await source.open(artifact, scope);
  if (content === undefined) {
    const isFolder = (await source.entries(artifact, scope)).length > 0;
    throw notFound(
      isFolder
        ? `artifact "${ref.artifact}" is a folder: its files are below /artifact-files/`
        : `artifact "${ref.artifact}" is no longer stored${source.absence(artifact, scope)}`,
    );
  }
  return content;
}

function find(
  deps: ServiceDeps,
  workflow: Workflow,
  ref: ArtifactRef,
): { artifact: Artifact; source: ArtifactSource; scope: ArtifactScope } {
  const { name = "" } = workflow.metadata;
  const nodes = workflow.status?.nodes ?? {};
  const node = Object.hasOwn(nodes, ref.nodeId) ? nodes[ref.nodeId] : undefined;
  if (node === undefined) throw notFound(`workflow "${name}" has no node "${ref.nodeId}"`);
  const artifact = node[ref.side]?.artifacts?.find((one) => one.name === ref.artifact);
  if (artifact === undefined) {
    throw notFound(`node "${ref.nodeId}" has no artifact "${ref.artifact}" in its ${ref.side}`);
  }
  return { artifact, source: sourceOf(deps), scope: artifactScope(workflow, artifact) };
}

/** Where an artifact of a workflow may be looked for. */
export function artifactScope(workflow: Workflow, artifact: Artifact): ArtifactScope {
  const { namespace = "", name = "" } = workflow.metadata;
  const { artifactRepositoryRef: repositoryRef } = workflow.spec;
  const nodes = Object.values(workflow.status?.nodes ?? {});
  return {
    namespace,
    ...defined({ repositoryRef }),
    formerKeys: formerKeys({ namespace, name, nodes }, [artifact]),
  };
}

function sourceOf({ artifacts }: ServiceDeps): ArtifactSource {
  if (artifacts === undefined) throw unavailable("this server keeps no artifacts");
  return artifacts;
}
