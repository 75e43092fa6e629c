/** Stored manifests, as adapters keep them: a part of the store's port. */
import { Problem, ProblemCode } from "../base/problem.ts";
import type { LabelTerm } from "../expr/selectors/label_selector.ts";
import type { ManifestKind } from "../spec/manifest.ts";
import type { Version } from "./version.ts";

export interface StoredManifest {
  kind: ManifestKind;
  /** "" for cluster-wide kinds. */
  namespace: string;
  name: string;
  version: Version;
  /** The object as JSON text, without resourceVersion (it is `version`). */
  text: string;
  labels: Record<string, string>;
}

/** Thrown by `ShardStore.commit`: the manifests no longer have the version that the commit names. Nothing was written. */
export class ManifestsChanged extends Problem {
  override readonly name = "ManifestsChanged";

  constructor() {
    super(ProblemCode.Aborted, "the templates have changed meanwhile; send the request again");
  }
}

export interface ManifestStore {
  get(kind: ManifestKind, namespace: string, name: string): Promise<StoredManifest | undefined>;
  /**
   * What was stored at some version of all manifests, without a call to the store; `EventStore.offer` and `ShardStore.commit`
   * find out whether that version is still current. Undefined if that is not known; absent if it never is.
   */
  known?(
    kind: ManifestKind,
    namespace: string,
    name: string,
  ): { stored: StoredManifest | undefined; manifests: Version } | undefined;
  /** Whether all manifests have this version. As `known`, absent where nobody tells a version. */
  isCurrent?(manifests: Version): Promise<boolean>;
  /**
   * False if no manifest of a kind in a namespace has changed after this version; true also if that can't be told. It is one of
   * all manifests, as an event brings it; where events bring none, one that `list` gave. Absent where nobody can tell it.
   */
  haveChanged?(kind: ManifestKind, namespace: string, since: Version): Promise<boolean>;
  /** Why the last `get` of it was not allowed, where somebody else keeps it; undefined when it was. */
  refusal?(kind: ManifestKind, namespace: string, name: string): string | undefined;
  /** Sorted by namespace and name. `namespace` undefined = all. */
  list(
    kind: ManifestKind,
    query: {
      namespace?: string;
      labels?: LabelTerm[];
      nameContains?: string;
      limit: number;
      /** As in `ListQuery`. */
      maxSize?: number;
      continue?: string;
    },
  ): Promise<{ items: StoredManifest[]; continue?: string; version: Version }>;
  /**
   * Writes if the stored version equals `expect` (undefined: it must not exist; "*": any); otherwise returns the
   * conflict. `text` is returned if it differs from the given one: the cluster gives objects their own uid and times.
   */
  put(
    manifest: Omit<StoredManifest, "version">,
    expect: Version | undefined | "*",
  ): Promise<{ version: Version; text?: string } | { conflict: "exists" | "missing" | "changed" }>;
  /** Removes a manifest and returns it; undefined if there is none, or none of version `expect`. */
  remove(
    kind: ManifestKind,
    namespace: string,
    name: string,
    expect?: Version,
  ): Promise<StoredManifest | undefined>;
}
