/**
 * Stored manifests where the cluster is the truth. Writes of the workflow kinds go to the API server and are copied to the
 * store at once, so that a reader on any replica sees them. Reads come from the store. Versions are the cluster's own.
 * ConfigMaps and Secrets that the store doesn't have are read from the cluster, and never written there.
 */
import type { JsonObject } from "../base/json.ts";
import { invalid, notFound, Problem, ProblemCode, unavailable } from "../base/problem.ts";
import { ManifestKind } from "../spec/manifest.ts";
import type { ManifestStore, StoredManifest } from "../store/manifest_port.ts";
import type { Store } from "../store/port.ts";
import {
  apiVersionOf,
  asObject,
  type ClusterKind,
  type ClusterObject,
  collectionPath,
  isClusterKind,
  objectPath,
} from "./cluster_object.ts";
import { type KubeClient, KubeError } from "./kube_client.ts";
import { clusterVersion, ManifestMirror } from "./manifest_mirror.ts";
import { mergePatch } from "./merge_patch.ts";
import type { ObjectLookup } from "./object_lookup.ts";

/** Kinds of the core group that workflows refer to by name. */
const CORE_PLURALS: Partial<Record<ManifestKind, string>> = {
  ConfigMap: "configmaps",
  Secret: "secrets",
};

export interface ClusterManifestsOptions {
  client: KubeClient;
  /** API group of the kinds. */
  group: string;
  /** The store's own manifests. */
  inner: ManifestStore;
  mirror: ManifestMirror;
  lookup: ObjectLookup;
}

/** The store with other manifests. */
export function withManifests(store: Store, manifests: ManifestStore): Store {
  return {
    membership: store.membership,
    shards: store.shards,
    query: store.query,
    manifests,
    events: store.events,
    blobs: store.blobs,
    ping: () => store.ping(),
    durability: () => store.durability?.() ?? "unknown",
    clear: () => store.clear(),
    close: () => store.close(),
  };
}

/** Makes manifests whose workflow kinds are in the cluster. */
export function createClusterManifests(options: ClusterManifestsOptions): ManifestStore {
  const { inner } = options;
  const cluster = new ClusterManifests(options);
  return {
    async get(kind, namespace, name) {
      const stored = await inner.get(kind, namespace, name) ??
        await cluster.lookUp(kind, namespace, name);
      return stored && versioned(stored);
    },
    refusal(kind, namespace, name) {
      const path = corePath(kind, namespace, name);
      return path === undefined ? undefined : options.lookup.refusal(path);
    },
    async list(kind, query) {
      const page = await inner.list(kind, query);
      return isClusterKind(kind) ? { ...page, items: page.items.map(versioned) } : page;
    },
    put(manifest, expect) {
      const { kind } = manifest;
      return isClusterKind(kind)
        ? asProblem(() => cluster.put(kind, manifest, expect))
        : putOwn(inner, manifest, expect);
    },
    remove: (kind, namespace, name, expect) =>
      isClusterKind(kind)
        ? asProblem(() => cluster.remove(kind, namespace, name, expect))
        : inner.remove(kind, namespace, name, expect),
  };
}

/** Writes a manifest of the store itself. One that was only in the cluster is stored, and counts from then on. */
async function putOwn(
  inner: ManifestStore,
  manifest: Unversioned,
  expect: string | undefined,
): ReturnType<ManifestStore["put"]> {
  const result = await inner.put(manifest, expect);
  const isMissing = "conflict" in result && result.conflict === "missing";
  return isMissing && CORE_PLURALS[manifest.kind] !== undefined
    ? await inner.put(manifest, undefined)
    : result;
}

/** Path of a ConfigMap or Secret; undefined for other kinds. */
function corePath(kind: ManifestKind, namespace: string, name: string): string | undefined {
  const plural = CORE_PLURALS[kind];
  if (plural === undefined || namespace === "" || name === "") return undefined;
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/${plural}/${
    encodeURIComponent(name)
  }`;
}

/** The manifests that are objects of the cluster. Methods reject with KubeError, too. */
class ClusterManifests {
  readonly #options: ClusterManifestsOptions;

  constructor(options: ClusterManifestsOptions) {
    this.#options = options;
  }

  /** Looks for an object that the store doesn't have: it may have been applied this moment. */
  async lookUp(
    kind: ManifestKind,
    namespace: string,
    name: string,
  ): Promise<StoredManifest | undefined> {
    const { group, mirror, lookup } = this.#options;
    if (isClusterKind(kind)) {
      const object = await lookup.get(objectPath(group, kind, namespace, name));
      return object && await mirror.keep(kind, asObject(object));
    }
    const path = corePath(kind, namespace, name);
    if (path === undefined) return undefined;
    // A step or a lock that lacks it would fail for good, so it waits until that is known.
    const object = await lookup.need(path);
    return object && coreManifest(kind, asObject(object));
  }

  async put(
    kind: ClusterKind,
    manifest: Unversioned,
    expect: string | undefined,
  ): ReturnType<ManifestStore["put"]> {
    const { namespace, name } = manifest;
    const before = expect === undefined
      ? undefined
      : await this.#options.inner.get(manifest.kind, namespace, name);
    if (expect !== undefined) {
      if (before === undefined) return { conflict: "missing" };
      if (expect !== "*" && expect !== versioned(before).version) return { conflict: "changed" };
    }
    const known = before !== undefined && clusterVersion(before) !== undefined ? before : undefined;
    try {
      return written(
        known === undefined
          ? await this.#create(kind, manifest)
          : await this.#change(kind, known, manifest),
      );
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      const isConflict = error.status === 409 &&
        (error.reason === "Conflict" || error.reason === "AlreadyExists");
      const isGone = error.status === 404 && known !== undefined;
      if (!isConflict && !isGone) throw problemFrom(error);
      await this.#refresh(kind, namespace, name);
      return { conflict: isGone ? "missing" : expect === undefined ? "exists" : "changed" };
    }
  }

  async remove(
    kind: ClusterKind,
    namespace: string,
    name: string,
    expect: string | undefined,
  ): Promise<StoredManifest | undefined> {
    const { client, group, inner, mirror } = this.#options;
    const before = await inner.get(ManifestKind[kind], namespace, name);
    if (before === undefined) return undefined;
    if (expect !== undefined && versioned(before).version !== expect) return undefined;
    const version = clusterVersion(before);
    if (version === undefined) return await inner.remove(before.kind, namespace, name);
    try {
      const answer = await client.call({
        method: "DELETE",
        path: objectPath(group, kind, namespace, name),
        ...(expect !== undefined && { body: { preconditions: { resourceVersion: version } } }),
      });
      // An object with finalizers stays for a while, and shows that it is being deleted.
      if (answer["kind"] === kind) await mirror.keep(kind, asObject(answer));
      else await mirror.drop(kind, namespace, name, version);
      return before;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.status !== 404 && error.status !== 409) throw problemFrom(error);
      await this.#refresh(kind, namespace, name);
      return undefined;
    }
  }

  async #create(kind: ClusterKind, manifest: Unversioned): Promise<StoredManifest> {
    const { client, group, mirror, lookup } = this.#options;
    const object = JSON.parse(manifest.text) as JsonObject;
    const answer = await client.call({
      method: "POST",
      path: collectionPath(group, kind, manifest.namespace),
      body: { apiVersion: apiVersionOf(group), kind, ...object, metadata: ownMetadata(object) },
    });
    lookup.forget(objectPath(group, kind, manifest.namespace, manifest.name));
    return await mirror.keep(kind, asObject(answer));
  }

  /** Sends what differs from the stored state, on the condition that nobody else was faster. */
  async #change(
    kind: ClusterKind,
    before: StoredManifest,
    manifest: Unversioned,
  ): Promise<StoredManifest> {
    const { client, group, mirror } = this.#options;
    const patch = mergePatch(content(before), content(manifest));
    if (patch === undefined) return before;
    const resourceVersion = clusterVersion(before) ?? "";
    const answer = await client.call({
      method: "PATCH",
      path: objectPath(group, kind, manifest.namespace, manifest.name),
      body: { ...patch, metadata: { ...patch["metadata"] as JsonObject, resourceVersion } },
    });
    return await mirror.keep(kind, asObject(answer));
  }

  /** Reads an object anew. One that is gone is removed from the store, too. */
  async #refresh(kind: ClusterKind, namespace: string, name: string): Promise<void> {
    const { client, group, inner, mirror } = this.#options;
    try {
      const path = objectPath(group, kind, namespace, name);
      await mirror.keep(kind, asObject(await client.call({ path })));
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 404) throw error;
      const before = await inner.get(ManifestKind[kind], namespace, name);
      const version = before && clusterVersion(before);
      if (version !== undefined) await mirror.drop(kind, namespace, name, version);
    }
  }
}

/** A ConfigMap or a Secret as a manifest. */
function coreManifest(kind: ManifestKind, object: ClusterObject): StoredManifest {
  const { metadata, ...rest } = object as unknown as JsonObject;
  const { managedFields: _managed, ...kept } = metadata as JsonObject;
  const { namespace = "", name, resourceVersion, labels = {} } = object.metadata;
  const text = JSON.stringify({ ...rest, metadata: kept });
  return { kind, namespace, name, version: resourceVersion, text, labels };
}

type Unversioned = Omit<StoredManifest, "version">;

/** The manifest under the cluster's version, if it has one. */
function versioned(stored: StoredManifest): StoredManifest {
  return { ...stored, version: clusterVersion(stored) ?? stored.version };
}

function written(stored: StoredManifest): { version: string; text: string } {
  return { version: versioned(stored).version, text: stored.text };
}

/** The metadata that a writer decides. */
function ownMetadata({ metadata }: JsonObject): JsonObject {
  const {
    uid: _uid,
    creationTimestamp: _created,
    generation: _generation,
    resourceVersion: _version,
    deletionTimestamp: _deleted,
    managedFields: _managed,
    ...own
  } = metadata as JsonObject;
  return own;
}

function content({ text }: Unversioned): JsonObject {
  const object = JSON.parse(text) as JsonObject;
  return { ...object, metadata: ownMetadata(object) };
}

async function asProblem<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof KubeError ? problemFrom(error) : error;
  }
}

/** The API server's refusal as a caller of ours may read it. */
export function problemFrom(error: KubeError): Problem {
  const { status, message, retryAfterSeconds = 1 } = error;
  if (status === 403 && !error.isTransient) {
    return new Problem(ProblemCode.PermissionDenied, message, { cause: error });
  }
  if (error.isTransient) return unavailable(`the API server: ${message}`, retryAfterSeconds);
  if (status === 404) return notFound(message);
  return invalid(message);
}
