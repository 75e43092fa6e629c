/** Opens what a replica shares with the others: the store, its time of day, and manifests that live in the cluster. */
import process from "node:process";
import { createClusterManifests, withManifests } from "../kubernetes/cluster_manifests.ts";
import { KubeClient } from "../kubernetes/kube_client.ts";
import { loadKubeConfig } from "../kubernetes/kube_config.ts";
import { ManifestMirror } from "../kubernetes/manifest_mirror.ts";
import { ObjectLookup } from "../kubernetes/object_lookup.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { SharedClock } from "../platform/shared_clock.ts";
import { type ReportUnreadable, unreadableReporter } from "../platform/unreadable.ts";
import { noteLostOwner } from "../service/deleted_owners.ts";
import { reachStore } from "../store/open_store.ts";
import { measureStore } from "../store/measured_store.ts";
import type { Store } from "../store/port.ts";
import { parseRedisUrl } from "../store/redis/url.ts";
import { watchWrites } from "../store/write_watch.ts";
import { readSetting } from "./setting.ts";
import type { ServerContext } from "./context.ts";

/** The cluster as the source of manifests. */
export interface ClusterStorage {
  client: KubeClient;
  mirror: ManifestMirror;
}

export interface Storage {
  store: Store;
  /** Shows the time of day that all replicas share. */
  clock: Clock;
  /** Hears of stored records that cannot be read. */
  onUnreadable: ReportUnreadable;
  /** Why the store refuses writes now; undefined while it takes them. */
  writesRefused: () => string | undefined;
  /** Absent where the store is the source of manifests. */
  cluster?: ClusterStorage;
}

/** Opens the store, and keeps trying while it cannot be reached. */
export async function openStorage(context: ServerContext, stop: AbortSignal): Promise<Storage> {
  const { config, log, metrics, closing } = context;
  // A wrong address stays wrong, however often it is tried.
  if (config.store.startsWith("redis")) readSetting("--store", () => parseRedisUrl(config.store));
  const onUnreadable = unreadableReporter(metrics, log, systemClock);
  const reached = await reachStore(config, log, stop, onUnreadable);
  const measured = measureStore(reached, { clock: systemClock, metrics });
  const writes = watchWrites(measured, { clock: systemClock, log, metrics });
  closing.addEventListener("abort", writes.stop);
  const { clock, store: timed } = await shareClock(writes.store, context);
  warnOfDurability(timed, context);
  const common = { clock, onUnreadable, writesRefused: writes.refusal };
  if (config.manifestSource !== "kubernetes") return { ...common, store: timed };
  try {
    const { store, ...cluster } = await openCluster(timed, context, clock);
    return { ...common, store, cluster };
  } catch (error) {
    // Another server of this process may want to open it.
    await reached.close();
    throw error;
  }
}

/** The clock that the store shows, and the store whose heartbeats set it. */
async function shareClock(
  store: Store,
  { log, closing }: ServerContext,
): Promise<{ clock: Clock; store: Store }> {
  const { membership } = store;
  const clock = new SharedClock(systemClock, () => membership.now());
  await clock.look().catch((cause) => log.warn({ err: cause }, "the store does not tell the time"));
  void clock.follow(closing);
  const heartbeat: typeof membership.heartbeat = async (replica, ttlMs) => {
    const askedAt = clock.monotonic();
    const alive = await membership.heartbeat(replica, ttlMs);
    clock.hear(alive.now, askedAt);
    return alive;
  };
  return { clock, store: { ...store, membership: { ...membership, heartbeat } } };
}

function warnOfDurability(store: Store, { config, log }: ServerContext): void {
  const promised = store.durability?.() ?? "unknown";
  if (config.store === "memory:" || promised === "always" || promised === config.durability) return;
  log.warn(
    { asked: config.durability, promised },
    "the store promises less durability than --durability asks for",
  );
}

/** The store with its manifests in the cluster, and what keeps the copies of them. */
async function openCluster(
  inner: Store,
  { config, log }: ServerContext,
  clock: Clock,
): Promise<ClusterStorage & { store: Store }> {
  const client = new KubeClient(await loadKubeConfig(process.env));
  const mirror = new ManifestMirror(
    inner.manifests,
    (gone) => noteLostOwner(inner.manifests, gone, clock.now()),
  );
  const manifests = createClusterManifests({
    client,
    mirror,
    group: config.apiGroup,
    inner: inner.manifests,
    lookup: new ObjectLookup({ client, log, monotonic: systemClock.monotonic }),
  });
  return { client, mirror, store: withManifests(inner, manifests) };
}
