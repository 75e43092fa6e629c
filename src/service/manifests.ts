/**
 * Stored manifests: create, read, list, update and delete with optimistic versions, the same for every kind. What a kind
 * adds (validation, labels) is done by its callers before they come here.
 */
import type { Caller, Verb } from "../auth/port.ts";
import { invalid } from "../base/problem.ts";
import { rfc3339 } from "../engine/time_text.ts";
import { type FieldTerm, matchesFields, parseFieldSelector } from "../expr/field_selector.ts";
import { parseLabelSelector } from "../expr/label_selector.ts";
import { Turns } from "../platform/turns.ts";
import type { ManifestKind, ObjectMeta } from "../spec/manifest.ts";
import { normalForm } from "../spec/normal_form.ts";
import { KIND_SCHEMAS } from "../spec/schema_kinds.ts";
import { manifestObject, UnreadableManifest } from "../store/manifest_object.ts";
import type { StoredManifest } from "../store/port.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";
import { MANIFEST_RESOURCES } from "./kinds.ts";
import { MAX_PAGE_SIZE } from "./page_size.ts";
import {
  checkMetadata,
  generateName,
  NAME_ATTEMPTS,
  namespaceOf,
  objectExists,
  objectModified,
  objectNotFound,
  qualified,
} from "./object_names.ts";

/** Any stored manifest. */
export interface ManifestObject {
  metadata: ObjectMeta;
}

/** Filters and paging of a list of manifests. */
export interface ManifestListRequest {
  /** "" lists all namespaces. */
  namespace: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Part of the name. */
  namePattern?: string;
  /** 0 or absent: all. */
  limit?: number;
  continue?: string;
}

export interface ManifestPage<T> {
  items: T[];
  continue?: string;
  version: string;
}

/** Conditions of a deletion. */
export interface DeleteRequest {
  dryRun?: string[];
  uid?: string;
  resourceVersion?: string;
}

/**
 * The object as clients see it, with its version.
 * @throws {UnreadableManifest}
 */
export function objectFrom<T extends ManifestObject>(stored: StoredManifest): T {
  const object = manifestObject<T>(stored);
  return { ...object, metadata: { ...object.metadata, resourceVersion: stored.version } };
}

/** @throws {Problem} PermissionDenied when the caller may not do that to manifests of the kind, or to the one of the name */
export async function requireManifestAccess(
  caller: Caller,
  verb: Verb,
  kind: ManifestKind,
  namespace: string,
  name?: string,
): Promise<void> {
  const { resource, group } = MANIFEST_RESOURCES[kind];
  const place = kind === "ClusterWorkflowTemplate" ? "" : namespace;
  await requireAccess(caller, {
    verb,
    resource,
    ...(group === undefined ? {} : { group }),
    namespace: place,
    ...(name === undefined ? {} : { name }),
  });
}

/** What a list shows: an object that cannot be read as what its place tells, with the reason in an annotation. */
function listedObject<T extends ManifestObject>(
  { onUnreadable, settings }: ServiceDeps,
  stored: StoredManifest,
): T {
  try {
    return objectFrom<T>(stored);
  } catch (error) {
    if (!(error instanceof UnreadableManifest)) throw error;
    const { kind, namespace, name, version, labels } = stored;
    onUnreadable?.(kind, namespace === "" ? name : `${namespace}/${name}`, { err: error.cause });
    const metadata: ObjectMeta = {
      name,
      ...(namespace === "" ? {} : { namespace }),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      annotations: { [`${settings.naming.labelPrefix}unreadable`]: error.message },
      resourceVersion: version,
    };
    return { metadata, spec: {} } as unknown as T;
  }
}

/**
 * Reads a manifest without asking for rights.
 * @throws {Problem} NotFound, FailedPrecondition when it cannot be read
 */
export async function readManifest<T extends ManifestObject>(
  deps: ServiceDeps,
  kind: ManifestKind,
  namespace: string,
  name: string,
): Promise<T> {
  const stored = name === "" ? undefined : await deps.store.manifests.get(kind, namespace, name);
  if (stored === undefined) throw objectNotFound(deps, MANIFEST_RESOURCES[kind], name);
  return objectFrom(stored);
}

/** Reads a manifest for a caller. */
export async function getManifest<T extends ManifestObject>(
  deps: ServiceDeps,
  caller: Caller,
  kind: ManifestKind,
  namespace: string,
  name: string,
): Promise<T> {
  await requireManifestAccess(caller, "get", kind, namespace, name);
  return await readManifest(deps, kind, namespace, name);
}

/**
 * Stores a new manifest; draws a name when it has only `generateName`.
 * @throws {Problem} AlreadyExists, InvalidArgument for its metadata, PermissionDenied
 */
export async function createManifest<T extends ManifestObject>(
  deps: ServiceDeps,
  caller: Caller,
  kind: ManifestKind,
  namespace: string,
  object: T,
): Promise<T> {
  const resource = MANIFEST_RESOURCES[kind];
  const clusterWide = kind === "ClusterWorkflowTemplate";
  const place = clusterWide ? "" : namespaceOf(object.metadata, namespace);
  await requireManifestAccess(caller, "create", kind, place);
  const { name: given = "", generateName: base = "" } = object.metadata;
  for (let attempt = 1;; attempt++) {
    const name = given === "" && base !== "" ? generateName(base, deps.ids.fraction) : given;
    const { namespace: _own, ...rest } = object.metadata;
    const metadata: ObjectMeta = {
      ...rest,
      name,
      ...(place === "" ? {} : { namespace: place }),
      uid: deps.ids.uuid(),
      generation: 1,
      creationTimestamp: rfc3339(deps.clock.now()),
    };
    checkMetadata(deps, resource, metadata);
    const result = await putManifest(deps, kind, { ...object, metadata }, undefined);
    if (result !== undefined) return result;
    if (given !== "" || attempt === NAME_ATTEMPTS) {
      throw objectExists(deps, resource, name, given === "");
    }
  }
}

/**
 * Replaces a manifest by one that names the version it is based on.
 * @throws {Problem} NotFound, AlreadyExists when the version is not the stored one, InvalidArgument without a version
 */
export async function updateManifest<T extends ManifestObject>(
  deps: ServiceDeps,
  caller: Caller,
  kind: ManifestKind,
  namespace: string,
  object: T,
): Promise<T> {
  const resource = MANIFEST_RESOURCES[kind];
  const clusterWide = kind === "ClusterWorkflowTemplate";
  const place = clusterWide ? "" : namespaceOf(object.metadata, namespace);
  const name = object.metadata.name ?? "";
  await requireManifestAccess(caller, "update", kind, place, name);
  checkMetadata(deps, resource, object.metadata);
  const stored = await readManifest<T>(deps, kind, place, name);
  const version = object.metadata.resourceVersion ?? "";
  if (version === "") {
    throw invalid(
      `${
        qualified(deps, resource, "kind")
      } "${name}" is invalid: metadata.resourceVersion: Invalid value: 0: must be ` +
        "specified for an update",
    );
  }
  if (version !== stored.metadata.resourceVersion) throw objectModified(deps, resource, name);
  const { uid, creationTimestamp, generation = 1 } = stored.metadata;
  const metadata: ObjectMeta = {
    ...object.metadata,
    ...(place === "" ? {} : { namespace: place }),
    ...(uid === undefined ? {} : { uid }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    generation: generation + 1,
  };
  const result = await putManifest(deps, kind, { ...object, metadata }, version);
  if (result === undefined) throw objectModified(deps, resource, name);
  return result;
}

/** Changes a stored manifest, again when somebody else was faster. */
export async function changeManifest<T extends ManifestObject>(
  deps: ServiceDeps,
  kind: ManifestKind,
  namespace: string,
  name: string,
  change: (object: T) => T,
): Promise<T> {
  for (let attempt = 1;; attempt++) {
    const stored = await readManifest<T>(deps, kind, namespace, name);
    const version = stored.metadata.resourceVersion;
    const result = await putManifest(deps, kind, change(stored), version);
    if (result !== undefined) return result;
    if (attempt === NAME_ATTEMPTS) throw objectModified(deps, MANIFEST_RESOURCES[kind], name);
  }
}

/** @returns undefined when the stored version is not the expected one */
async function putManifest<T extends ManifestObject>(
  deps: ServiceDeps,
  kind: ManifestKind,
  object: T,
  expect: string | undefined,
): Promise<T | undefined> {
  const { resourceVersion: _old, ...metadata } = object.metadata;
  const kept = { ...object, metadata } as T & { apiVersion?: string; kind?: string };
  delete kept.apiVersion;
  delete kept.kind;
  const schema = KIND_SCHEMAS.get(kind);
  const normal = schema === undefined ? kept : normalForm(kept, schema);
  const result = await deps.store.manifests.put({
    kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    text: JSON.stringify(normal),
    labels: metadata.labels ?? {},
  }, expect);
  if ("conflict" in result) return undefined;
  if (kind === "ConfigMap") await tellLimits(deps, normal);
  const stored = result.text === undefined ? normal : JSON.parse(result.text) as T;
  return { ...stored, metadata: { ...stored.metadata, resourceVersion: result.version } };
}

/** Those who wait for a semaphore hear of its new size. The object is stored already: trouble with this is only logged. */
async function tellLimits(
  deps: ServiceDeps,
  { metadata, data }: ManifestObject & { data?: Record<string, string> },
): Promise<void> {
  const { namespace = "", name = "" } = metadata;
  try {
    await deps.host.limitsChanged(namespace, name, data ?? {});
  } catch (error) {
    deps.log.warn({ namespace, configMap: name, err: error }, "semaphore sizes were not told");
  }
}

/** Removes a manifest. */
export async function deleteManifest(
  deps: ServiceDeps,
  caller: Caller,
  kind: ManifestKind,
  namespace: string,
  name: string,
  request: DeleteRequest,
): Promise<void> {
  const resource = MANIFEST_RESOURCES[kind];
  await requireManifestAccess(caller, "delete", kind, namespace, name);
  for (let attempt = 1;; attempt++) {
    const stored = name === "" ? undefined : await deps.store.manifests.get(kind, namespace, name);
    if (stored === undefined) throw objectNotFound(deps, resource, name);
    const resourceVersion = stored.version;
    const { uid } = listedObject(deps, stored).metadata;
    if (
      (request.uid !== undefined && request.uid !== uid) ||
      (request.resourceVersion !== undefined && request.resourceVersion !== resourceVersion)
    ) throw objectModified(deps, resource, name);
    if ((request.dryRun ?? []).length > 0) return;
    // One whose record is damaged may have lost its version with it.
    const expect = resourceVersion === "0" ? undefined : resourceVersion;
    const removed = await deps.store.manifests.remove(kind, namespace, name, expect);
    if (removed !== undefined) return;
    if (attempt === NAME_ATTEMPTS) throw objectModified(deps, resource, name);
  }
}

/**
 * Lists manifests in the order of `namespace/name`. Within a page of workflow templates those of one name stand together.
 */
export async function listManifests<T extends ManifestObject>(
  deps: ServiceDeps,
  caller: Caller,
  kind: ManifestKind,
  request: ManifestListRequest,
): Promise<ManifestPage<T>> {
  const labels = parseLabelSelector(request.labelSelector ?? "");
  const fields = parseObjectFields(request.fieldSelector ?? "");
  const namespace = request.namespace;
  await requireManifestAccess(caller, "list", kind, namespace);
  const page = await deps.store.manifests.list(kind, {
    ...(namespace === "" ? {} : { namespace }),
    ...(labels.length === 0 ? {} : { labels }),
    ...(request.namePattern === undefined ? {} : { nameContains: request.namePattern }),
    ...(request.continue === undefined ? {} : { continue: request.continue }),
    limit: fields.length > 0 ? 0 : Math.max(0, request.limit ?? 0),
    maxSize: MAX_PAGE_SIZE,
  });
  const shown = page.items
    .filter((item) =>
      matchesFields(fields, (field) => field === "metadata.name" ? item.name : item.namespace)
    )
    .sort(kind === "WorkflowTemplate" ? compareNames : comparePlaces);
  const items: T[] = [];
  const turns = new Turns();
  for (const item of shown) {
    items.push(listedObject<T>(deps, item));
    await turns.pause();
  }
  return {
    items,
    version: page.version,
    ...(page.continue === undefined ? {} : { continue: page.continue }),
  };
}

/**
 * Reads a field selector of objects that offer only their name and namespace.
 * @throws {Problem} InvalidArgument for any other field
 */
export function parseObjectFields(text: string): FieldTerm[] {
  const terms = parseFieldSelector(text);
  for (const { field } of terms) {
    if (field !== "metadata.name" && field !== "metadata.namespace") {
      throw invalid(`field label not supported: ${field}`);
    }
  }
  return terms;
}

function comparePlaces(a: StoredManifest, b: StoredManifest): number {
  return compareTexts(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`);
}

/** Those of one name, from all namespaces, stand together. */
function compareNames(a: StoredManifest, b: StoredManifest): number {
  return compareTexts(a.name, b.name) || compareTexts(a.namespace, b.namespace);
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
