/** Puts together what the use cases work with. */
import process from "node:process";
import type { Host } from "../actors/host.ts";
import type { Webhooks } from "../actors/webhooks/webhooks.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import { VERSION } from "../base/version.ts";
import type { Executor } from "../executors/port.ts";
import { KubeClient } from "../kubernetes/kube_client.ts";
import { loadKubeConfig } from "../kubernetes/kube_config.ts";
import { findMissingRights, type MissingRight } from "../kubernetes/needed_rights.ts";
import { createClusterEvents } from "../kubernetes/pod_events.ts";
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import { systemIds } from "../platform/ids.ts";
import { ObjectCalls } from "../service/cluster/object_calls.ts";
import { createCallbackCount } from "../service/callbacks/metrics.ts";
import { defined } from "../base/defined.ts";
import type { DeletedOwners } from "../service/deleted_owners.ts";
import type { History, ServiceDeps, ServiceSettings } from "../service/deps.ts";
import type { CallbackUrls } from "../service/callbacks/urls.ts";
import { createSharedLooks } from "../service/shared_looks.ts";
import { EventFeed } from "../service/events/stream/feed.ts";
import { createEventMetrics } from "../service/events/metrics.ts";
import { createCheckThread } from "../service/manifests/check.ts";
import { KnownCounts } from "../service/workflows/known_counts.ts";
import { GroupReader } from "../service/events/group_steps.ts";
import { OlderWaits } from "../service/workflows/older_waits.ts";
import { DurationEstimates } from "../service/workflows/duration_estimates.ts";
import type { WorkflowSource } from "../service/workflows/source.ts";
import { WatchHub } from "../service/workflows/watch_hub.ts";
import type { Access } from "./access.ts";
import { listOf, namingOf, type ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

/** What the use cases get from elsewhere. */
export interface ServiceParts {
  host: Host;
  workflows: WorkflowSource;
  executor: Executor;
  artifacts: ArtifactStore;
  callbacks: CallbackUrls;
  webhooks: Webhooks;
  callerOf: Access["callerOf"];
  /** Absent if the store is the archive too. */
  history: History | undefined;
  deletedOwners: DeletedOwners;
}

export async function createService(
  context: ServerContext,
  { store, clock, onUnreadable, writesRefused, cluster }: Storage,
  {
    host,
    workflows,
    executor,
    artifacts,
    callbacks,
    webhooks,
    callerOf,
    history,
    deletedOwners,
  }: ServiceParts,
): Promise<ServiceDeps> {
  const { config, log, metrics } = context;
  const naming = namingOf(config);
  const runsPods = config.executor === "kubernetes";
  const settings = settingsOf(context);
  const looked = { host, store, clock, settings, workflows, ...defined({ history }) };
  return {
    ...looked,
    ...createSharedLooks(looked, { store: storeKind(config), durability: config.durability }),
    ids: systemIds,
    log,
    onUnreadable,
    watches: new WatchHub(store, workflows, clock, onUnreadable),
    events: new EventFeed({ store, clock, log, naming }),
    ...(runsPods && {
      // Streams stay open: with a client of their own they take no place from others.
      clusterEvents: createClusterEvents({
        client: new KubeClient(await loadKubeConfig(process.env)),
        clock,
        log,
      }),
    }),
    eventMetrics: createEventMetrics(metrics),
    groups: new GroupReader(looked),
    countCallback: createCallbackCount(metrics),
    callerOf,
    checks: createCheckThread(),
    counts: new KnownCounts(clock),
    olderWaits: new OlderWaits({ store: history?.live ?? store, host, clock, log }),
    estimates: new DurationEstimates(store, clock, naming),
    traces: context.traces,
    logs: executor,
    artifacts,
    callbacks,
    webhooks,
    deletedOwners,
    surroundings: {
      durability: config.durability,
      artifacts,
      machineTime: systemClock.now,
      writesRefused,
      ...(usesCluster(config) && { missingRights: () => missingRights(config) }),
    },
    ...(cluster !== undefined && { objects: new ObjectCalls(cluster.client, config.apiGroup) }),
  };
}

function usesCluster({ executor, manifestSource }: Config): boolean {
  return executor === "kubernetes" || manifestSource === "kubernetes";
}

/** A connection of its own, so that it tells about the credentials as they are now. */
async function missingRights(config: Config): Promise<MissingRight[]> {
  const client = new KubeClient(await loadKubeConfig(process.env));
  try {
    return await findMissingRights(client, {
      runsPods: config.executor === "kubernetes",
      hasManifests: config.manifestSource === "kubernetes",
      reviewsTokens: config.executor === "kubernetes" && config.authMode.includes("client"),
      group: config.apiGroup,
      namespaces: listOf(config.namespace),
    });
  } finally {
    client.close();
  }
}

function settingsOf({ config, settings }: ServerContext): ServiceSettings {
  return {
    naming: namingOf(config),
    build: buildFacts(),
    eventQueueSize: config.eventOperationQueueSize,
    maxEventBytes: config.maxEventBytes,
    maxNodes: config.maxNodes,
    idempotencyTtlMs: config.idempotencyTtl,
    archive: config.archive,
    archiveDeleted: config.archiveDeleted,
    // Without --archive-deleted nothing is swept.
    ...(config.archiveDeleted && { archiveTtlMs: config.archiveTtl }),
    syncApi: config.syncApi,
    webhookAdminNamespace: config.webhookAdminNamespace,
    subscriptionLimits: {
      all: config.webhookSubscriptions,
      perNamespace: config.webhookNamespaceSubscriptions,
    },
    userNamespace: config.userNamespace,
    archiveSelector: settings.archiveSelector,
    archiveRetention: settings.archiveRetention,
    archiveIndexParameters: listOf(config.archiveIndexParameters),
    authRequired: !config.authMode.includes("server"),
  };
}

/** `memory`, `sqlite` or `redis`; the rest of the setting may hold a password. */
function storeKind({ store }: Config): string {
  return store.split(":", 1)[0]?.replace(/^redis.*/, "redis") ?? "";
}

function buildFacts(): ServiceSettings["build"] {
  return {
    version: VERSION,
    buildDate: "",
    gitCommit: "",
    gitTag: "",
    gitTreeState: "",
    goVersion: "",
    compiler: "",
    platform: `${process.platform}/${process.arch}`,
  };
}
