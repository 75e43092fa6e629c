/** Downloads of artifacts that steps took in or left behind. */
import type { ArtifactContent, ArtifactStore } from "../artifacts/port.ts";
import type { Caller } from "../auth/port.ts";
import { notFound, unavailable } from "../base/problem.ts";
import type { Workflow } from "../spec/manifest.ts";
import type { ServiceDeps } from "./deps.ts";
import { requireAccess } from "./access.ts";
import { WORKFLOW } from "./kinds.ts";
import { findWorkflowByUid, getWorkflow } from "./workflow_reads.ts";

export type { ArtifactContent };

/** Where the bytes of artifacts are read. */
export type ArtifactSource = Pick<ArtifactStore, "open">;

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

async function open(
  deps: ServiceDeps,
  workflow: Workflow,
  ref: ArtifactRef,
): Promise<ArtifactContent> {
  const { namespace = "", name = "" } = workflow.metadata;
  const node = workflow.status?.nodes?.[ref.nodeId];
  if (node === undefined) throw notFound(`workflow "${name}" has no node "${ref.nodeId}"`);
  const artifact = node[ref.side]?.artifacts?.find((one) => one.name === ref.artifact);
  if (artifact === undefined) {
    throw notFound(`node "${ref.nodeId}" has no artifact "${ref.artifact}" in its ${ref.side}`);
  }
  if (deps.artifacts === undefined) throw unavailable("this server keeps no artifacts");
  const { artifactRepositoryRef } = workflow.spec;
  const content = await deps.artifacts.open(artifact, {
    namespace,
    ...(artifactRepositoryRef === undefined ? {} : { repositoryRef: artifactRepositoryRef }),
  });
  if (content === undefined) throw notFound(`artifact "${ref.artifact}" is no longer stored`);
  return content;
}
