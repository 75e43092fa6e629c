/** What the actors of a batch work with: time, names, manifests, and what the batch itself works through. */
import type { EngineEnv, ManifestRef, WorkflowLimits } from "../../engine/engine.ts";
import type { Clock } from "../../platform/clock.ts";
import type { FairLimiter } from "../../platform/fair_limiter.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import type { ArtifactKeys } from "../../spec/artifact_key.ts";
import type { Naming } from "../../spec/naming.ts";
import { manifestObject } from "../../store/manifest_object.ts";
import type { Store } from "../../store/port.ts";
import type { StoredManifest } from "../../store/manifest_port.ts";
import type { ActorCache } from "../actor_cache.ts";
import type { ActorKind } from "../hot_actor.ts";
import type { LoopShare } from "../loop_share.ts";
import type { KnownManifests } from "../port.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import { StoreTrouble } from "./store_trouble.ts";

export interface BatchDeps {
  store: Store;
  clock: Clock;
  ids: Ids;
  log: Logger;
  cache: ActorCache;
  kinds: readonly ActorKind[];
  /** Bounds the actors that are loaded at once, by namespace. */
  loads: FairLimiter;
  /** How the actors share the thread. */
  share: LoopShare;
  naming: Naming;
  artifactKeys?: ArtifactKeys;
  /** What a workflow may grow to. @default nothing bounds it */
  limits?: WorkflowLimits;
  /** Who is told of changes. Absent: nobody. */
  webhooks?: Pick<Webhooks, "isAny" | "postOf">;
  /** Commands are applied, and nothing follows from them. */
  frozen: boolean;
}

/**
 * Time, names and manifests for one batch. Manifests are read afresh in every batch, so a command sees what was stored
 * before it was sent.
 */
export class BatchEnv implements EngineEnv {
  readonly now: number;
  readonly labelPrefix: string;
  readonly apiGroup: string;
  readonly isChecked: boolean;
  readonly mayGoOn: () => boolean;
  readonly areChangesNoted: boolean;
  declare readonly artifactKeys?: ArtifactKeys;
  declare readonly limits?: WorkflowLimits;
  meter: EngineEnv["meter"] = undefined;
  evaluation: EngineEnv["evaluation"] = undefined;
  place: EngineEnv["place"] = undefined;
  readonly #deps: BatchDeps;
  readonly #known: KnownManifests | undefined;
  /** Most batches need none. */
  #manifests: Map<string, unknown> | undefined;
  #loading: Map<string, Promise<void>> | undefined;

  /** @param known what the sender of the only command has read, and has checked a new workflow with */
  constructor(deps: BatchDeps, known?: KnownManifests) {
    const { naming: { labelPrefix, apiGroup }, artifactKeys, limits } = deps;
    this.now = deps.clock.now();
    this.labelPrefix = labelPrefix;
    this.apiGroup = apiGroup;
    this.isChecked = known !== undefined;
    this.mayGoOn = deps.share.mayGoOn;
    this.areChangesNoted = deps.webhooks?.isAny === true;
    if (artifactKeys !== undefined) this.artifactKeys = artifactKeys;
    if (limits !== undefined) this.limits = limits;
    this.#deps = deps;
    this.#known = known;
  }

  randomSuffix(length: number): string {
    return this.#deps.ids.suffix(length);
  }

  findManifest(kind: string, namespace: string, name: string): unknown {
    const key = keyOf(kind, namespace, name);
    return this.#known?.has(key) ? this.#known.get(key) ?? null : this.#manifests?.get(key);
  }

  /** Reads manifests, so that `findManifest` gives them. @throws {StoreTrouble} */
  async load(needs: ManifestRef[]): Promise<void> {
    const loads = this.#loading ??= new Map();
    await Promise.all(needs.map((need) => {
      const key = keyOf(need.kind, need.namespace, need.name);
      if (!loads.has(key)) loads.set(key, this.#read(need, key));
      return loads.get(key);
    }));
  }

  async #read({ kind, namespace, name }: ManifestRef, key: string): Promise<void> {
    const { store, log } = this.#deps;
    const scope = kind === "ClusterWorkflowTemplate" ? "" : namespace;
    const stored = await store.manifests.get(kind, scope, name).catch((cause) => {
      throw new StoreTrouble(cause);
    });
    (this.#manifests ??= new Map()).set(key, stored ? readable(stored, log) : null);
  }
}

function keyOf(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

/** The object of a manifest; null, as if there was none, when it cannot be read. */
function readable(stored: StoredManifest, log: Logger): object | null {
  try {
    return manifestObject<object>(stored);
  } catch (cause) {
    log.error({ err: cause }, "a stored manifest cannot be read");
    return null;
  }
}
