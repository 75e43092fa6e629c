/** Puts a server together, from its configuration to what answers its requests, and starts what runs by itself. */
import { hostname } from "node:os";
import process from "node:process";
import type { CronRunner } from "../actors/cron_runner.ts";
import type { Host } from "../actors/host.ts";
import type { Archive } from "../archive/port.ts";
import { defined } from "../base/defined.ts";
import { replicaName } from "../base/replica_name.ts";
import { observeWork } from "../base/work.ts";
import type { Executor } from "../executors/port.ts";
import { matchesLabels } from "../expr/selectors/label_selector.ts";
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import { systemIds } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import { createMetrics } from "../platform/metrics.ts";
import { ownAccess } from "../platform/own_access.ts";
import { machineMark } from "../platform/process/own_machine.ts";
import type { FetchHandler } from "../platform/serve.ts";
import type { Seat } from "../processes/seat.ts";
import { openTraces } from "../platform/traces/open.ts";
import type { Traces } from "../platform/traces/span.ts";
import { collectWhenIdle } from "../platform/process/idle_collection.ts";
import { Watchdog } from "../platform/process/watchdog.ts";
import { runCensus } from "../service/census.ts";
import { type ClusterSource, startClusterSource } from "../service/cluster/source.ts";
import { DeletedOwners } from "../service/deleted_owners.ts";
import { deleteOwned } from "../service/dependents.ts";
import { startCronRunner } from "../service/cron/runs.ts";
import type { ServiceDeps } from "../service/deps.ts";
import { type EventProcessing, startEventProcessing } from "../service/events/processing.ts";
import { followManifestFolder } from "../service/manifest_folder.ts";
import { removalFailures } from "../service/history/removals.ts";
import { runRetention } from "../service/history/retention.ts";
import { sweepArchive } from "../service/workflows/archive_sweep.ts";
import { createWorkflowSource } from "../service/workflows/source.ts";
import type { Store } from "../store/port.ts";
import { readSettings } from "./setting.ts";
import { createAbout } from "./about.ts";
import { openAccess } from "./access.ts";
import { createHost } from "./actors.ts";
import { openCallbacks } from "./callbacks.ts";
import { listOf, type ServerContext } from "./context.ts";
import { leaveForEnded } from "./ended_replicas.ts";
import { openHistory, startMoving } from "./history.ts";
import { makeFirstToken } from "./first_token.ts";
import { createHandler } from "./http.ts";
import { createService } from "./service.ts";
import { openStorage, type Storage } from "./storage.ts";
import { openTasks } from "./tasks.ts";
import { openWebhooks } from "./webhooks.ts";

/** Events of a worker that says nothing are not taken over earlier, ms. */
const MIN_CLAIM_MS = 2_000;

/** A running server, for taking it apart again. */
export interface System extends Background {
  handler: FetchHandler;
  host: Host;
  store: Store;
  executor: Executor;
  service: ServiceDeps;
  /** Absent if the store is the archive too. */
  archive?: Archive;
  /** Aborted when the server begins to stop. */
  closing: AbortController;
  traces: Traces | undefined;
}

/** What runs by itself. */
interface Background {
  events: EventProcessing;
  cron: CronRunner;
  /** Absent where the store is the source of manifests. */
  clusterSource: ClusterSource | undefined;
}

/**
 * Opens the store and joins the parts; keeps trying while the store cannot be reached. What was opened is closed again when
 * a later part fails.
 */
export async function startSystem(
  config: Config,
  log: Logger,
  stop: AbortSignal,
  { address, seat }: { address: string; seat?: Seat | undefined },
): Promise<System> {
  const settings = readSettings(config);
  const closing = new AbortController();
  const metrics = createMetrics();
  const replica = replicaName(hostname(), process.pid, machineMark(), systemIds.suffix(4));
  const traces = await openTraces({
    env: process.env,
    showsValues: config.traceValues,
    instance: replica,
    log,
    metrics,
  });
  const context: ServerContext = {
    config,
    settings,
    log,
    address,
    metrics,
    replica,
    closing: closing.signal,
    traces,
    seat,
  };
  const close: (() => unknown)[] = [() => traces?.close()];
  try {
    return { ...await openParts(context, stop, (one) => close.push(one)), closing, traces };
  } catch (cause) {
    closing.abort();
    for (const one of close.reverse()) await Promise.resolve(one()).catch(() => {});
    throw cause;
  }
}

/** @param onFailure keeps what must be closed if a later part fails; the last comes first */
async function openParts(
  context: ServerContext,
  stop: AbortSignal,
  onFailure: (close: () => unknown) => void,
): Promise<Omit<System, "closing" | "traces">> {
  const { config, settings, replica, seat } = context;
  startWatchdog(context);
  collectWhenIdle({ clock: systemClock, cpuMs }, context.closing);
  await seat?.join(replica);
  const own = ownAccess(config);
  // Given files are read before the store is waited for; its own only by the process that holds it.
  const given = own === undefined ? await openAccess(context) : undefined;
  const storage = await openStorage(context, stop);
  const { store } = storage;
  onFailure(() => store.close());
  if (own !== undefined) makeFirstToken(own, config.port);
  const access = given ?? await openAccess(context);
  const { callerOf } = access;
  const history = openHistory(context, storage);
  onFailure(() => history?.archive.close());
  const whole = history === undefined ? storage : { ...storage, store: history.whole };
  const workflows = createWorkflowSource(whole.store, systemClock);
  const { executor, artifacts, callback } = await openTasks(context, storage, workflows);
  onFailure(() => executor.close());
  const about = createAbout(context, storage);
  const callbacks = openCallbacks(context, storage);
  const webhooks = await openWebhooks(context, storage);
  const tasks = { executor, artifacts, callbacks, webhooks };
  const isKept = (labels: Record<string, string>) =>
    config.archive && config.archiveDeleted && matchesLabels(settings.archiveSelector, labels);
  const deletedOwners = new DeletedOwners(store, storage.clock);
  const host = createHost(context, storage, {
    ...tasks,
    deletedOwners,
    isKept,
    archive: history?.archive,
    about,
  });
  onFailure(() => host.halt());
  await leaveForEnded(store.membership, context.log);
  await host.start();
  const parts = { ...tasks, host, workflows, callerOf, history, deletedOwners };
  const service = await createService(context, whole, parts);
  onFailure(() => service.watches.close());
  const handler = createHandler(context, storage, { service, access, callback });
  if (history !== undefined) {
    startMoving(context, storage, history, { host, isKept });
  }
  const background = await startBackground(context, storage, service, stop);
  const archive = history?.archive;
  return { ...background, handler, host, store, executor, service, ...defined({ archive }) };
}

async function startBackground(
  { config, replica, closing, metrics }: ServerContext,
  { cluster }: Storage,
  service: ServiceDeps,
  stop: AbortSignal,
): Promise<Background> {
  if (config.manifests !== "") await followManifestFolder(service, config.manifests, closing);
  const clusterSource = cluster && await startClusterSource(service, {
    ...cluster,
    group: config.apiGroup,
    namespaces: listOf(config.namespace),
    replica,
    statusRate: config.statusWriteRate,
  }, stop);
  void runCensus(service, metrics, replica, closing);
  const failures = removalFailures(metrics);
  void runRetention(service, failures, closing);
  if (config.archiveDeleted) {
    void sweepArchive(service, { ttlMs: config.archiveTtl, failures }, closing);
  }
  void deleteOwned(service, replica, closing);
  const cron = startCronRunner(service, replica);
  const events = startEventProcessing(service, {
    replica,
    workers: config.eventWorkerCount,
    claimAfterMs: Math.max(MIN_CLAIM_MS, config.leaseTtl),
    deliveryCount: config.deliveryCount,
    deliveryAgeMs: config.deliveryAge,
    keptEventRate: config.keptEventRate,
  });
  return { events, cron, clusterSource };
}

function startWatchdog({ log, metrics, closing }: ServerContext): void {
  const watchdog = new Watchdog({ clock: systemClock, log, metrics, cpuMs });
  closing.addEventListener("abort", observeWork(watchdog.note), { once: true });
  watchdog.start(closing);
}

/** Processor time of this process so far, ms. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
