/** Workflow templates and cluster workflow templates. */
import type { Caller } from "../auth/port.ts";
import { invalid } from "../base/problem.ts";
import type { WorkflowTemplate } from "../spec/manifest.ts";
import { requirePlainAccess } from "./access.ts";
import { actorLabels, withChanges, withCreator } from "./caller_labels.ts";
import type { ServiceDeps } from "./deps.ts";
import { MANIFEST_RESOURCES } from "./kinds.ts";
import {
  createManifest,
  type ManifestObject,
  readManifest,
  requireManifestAccess,
  updateManifest,
} from "./manifests.ts";
import { validateTemplate } from "./validation.ts";

export type TemplateKind = "WorkflowTemplate" | "ClusterWorkflowTemplate";

const MISSING_ON_CREATE: Record<TemplateKind, string> = {
  WorkflowTemplate: "workflow template was not found in the request body",
  ClusterWorkflowTemplate: "cluster workflow template was not found in the request body",
};

/** Checks and stores a new template. */
export async function createTemplate(
  deps: ServiceDeps,
  caller: Caller,
  kind: TemplateKind,
  namespace: string,
  template: WorkflowTemplate | undefined,
): Promise<WorkflowTemplate> {
  if (template === undefined) throw invalid(MISSING_ON_CREATE[kind]);
  const made = withCreatorLabels(deps, template, caller);
  await requireManifestAccess(caller, "create", kind, namespace);
  await validateTemplate(deps, caller, made, kind, namespace);
  return await createManifest(deps, caller, kind, namespace, made);
}

/** Reads a template. */
export async function getTemplate(
  deps: ServiceDeps,
  caller: Caller,
  kind: TemplateKind,
  namespace: string,
  name: string,
): Promise<WorkflowTemplate> {
  const { resource } = MANIFEST_RESOURCES[kind];
  await requirePlainAccess(caller, { verb: "get", resource, namespace, name });
  return await readManifest(deps, kind, namespace, name);
}

/**
 * Checks a template and replaces the stored one of its name.
 * @param pathName the name that the request's path has; "" when it has none
 */
export async function updateTemplate(
  deps: ServiceDeps,
  caller: Caller,
  kind: TemplateKind,
  namespace: string,
  pathName: string,
  template: WorkflowTemplate | undefined,
): Promise<WorkflowTemplate> {
  if (template === undefined) throw invalid(`${kind} is not found in Request body`);
  requireSameName(pathName, template);
  const changed = withActorLabels(deps, template, caller);
  await requireManifestAccess(caller, "update", kind, namespace, template.metadata.name ?? "");
  await validateTemplate(deps, caller, changed, kind, namespace);
  return await updateManifest(deps, caller, kind, namespace, changed);
}

/** Checks a template without storing it; needs the rights of a creation. */
export async function lintTemplate(
  deps: ServiceDeps,
  caller: Caller,
  kind: TemplateKind,
  namespace: string,
  template: WorkflowTemplate | undefined,
): Promise<WorkflowTemplate> {
  if (template === undefined) throw invalid(MISSING_ON_CREATE[kind]);
  const checked = withCreatorLabels(deps, template, caller);
  await requireManifestAccess(caller, "create", kind, namespace);
  await validateTemplate(deps, caller, checked, kind, namespace, { lint: true });
  return checked;
}

/** The object with the labels of its creator. */
export function withCreatorLabels<T extends ManifestObject>(
  { settings }: ServiceDeps,
  object: T,
  caller: Caller,
): T {
  const { labels, ...metadata } = object.metadata;
  const changed = withCreator(labels, caller.identity, settings.naming.labelPrefix);
  return {
    ...object,
    metadata: { ...metadata, ...(changed === undefined ? {} : { labels: changed }) },
  };
}

/** The object with the labels of who updates it. */
export function withActorLabels<T extends ManifestObject>(
  { settings }: ServiceDeps,
  object: T,
  caller: Caller,
): T {
  const { labels, ...metadata } = object.metadata;
  const changes = actorLabels(caller.identity, "Update", settings.naming.labelPrefix);
  const changed = withChanges(labels, changes);
  return {
    ...object,
    metadata: { ...metadata, ...(changed === undefined ? {} : { labels: changed }) },
  };
}

/** @throws {Problem} InvalidArgument when the path names another object than the body */
export function requireSameName(pathName: string, object: ManifestObject): void {
  const name = object.metadata.name ?? "";
  if (pathName !== "" && pathName !== name) {
    throw invalid(`the name of the object ("${name}") is not the one of the path ("${pathName}")`);
  }
}
