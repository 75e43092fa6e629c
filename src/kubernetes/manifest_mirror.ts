/**
 * The cluster's objects as manifests of the store, so that every replica reads them as fast as any other, also while the
 * API server is away. Writing here never goes back in time: an object is put in only when its version is newer than the one
 * that is there, whoever writes. Manifests that were stored before the cluster was the source are left alone.
 */
import { defined } from "../base/defined.ts";
import type { JsonObject } from "../base/json.ts";
import { nextTurn } from "../platform/clock.ts";
import { decodeManifest } from "../spec/schema/decode_manifest.ts";
import { ManifestKind } from "../spec/manifest.ts";
import { normalForm } from "../spec/normal_form.ts";
import { KIND_SCHEMAS } from "../spec/schema/kinds.ts";
import type { ManifestStore, StoredManifest } from "../store/manifest_port.ts";
import { type ClusterKind, type ClusterObject, isOlderVersion } from "./cluster_object.ts";

/** Manifests that are read at once: others have their turn in between. */
const PAGE = 500;
/** How often a write is tried again when somebody else was faster. */
const ATTEMPTS = 8;
/** The version stands first in the text, so that it is found without reading all of it. */
const VERSION = /^\{"metadata":\{"resourceVersion":"([^"]+)"/;

/** The cluster's version of a mirrored manifest; undefined for one that is only in the store. */
export function clusterVersion({ text }: Pick<StoredManifest, "text">): string | undefined {
  return VERSION.exec(text)?.[1];
}

export class ManifestMirror {
  readonly #inner: ManifestStore;
  readonly #beforeDrop: (gone: StoredManifest) => Promise<void>;

  /**
   * @param inner the store's own manifests
   * @param beforeDrop hears of what will be removed because its object is gone. @default nobody hears
   */
  constructor(
    inner: ManifestStore,
    beforeDrop: (gone: StoredManifest) => Promise<void> = () => Promise.resolve(),
  ) {
    this.#inner = inner;
    this.#beforeDrop = beforeDrop;
  }

  /**
   * Takes in a state of an object, unless a newer one is there.
   * @returns what is stored now
   * @throws {DecodeError} when it is no manifest of its kind; what was stored before stays
   * @throws {Problem} Unavailable
   */
  async keep(kind: ClusterKind, object: ClusterObject): Promise<StoredManifest> {
    const manifest = manifestOf(kind, object);
    const version = object.metadata.resourceVersion;
    for (let attempt = 1;; attempt++) {
      const before = await this.#inner.get(ManifestKind[kind], manifest.namespace, manifest.name);
      const known = before === undefined ? undefined : clusterVersion(before);
      if (before !== undefined && known !== undefined && !isOlderVersion(known, version)) {
        return before;
      }
      const written = await this.#inner.put(manifest, before?.version);
      if ("version" in written) return { ...manifest, version: written.version };
      if (attempt === ATTEMPTS) throw new Error(`${kind} ${manifest.name} changes all the time`);
    }
  }

  /** Removes what mirrors an object that was gone at `version`; no effect when a later one has its name. */
  async drop(
    kind: ClusterKind,
    namespace: string,
    name: string,
    version: string,
  ): Promise<StoredManifest | undefined> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const before = await this.#inner.get(ManifestKind[kind], namespace, name);
      const known = before === undefined ? undefined : clusterVersion(before);
      if (before === undefined || known === undefined || isOlderVersion(version, known)) return;
      await this.#beforeDrop(before);
      const removed = await this.#inner.remove(before.kind, namespace, name, before.version);
      if (removed !== undefined) return removed;
    }
    return undefined;
  }

  /**
   * Removes what mirrors objects that no longer exist.
   * @param keys what existed at `version`, as `namespace/name`
   * @returns how many manifests are in the store only
   */
  async sweep(
    kind: ClusterKind,
    namespace: string | undefined,
    keys: ReadonlySet<string>,
    version: string,
  ): Promise<number> {
    let strangers = 0;
    let from: string | undefined;
    do {
      const page = await this.#inner.list(ManifestKind[kind], {
        limit: PAGE,
        ...defined({ namespace, continue: from }),
      });
      for (const item of page.items) {
        if (keys.has(`${item.namespace}/${item.name}`)) continue;
        if (clusterVersion(item) === undefined) strangers++;
        else await this.drop(kind, item.namespace, item.name, version);
      }
      from = page.continue;
      if (from !== undefined) await nextTurn();
    } while (from !== undefined);
    return strangers;
  }
}

/** @throws {DecodeError} */
function manifestOf(kind: ClusterKind, object: ClusterObject): Omit<StoredManifest, "version"> {
  const schema = KIND_SCHEMAS.get(kind);
  if (schema === undefined) throw new RangeError(`Kind ${kind} has no schema`);
  const decoded = decodeManifest(kind, object) as unknown as JsonObject;
  const { apiVersion: _api, kind: _kind, metadata, ...rest } = normalForm(decoded, schema);
  const { managedFields: _managed, ...kept } = metadata as JsonObject;
  const { namespace = "", name, resourceVersion, labels = {} } = object.metadata;
  return {
    kind: ManifestKind[kind],
    namespace,
    name,
    text: JSON.stringify({ metadata: { resourceVersion, ...kept }, ...rest }),
    labels,
  };
}
