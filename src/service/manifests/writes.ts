/**
 * Storing manifests: create, update and delete with optimistic versions, the same for every kind. Validation and labels,
 * which differ between kinds, come before this.
 */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid } from "../../base/problem.ts";
import { rfc3339 } from "../../engine/scope/time_text.ts";
import type { ManifestKind, ObjectMeta } from "../../spec/manifest.ts";
import { normalForm } from "../../spec/normal_form.ts";
import { KIND_SCHEMAS } from "../../spec/schema/kinds.ts";
import { orphansDependents } from "../deleted_owners.ts";
import { type DeleteRequest, isToBeDeleted } from "../deletions.ts";
import type { ServiceDeps } from "../deps.ts";
import { MANIFEST_RESOURCES } from "../kinds.ts";
import {
  checkMetadata,
  generateName,
  NAME_ATTEMPTS,
  namespaceOf,
  objectExists,
  objectModified,
  objectNotFound,
  otherObject,
  qualified,
} from "../object_names.ts";
import { requireRoomForSubscription } from "./subscription_limits.ts";
import { listedObject, type ManifestObject, readManifest, requireManifestAccess } from "./reads.ts";

/** What is asked of a write beside the object. */
export interface WriteOptions {
  /** Does everything but store it. */
  dryRun?: boolean;
}

/**
 * Stores a new manifest; generates a name when it has only `generateName`.
 * @throws {Problem} AlreadyExists, InvalidArgument for its metadata, PermissionDenied; ResourceExhausted for one subscription too many
 */
export async function createManifest<T extends ManifestObject>(
  deps: ServiceDeps,
  caller: Caller,
  kind: ManifestKind,
  namespace: string,
  object: T,
  { dryRun = false }: WriteOptions = {},
): Promise<T> {
  const resource = MANIFEST_RESOURCES[kind];
  const place = placeOf(kind, object, namespace);
  await requireManifestAccess(caller, "create", kind, place ?? "");
  if (kind === "Subscription") await requireRoomForSubscription(deps, place ?? "");
  const { name: given = "", generateName: base = "" } = object.metadata;
  for (let attempt = 1;; attempt++) {
    const name = given === "" && base !== "" ? generateName(base, deps.ids.fraction) : given;
    const { namespace: _own, deletionTimestamp: _deleted, ...rest } = object.metadata;
    const metadata: ObjectMeta = {
      ...rest,
      name,
      ...defined({ namespace: place }),
      uid: deps.ids.uuid(),
      generation: 1,
      creationTimestamp: rfc3339(deps.clock.now()),
    };
    checkMetadata(deps, resource, metadata, true);
    const made = { ...object, metadata };
    const result = dryRun
      ? await unlessStored(deps, kind, made)
      : await putManifest(deps, kind, made, undefined);
    if (result !== undefined) return result;
    if (given !== "" || attempt === NAME_ATTEMPTS) {
      throw objectExists(deps, resource, name, given === "");
    }
  }
}

/**
 * Replaces a manifest by one that names the version that it is based on.
 * @throws {Problem} NotFound, AlreadyExists when the version or a uid is not the stored one, InvalidArgument without a version
 */
export async function updateManifest<T extends ManifestObject>(
  deps: ServiceDeps,
  caller: Caller,
  kind: ManifestKind,
  namespace: string,
  object: T,
  { dryRun = false }: WriteOptions = {},
): Promise<T> {
  const resource = MANIFEST_RESOURCES[kind];
  const place = placeOf(kind, object, namespace);
  const name = object.metadata.name ?? "";
  await requireRead(caller, kind, place ?? "", name);
  await requireManifestAccess(caller, "update", kind, place ?? "", name);
  checkMetadata(deps, resource, object.metadata);
  const stored = await readManifest<T>(deps, kind, place ?? "", name);
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
  const { uid: meant = "" } = object.metadata;
  if (meant !== "" && meant !== uid) throw otherObject(deps, resource, name, meant, uid);
  // Only a deletion says when it was asked for.
  const { deletionTimestamp: _deleted, ...given } = object.metadata;
  const metadata: ObjectMeta = {
    ...given,
    ...defined({ namespace: place, uid, creationTimestamp }),
    generation: generation + 1,
  };
  const changed = { ...object, metadata };
  if (dryRun) return normalManifest(kind, changed);
  const result = await putManifest(deps, kind, changed, version);
  if (result === undefined) throw objectModified(deps, resource, name);
  return result;
}

/**
 * Changes a stored manifest; when somebody else changes it in between, it is read and changed again.
 * @param change gives the same object when there is nothing to change
 */
export function changeManifest<T extends ManifestObject>(
  deps: ServiceDeps,
  kind: ManifestKind,
  namespace: string,
  name: string,
  change: (object: T) => T,
): Promise<T> {
  // Many at once would be in each other's way until some had no attempt left: only other replicas are.
  return afterOthers(
    deps.store,
    `${kind}/${namespace}/${name}`,
    () => tryToChange(deps, kind, namespace, name, change),
  );
}

/** The last change of each object that is under way in this process. */
const underWay = new WeakMap<object, Map<string, Promise<unknown>>>();

/** Runs a change of an object when those that began before it have ended. */
async function afterOthers<T>(store: object, key: string, run: () => Promise<T>): Promise<T> {
  const last = underWay.get(store) ?? new Map<string, Promise<unknown>>();
  underWay.set(store, last);
  const own = (last.get(key) ?? Promise.resolve()).then(run, run);
  last.set(key, own);
  try {
    return await own;
  } finally {
    if (last.get(key) === own) last.delete(key);
  }
}

async function tryToChange<T extends ManifestObject>(
  deps: ServiceDeps,
  kind: ManifestKind,
  namespace: string,
  name: string,
  change: (object: T) => T,
): Promise<T> {
  for (let attempt = 1;; attempt++) {
    const stored = await readManifest<T>(deps, kind, namespace, name);
    const version = stored.metadata.resourceVersion;
    const changed = change(stored);
    if (changed === stored) return stored;
    const result = await putManifest(deps, kind, changed, version);
    if (result !== undefined) return result;
    if (attempt === NAME_ATTEMPTS) throw objectModified(deps, MANIFEST_RESOURCES[kind], name);
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
  await requireRead(caller, kind, namespace, name);
  await requireManifestAccess(caller, "delete", kind, namespace, name);
  for (let attempt = 1;; attempt++) {
    const stored = name === "" ? undefined : await deps.store.manifests.get(kind, namespace, name);
    if (stored === undefined) throw objectNotFound(deps, resource, name);
    const resourceVersion = stored.version;
    const { uid } = listedObject(deps, stored).metadata;
    if (!isToBeDeleted(deps, resource, name, request, { uid, resourceVersion })) return;
    // A damaged record may have lost its version too.
    const expect = resourceVersion === "0" ? undefined : resourceVersion;
    if (kind === "CronWorkflow" && uid !== undefined) {
      const owner = { namespace, name, uid, orphans: orphansDependents(request) };
      await deps.deletedOwners?.note(owner);
    }
    const removed = await deps.store.manifests.remove(kind, namespace, name, expect);
    if (removed !== undefined) {
      if (kind === "CronWorkflow") deps.deletedOwners?.removed();
      if (kind === "Subscription") await announceSubscription(deps);
      return;
    }
    if (attempt === NAME_ATTEMPTS) throw objectModified(deps, resource, name);
  }
}

/** Whoever changes or removes a cron workflow needs the right to read it, as in the reference. */
async function requireRead(
  caller: Caller,
  kind: ManifestKind,
  namespace: string,
  name: string,
): Promise<void> {
  if (kind === "CronWorkflow") await requireManifestAccess(caller, "get", kind, namespace, name);
}

/** The namespace that an object is stored in; undefined for a kind of the whole cluster. */
function placeOf(
  kind: ManifestKind,
  { metadata }: ManifestObject,
  requested: string,
): string | undefined {
  return kind === "ClusterWorkflowTemplate" ? undefined : namespaceOf(metadata, requested);
}

/** An object of a kind as it is stored. */
export function normalManifest<T extends ManifestObject>(kind: ManifestKind, object: T): T {
  const schema = KIND_SCHEMAS.get(kind);
  return schema === undefined ? object : normalForm(object, schema);
}

/** A new object as it would be stored; undefined when there is one of its name. */
async function unlessStored<T extends ManifestObject>(
  { store }: ServiceDeps,
  kind: ManifestKind,
  object: T,
): Promise<T | undefined> {
  const { namespace = "", name = "", resourceVersion: _old, ...rest } = object.metadata;
  if (await store.manifests.get(kind, namespace, name) !== undefined) return undefined;
  const metadata = { ...rest, name, ...(namespace === "" ? {} : { namespace }) };
  return normalManifest(kind, { ...object, metadata });
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
  const normal = normalManifest(kind, kept);
  const result = await deps.store.manifests.put({
    kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    text: JSON.stringify(normal),
    labels: metadata.labels ?? {},
  }, expect);
  if ("conflict" in result) return undefined;
  if (kind === "ConfigMap") await announceLimits(deps, normal);
  if (kind === "Subscription") await announceSubscription(deps);
  const stored = result.text === undefined ? normal : JSON.parse(result.text) as T;
  return { ...stored, metadata: { ...stored.metadata, resourceVersion: result.version } };
}

/** This replica knows a changed subscription at once, the others within a second. Trouble is only logged, as below. */
async function announceSubscription({ webhooks, log }: ServiceDeps): Promise<void> {
  try {
    await webhooks?.subscriptionsChanged();
  } catch (error) {
    log.warn({ err: error }, "a changed subscription is not known here yet");
  }
}

/**
 * Tells the workflows that wait for a semaphore its new size. The object is stored already, so trouble is only logged.
 */
async function announceLimits(
  deps: ServiceDeps,
  { metadata, data }: ManifestObject & { data?: Record<string, string> },
): Promise<void> {
  const { namespace = "", name = "" } = metadata;
  try {
    await deps.host.limitsChanged(namespace, name, data ?? {});
  } catch (error) {
    deps.log.warn(
      { namespace, configMap: name, err: error },
      "could not announce the new sizes of semaphores",
    );
  }
}
