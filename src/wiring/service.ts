/** Puts together what the use cases work with. */
import process from "node:process";
import type { Host } from "../actors/host.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import type { Executor } from "../executors/port.ts";
import type { LabelTerm } from "../expr/selectors/label_selector.ts";
import { KubeClient } from "../kubernetes/kube_client.ts";
import { loadKubeConfig } from "../kubernetes/kube_config.ts";
import { createClusterEvents } from "../kubernetes/pod_events.ts";
import type { Config } from "../platform/config.ts";
import { systemIds } from "../platform/ids.ts";
import { ObjectCalls } from "../service/cluster/object_calls.ts";
import type { ServiceDeps, ServiceSettings } from "../service/deps.ts";
import { EventFeed } from "../service/events/stream/feed.ts";
import { createEventMetrics } from "../service/events/metrics.ts";
import { createCheckThread } from "../service/manifests/check.ts";
import { DurationEstimates } from "../service/workflows/duration_estimates.ts";
import type { WorkflowSource } from "../service/workflows/source.ts";
import { WatchHub } from "../service/workflows/watch_hub.ts";
import facts from "../../package.json" with { type: "json" };
import type { Access } from "./access.ts";
import { namingOf, type ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

/** What the use cases get from elsewhere. */
export interface ServiceParts {
  host: Host;
  workflows: WorkflowSource;
  executor: Executor;
  artifacts: ArtifactStore;
  callerOf: Access["callerOf"];
  /** Labels of the workflows that the archive has. */
  archiveSelector: LabelTerm[];
}

export async function createService(
  context: ServerContext,
  { store, clock, onUnreadable, cluster }: Storage,
  { host, workflows, executor, artifacts, callerOf, archiveSelector }: ServiceParts,
): Promise<ServiceDeps> {
  const { config, log, metrics } = context;
  const naming = namingOf(config);
  const runsPods = config.executor === "kubernetes";
  return {
    host,
    store,
    clock,
    ids: systemIds,
    log,
    workflows,
    onUnreadable,
    watches: new WatchHub(store, workflows, onUnreadable),
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
    callerOf,
    settings: settingsOf(config, archiveSelector),
    checks: createCheckThread(),
    estimates: new DurationEstimates(store, clock, naming.labelPrefix),
    logs: executor,
    artifacts,
    ...(cluster !== undefined && { objects: new ObjectCalls(cluster.client, config.apiGroup) }),
  };
}

function settingsOf(config: Config, archiveSelector: LabelTerm[]): ServiceSettings {
  return {
    naming: namingOf(config),
    build: buildFacts(),
    eventQueueSize: config.eventOperationQueueSize,
    maxEventBytes: config.maxEventBytes,
    maxNodes: config.maxNodes,
    idempotencyTtlMs: config.idempotencyTtl,
    archive: config.archive,
    archiveDeleted: config.archiveDeleted,
    syncApi: config.syncApi,
    userNamespace: config.userNamespace,
    archiveSelector,
    authRequired: !config.authMode.includes("server"),
  };
}

function buildFacts(): ServiceSettings["build"] {
  return {
    version: facts.version,
    buildDate: "",
    gitCommit: "",
    gitTag: "",
    gitTreeState: "",
    goVersion: "",
    compiler: "",
    platform: `${process.platform}/${process.arch}`,
  };
}
