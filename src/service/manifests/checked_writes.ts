/**
 * Create, update and lint of the kinds of manifests that are checked before they are stored. Labels of the caller are
 * added, and rights are asked for before any template that the manifest refers to is read.
 */
import type { Caller } from "../../auth/port.ts";
import { invalid } from "../../base/problem.ts";
import type { ValidationOptions } from "../../spec/validation/validate.ts";
import { withActorLabels, withCreatorLabels } from "../caller_labels.ts";
import type { ServiceDeps } from "../deps.ts";
import { type ManifestObject, requireManifestAccess } from "./reads.ts";
import {
  type CheckedKind,
  type CheckedManifest,
  type CheckedManifests,
  validateManifest,
} from "./validation.ts";
import { createManifest, normalManifest, updateManifest, type WriteOptions } from "./writes.ts";

/** Refusals of requests that hold no object: in the words of the reference where it has the routes, or else with the member to give. */
const MISSING: Readonly<Record<CheckedKind, { create: string; update: string }>> = {
  WorkflowTemplate: {
    create: "workflow template was not found in the request body",
    update: "WorkflowTemplate is not found in Request body",
  },
  ClusterWorkflowTemplate: {
    create: "cluster workflow template was not found in the request body",
    update: "ClusterWorkflowTemplate is not found in Request body",
  },
  CronWorkflow: {
    create: "cron workflow was not found in the request body",
    update: "cron workflow was not found in the request body",
  },
  WorkflowEventBinding: {
    create: "the request body has no event binding: give the manifest as its member `binding`",
    update: "the request body has no event binding: give the manifest as its member `binding`",
  },
  Subscription: {
    create: "the request body has no subscription: give the manifest as its member `subscription`",
    update: "the request body has no subscription: give the manifest as its member `subscription`",
  },
};

/** Tells whether manifests of a kind are checked before they are stored. */
export function isCheckedKind(kind: string): kind is CheckedKind {
  return Object.hasOwn(MISSING, kind);
}

/** Checks and stores a new manifest. */
export async function createChecked<K extends CheckedKind>(
  deps: ServiceDeps,
  caller: Caller,
  kind: K,
  namespace: string,
  object: CheckedManifests[K] | undefined,
  options?: WriteOptions,
): Promise<CheckedManifests[K]> {
  const checked = await checkNew(deps, caller, kind, namespace, object, {});
  return await createManifest(deps, caller, kind, namespace, checked, options);
}

/**
 * Checks a manifest and replaces the stored one of its name.
 * @param pathName the name in the request's path; "" when it has none
 */
export async function updateChecked<K extends CheckedKind>(
  deps: ServiceDeps,
  caller: Caller,
  kind: K,
  namespace: string,
  pathName: string,
  object: CheckedManifests[K] | undefined,
  options?: WriteOptions,
): Promise<CheckedManifests[K]> {
  if (object === undefined) throw invalid(MISSING[kind].update);
  requireSameName(pathName, object);
  const changed = withActorLabels(deps, normalManifest(kind, object), caller);
  const { name = "" } = object.metadata;
  await requireManifestAccess(caller, "update", kind, namespace, name);
  const checked = { kind, manifest: changed } as CheckedManifest;
  await validateManifest(deps, caller, checked, namespace);
  return await updateManifest(deps, caller, kind, namespace, changed, options);
}

/** Checks a manifest without storing it; needs the right to create it. @returns it as it would be stored */
export async function lintManifest<K extends CheckedKind>(
  deps: ServiceDeps,
  caller: Caller,
  kind: K,
  namespace: string,
  object: CheckedManifests[K] | undefined,
): Promise<CheckedManifests[K]> {
  const checked = await checkNew(deps, caller, kind, namespace, object, { lint: true });
  return normalManifest(kind, checked);
}

async function checkNew<K extends CheckedKind>(
  deps: ServiceDeps,
  caller: Caller,
  kind: K,
  namespace: string,
  object: CheckedManifests[K] | undefined,
  options: ValidationOptions,
): Promise<CheckedManifests[K]> {
  if (object === undefined) throw invalid(MISSING[kind].create);
  // As it is stored: a template with an empty list of steps is one without a type.
  const manifest = withCreatorLabels(deps, normalManifest(kind, object), caller);
  await requireManifestAccess(caller, "create", kind, namespace);
  const checked = { kind, manifest } as CheckedManifest;
  await validateManifest(deps, caller, checked, namespace, options);
  return manifest;
}

/** @throws {Problem} InvalidArgument when the path names another object than the body */
function requireSameName(pathName: string, object: ManifestObject): void {
  const name = object.metadata.name ?? "";
  if (pathName !== "" && pathName !== name) {
    throw invalid(`the name of the object ("${name}") is not the one of the path ("${pathName}")`);
  }
}
