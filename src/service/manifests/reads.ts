/** Reading stored manifests: one by its name, and lists. */
import type { Caller, Verb } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid } from "../../base/problem.ts";
import {
  type FieldTerm,
  matchesFields,
  parseFieldSelector,
} from "../../expr/selectors/field_selector.ts";
import { parseLabelSelector } from "../../expr/selectors/label_selector.ts";
import { Turns } from "../../platform/turns.ts";
import type { ManifestKind, ObjectMeta, WorkflowTemplate } from "../../spec/manifest.ts";
import { manifestObject, UnreadableManifest } from "../../store/manifest_object.ts";
import { continueManifests, manifestOrder } from "../../store/manifest_list.ts";
import type { StoredManifest } from "../../store/manifest_port.ts";
import { requireAccess, requirePlainAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { MANIFEST_RESOURCES } from "../kinds.ts";
import { objectNotFound } from "../object_names.ts";
import { MAX_PAGE_SIZE } from "../page_size.ts";

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

/** A page of the store. */
type StoredPage = Pick<ManifestPage<StoredManifest>, "items" | "continue">;

export interface ManifestPage<T> {
  items: T[];
  continue?: string;
  version: string;
}

/**
 * The object as clients see it, with its version.
 * @throws {UnreadableManifest}
 */
export function objectFrom<T extends ManifestObject>(stored: StoredManifest): T {
  const object = manifestObject<T>(stored);
  return { ...object, metadata: { ...object.metadata, resourceVersion: stored.version } };
}

/**
 * @returns undefined when nobody has to be asked
 * @throws {Problem} PermissionDenied unless the caller has the right to manifests of the kind, or to the named one
 */
export function requireManifestAccess(
  caller: Caller,
  verb: Verb,
  kind: ManifestKind,
  namespace: string,
  name?: string,
): Promise<void> | undefined {
  if (caller.isUnrestricted === true) return undefined;
  const { resource, group } = MANIFEST_RESOURCES[kind];
  const place = kind === "ClusterWorkflowTemplate" ? "" : namespace;
  return requireAccess(caller, { verb, resource, namespace: place, ...defined({ group, name }) });
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
  return objectFrom(await findManifest(deps, kind, namespace, name));
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
  return await shownManifest(deps, kind, namespace, name);
}

/** @throws {Problem} NotFound */
export async function findManifest(
  deps: ServiceDeps,
  kind: ManifestKind,
  namespace: string,
  name: string,
): Promise<StoredManifest> {
  const stored = name === "" ? undefined : await deps.store.manifests.get(kind, namespace, name);
  if (stored === undefined) throw objectNotFound(deps, MANIFEST_RESOURCES[kind], name);
  return stored;
}

/** Reads a template for a caller; a refusal says only "permission denied", as the reference's does. */
export async function getTemplate(
  deps: ServiceDeps,
  caller: Caller,
  kind: "WorkflowTemplate" | "ClusterWorkflowTemplate",
  namespace: string,
  name: string,
): Promise<WorkflowTemplate> {
  const { resource } = MANIFEST_RESOURCES[kind];
  await requirePlainAccess(caller, { verb: "get", resource, namespace, name });
  return await shownManifest(deps, kind, namespace, name);
}

/** As `readManifest`, for an answer that shows it: it has room until that is sent. */
async function shownManifest<T extends ManifestObject>(
  deps: ServiceDeps,
  kind: ManifestKind,
  namespace: string,
  name: string,
): Promise<T> {
  const find = () => findManifest(deps, kind, namespace, name);
  return objectFrom(await deps.workflows.page(find, ({ text }) => text.length));
}

/**
 * Lists manifests in the order of `namespace/name`. Workflow templates of the same name come together within a page.
 */
export async function listManifests<T extends ManifestObject>(
  deps: ServiceDeps,
  caller: Caller,
  kind: ManifestKind,
  request: ManifestListRequest,
): Promise<ManifestPage<T>> {
  const labels = parseLabelSelector(request.labelSelector ?? "");
  const isClusterWide = kind === "ClusterWorkflowTemplate";
  const fields = parseObjectFields(request.fieldSelector ?? "", isClusterWide);
  const { namespace } = request;
  await requireManifestAccess(caller, "list", kind, namespace);
  const query = {
    ...defined({
      namespace: namespace === "" ? undefined : namespace,
      labels: labels.length === 0 ? undefined : labels,
      nameContains: request.namePattern,
      continue: request.continue,
    }),
    limit: fields.length > 0 ? 0 : Math.max(0, request.limit ?? 0),
    maxSize: MAX_PAGE_SIZE,
  };
  const page = await deps.workflows.page(
    () => deps.store.manifests.list(kind, query),
    ({ items }) => items.reduce((size, { text }) => size + text.length, 0),
  );
  const { items: matching, continue: next } = firstMatching(page, fields, request.limit ?? 0);
  const selected = matching.sort(kind === "WorkflowTemplate" ? compareNames : comparePlaces);
  const items: T[] = [];
  const turns = new Turns();
  for (const item of selected) {
    items.push(listedObject<T>(deps, item));
    await turns.pause();
  }
  return { items, version: page.version, ...defined({ continue: next }) };
}

/** No index knows fields: of all items of a page those that match, as many as the limit allows. */
function firstMatching(
  { items, continue: next }: StoredPage,
  fields: FieldTerm[],
  limit: number,
): { items: StoredManifest[]; continue: string | undefined } {
  const matching = items.filter((item) =>
    matchesFields(fields, (field) => field === "metadata.name" ? item.name : item.namespace)
  );
  const last = matching[limit - 1];
  return limit <= 0 || last === undefined || matching.length === limit
    ? { items: matching, continue: next }
    : {
      items: matching.slice(0, limit),
      continue: continueManifests(manifestOrder(last.namespace, last.name)),
    };
}

/** An object as a list shows it. One that cannot be read has only its name and place, and an annotation that says why. */
export function listedObject<T extends ManifestObject>(
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
      ...defined({
        namespace: namespace === "" ? undefined : namespace,
        labels: Object.keys(labels).length === 0 ? undefined : labels,
      }),
      annotations: { [`${settings.naming.labelPrefix}unreadable`]: error.message },
      resourceVersion: version,
    };
    return { metadata, spec: {} } as unknown as T;
  }
}

/**
 * Reads a field selector of objects that can be selected only by name and namespace.
 * @throws {Problem} InvalidArgument for any other field
 */
export function parseObjectFields(text: string, isClusterWide = false): FieldTerm[] {
  const terms = parseFieldSelector(text);
  for (const { field } of terms) {
    if (field !== "metadata.name" && (isClusterWide || field !== "metadata.namespace")) {
      throw invalid(`field label not supported: ${field}`);
    }
  }
  return terms;
}

function comparePlaces(a: StoredManifest, b: StoredManifest): number {
  return compareTexts(`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`);
}

function compareNames(a: StoredManifest, b: StoredManifest): number {
  return compareTexts(a.name, b.name) || compareTexts(a.namespace, b.namespace);
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
