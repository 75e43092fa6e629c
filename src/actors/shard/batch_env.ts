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
  webhooks?: Pick<Webhooks, "isAny" | "deliveriesOf">;
  /** Commands are applied, and nothing follows from them. */
  frozen: boolean;
}

export interface BatchEnv extends EngineEnv {
  /** Reads manifests, so that `findManifest` gives them. @throws {StoreTrouble} */
  load(needs: ManifestRef[]): Promise<void>;
}

/**
 * Time, names and manifests for one batch. Manifests are read afresh in every batch, so a command sees what was stored
 * before it was sent.
 *
 * @param known what the sender of the only command has read, and has checked a new workflow with
 */
export function createBatchEnv(deps: BatchDeps, known?: KnownManifests): BatchEnv {
  const { naming: { labelPrefix, apiGroup }, artifactKeys, limits } = deps;
  // Most batches need none.
  let manifests: Map<string, unknown> | undefined;
  let loading: Map<string, Promise<void>> | undefined;
  const load = async ({ kind, namespace, name }: ManifestRef, key: string) => {
    const scope = kind === "ClusterWorkflowTemplate" ? "" : namespace;
    const stored = await deps.store.manifests.get(kind, scope, name).catch((cause) => {
      throw new StoreTrouble(cause);
    });
    manifests = (manifests ?? new Map()).set(key, stored ? readable(stored, deps.log) : null);
  };
  const env: BatchEnv = {
    now: deps.clock.now(),
    labelPrefix,
    apiGroup,
    isChecked: known !== undefined,
    meter: undefined,
    evaluation: undefined,
    mayGoOn: deps.share.mayGoOn,
    randomSuffix: (length) => deps.ids.suffix(length),
    findManifest(kind, namespace, name) {
      const key = keyOf(kind, namespace, name);
      return known?.has(key) ? known.get(key) ?? null : manifests?.get(key);
    },
    async load(needs) {
      const loads = loading ??= new Map();
      await Promise.all(needs.map((need) => {
        const key = keyOf(need.kind, need.namespace, need.name);
        if (!loads.has(key)) loads.set(key, load(need, key));
        return loads.get(key);
      }));
    },
  };
  if (artifactKeys !== undefined) env.artifactKeys = artifactKeys;
  if (limits !== undefined) env.limits = limits;
  if (deps.webhooks?.isAny === true) env.areChangesNoted = true;
  return env;
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
