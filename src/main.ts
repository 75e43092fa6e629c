/**
 * The server: reads the configuration, puts the parts together, serves, and ends properly. The only place that knows
 * all parts; nothing is decided here.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseWorkflowActorId } from "./actors/actor_ids.ts";
import { Host } from "./actors/host.ts";
import { createWorkflowKind } from "./actors/workflow_actor.ts";
import { locksKind } from "./actors/locks_actor.ts";
import { createArtifactStore } from "./artifacts/artifact_store.ts";
import type { ConfigSource } from "./artifacts/config_source.ts";
import type { ArtifactStore } from "./artifacts/port.ts";
import { type AccessRules, callersByRules, parseAccessRules } from "./auth/access_rules.ts";
import { createGatekeeper } from "./auth/gatekeeper.ts";
import type { Authenticator } from "./auth/port.ts";
import {
  createKubernetesAuthenticator,
  createKubernetesCallers,
  type KubernetesTokensOptions,
} from "./auth/kubernetes_tokens.ts";
import { createSsoAuthenticator } from "./auth/sso.ts";
import { createTokenFileAuthenticator, parseTokenFile } from "./auth/token_file.ts";
import { Problem, unavailable } from "./base/problem.ts";
import { observeWork } from "./base/work.ts";
import { parseRepository } from "./artifacts/repository_setting.ts";
import { KubeClient, KubeError } from "./kubernetes/kube_client.ts";
import { loadKubeConfig } from "./kubernetes/kube_config.ts";
import { createClusterManifests, withManifests } from "./kubernetes/cluster_manifests.ts";
import { createClusterEvents } from "./kubernetes/pod_events.ts";
import { ManifestMirror } from "./kubernetes/manifest_mirror.ts";
import { ObjectLookup } from "./kubernetes/object_lookup.ts";
import { openExecutor } from "./executors/open_executor.ts";
import type { OpenedExecutor } from "./executors/open_executor.ts";
import type { FindUnwanted } from "./executors/orphan_pods.ts";
import type { Executor } from "./executors/port.ts";
import { evaluateHttpCondition, evaluateTransformation } from "./expr/contexts.ts";
import { matchesLabels, parseLabelSelector } from "./expr/label_selector.ts";
import { createApp } from "./http/app.ts";
import { ARGO_UI_BASE, checkArgoUi } from "./http/argo_ui.ts";
import { createOriginRule, type HostRule, parseOrigins } from "./http/origin.ts";
import { createRateLimiter } from "./http/rate_limit.ts";
import { ROUTES } from "./http/routes.ts";
import { starting } from "./http/starting.ts";
import { type Clock, endsWithin, systemClock } from "./platform/clock.ts";
import {
  type Config,
  CONFIG_TABLE,
  ConfigError,
  describeConfig,
  isLoopback,
  parseConfig,
} from "./platform/config.ts";
import { systemIds } from "./platform/ids.ts";
import { createLogger, flushLog, type Logger, maskUrl } from "./platform/log.ts";
import { createMetrics, type Metrics } from "./platform/metrics.ts";
import { type FetchHandler, serve, type Server } from "./platform/serve.ts";
import { SharedClock } from "./platform/shared_clock.ts";
import { stopSignal } from "./platform/stop_signal.ts";
import { Watchdog } from "./platform/watchdog.ts";
import { watchFile } from "./platform/watched_file.ts";
import type { ServiceDeps } from "./service/deps.ts";
import type { CronRunner } from "./actors/cron_runner.ts";
import { type ClusterSource, startClusterSource } from "./service/cluster_source.ts";
import { sweepArchive } from "./service/archive_sweep.ts";
import { startCronRunner } from "./service/cron_runs.ts";
import { DurationEstimates } from "./service/duration_estimates.ts";
import { createCheckThread } from "./service/manifest_check.ts";
import { createEventFeed } from "./service/event_feed.ts";
import { createEventMetrics } from "./service/event_metrics.ts";
import { type EventProcessing, startEventProcessing } from "./service/event_processing.ts";
import { followManifestFolder } from "./service/manifest_folder.ts";
import { ObjectCalls } from "./service/object_calls.ts";
import { createStoredConfig } from "./service/stored_config.ts";
import { createWatchHub } from "./service/watch_hub.ts";
import { createUnwantedPods } from "./service/unwanted_pods.ts";
import { createWorkflowSource } from "./service/workflow_source.ts";
import type { Naming } from "./spec/naming.ts";
import { unreadableReporter } from "./platform/unreadable.ts";
import { reachStore } from "./store/open_store.ts";
import { watchWrites } from "./store/write_watch.ts";
import type { Store } from "./store/port.ts";
import facts from "../package.json" with { type: "json" };

/** Events of a silent worker are not taken over earlier, ms. */
const MIN_CLAIM_MS = 2_000;

/** Part of the time for stopping that running requests may take; the rest is for handing over. */
const REQUESTS_SHARE = 0.5;
/** Longest wait for executors and store to let go, ms. */
const CLOSE_MS = 2_000;

/** What pods call; they prove themselves by a token of their task. */
const TASK_PATH = "/api/v1/tasks/";

/** What has been put together, for taking it apart again. */
interface System {
  host: Host;
  store: Store;
  executor: Executor;
  closing: AbortController;
  service: ServiceDeps;
  eventProcessing: EventProcessing;
  cron: CronRunner;
  clusterSource: ClusterSource | undefined;
  handler: FetchHandler;
}

/** Runs a server until it is told to stop; resolves with the exit status. */
export async function runServer(
  args: string[],
  env: Record<string, string | undefined>,
): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`sluice server [flags]\n\n${describeConfig()}\n`);
    return 0;
  }
  let config: Config;
  try {
    config = parseConfig(args, env);
    if (config.argoUiDir !== "") await checkArgoUi(config.argoUiDir);
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    for (const problem of cause.problems) process.stderr.write(`sluice: ${problem}\n`);
    return 2;
  }
  const log = createLogger(config.logLevel);
  // What is still kept is offered once more, also when the process ends otherwise than in order.
  process.on("exit", () => void flushLog(log));
  try {
    return await run(config, log);
  } finally {
    await flushLog(log);
  }
}

async function run(config: Config, log: Logger): Promise<number> {
  const stop = stopSignal(log);
  let handler: FetchHandler = starting;
  let server: Server;
  try {
    server = await serve(
      (request, info) => handler(request, info),
      config.host,
      config.port,
      isLoopback(config.host) ? undefined : config.headerTimeout,
    );
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    process.stderr.write(`sluice: cannot listen on ${config.host}:${config.port}: ${reason}\n`);
    return 1;
  }
  const shown = { store: maskUrl(config.store), artifacts: maskUrl(config.artifacts) };
  log.info({ ...config, ...shown }, "configuration");
  log.info(`listening on http://${server.hostname}:${server.port}`);
  let system: System;
  try {
    system = await build(config, log, stop);
  } catch (cause) {
    await server.close(0);
    if (stop.aborted) return 0;
    log.fatal({ err: cause }, "cannot start");
    return 1;
  }
  handler = system.handler;
  log.info({ shards: system.host.shards }, "ready");
  if (config.argoUiDir !== "") {
    log.info(`pages of Argo Workflows on http://${server.hostname}:${server.port}${ARGO_UI_BASE}`);
  }
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    else stop.addEventListener("abort", () => resolve());
  });
  await shutDown(system, server, config, log);
  return 0;
}

/** Opens the store and joins the parts; keeps trying while the store can't be reached. */
async function build(config: Config, log: Logger, stop: AbortSignal): Promise<System> {
  const ids = systemIds;
  const naming = namingOf(config);
  const metrics = createMetrics();
  const closing = new AbortController();
  const watchdog = new Watchdog({ clock: systemClock, log, metrics, cpuMs });
  observeWork(watchdog.note);
  watchdog.start(closing.signal);
  const onUnreadable = unreadableReporter(metrics, log, systemClock);
  const reached = await reachStore(config, log, stop, onUnreadable);
  const writes = watchWrites(reached, { clock: systemClock, log, metrics });
  const ownStore = writes.store;
  closing.signal.addEventListener("abort", writes.stop);
  const clock = new SharedClock(systemClock, () => ownStore.membership.now());
  await clock.look().catch((cause) => log.warn({ err: cause }, "the store does not tell the time"));
  void clock.follow(closing.signal);
  const cluster = config.manifestSource === "kubernetes"
    ? await openCluster(config, ownStore, log)
    : undefined;
  const store = cluster?.store ?? ownStore;
  const promised = store.durability?.() ?? "unknown";
  if (config.store !== "memory:" && promised !== "always" && promised !== config.durability) {
    log.warn(
      { asked: config.durability, promised },
      "the store promises less durability than --durability asks for",
    );
  }
  const dir = config.store.startsWith("sqlite:")
    ? config.store.slice("sqlite:".length)
    : config.workDir;
  const configSource = createStoredConfig(store);
  const artifacts = createArtifactStore({
    repository: parseRepository(config.artifacts || join(dir, "artifacts")),
    keys: config.artifactKeys,
    config: configSource,
    allowLocalGit: config.executor === "process",
    maxBytes: config.maxArtifactBytes,
  });
  const workflows = createWorkflowSource(store);
  const { executor, callback } = await openExecutors(config, dir, {
    store,
    source: configSource,
    artifacts,
    clock,
    log,
    metrics,
    findUnwanted: createUnwantedPods(workflows),
  });
  const replica = `${hostname()}-${process.pid}-${ids.suffix(4)}`;
  const archiveSelector = parseLabelSelector(config.archiveSelector);
  const host = new Host({
    store,
    executors: [executor],
    kinds: [
      createWorkflowKind({
        naming,
        isKept: (labels) =>
          config.archive && config.archiveDeleted && matchesLabels(archiveSelector, labels),
      }),
      locksKind,
    ],
    clock,
    ids,
    log,
    metrics,
    async collectArtifacts(actor, { artifacts: unwanted, repositoryRef, formerKeys }) {
      const scope = {
        namespace: parseWorkflowActorId(actor)?.namespace ?? "",
        ...(repositoryRef !== undefined && { repositoryRef }),
        ...(formerKeys !== undefined && { formerKeys }),
      };
      for (const artifact of unwanted) {
        try {
          await artifacts.remove(artifact, scope);
        } catch (cause) {
          // What can't be reached now is tried again; what can't be removed at all stays, with a word in the log.
          if (cause instanceof Problem && cause.status === 503) throw cause;
          log.warn({ actor, artifact: artifact.name, err: cause }, "artifact could not be removed");
        }
      }
    },
  }, {
    replica,
    shards: config.shards,
    leaseTtlMs: config.leaseTtl,
    hotActors: config.hotActors,
    taskStarts: config.taskStarts,
    naming,
    artifactKeys: config.artifactKeys,
    limits: { nodes: config.maxNodes, bytes: config.maxWorkflowBytes },
  });
  await host.start();
  const rules = accessRules(config, log);
  const reviews = await clusterReviews(config);
  const authenticators = createAuthenticators(config, rules, reviews, log);
  const byRules = callersByRules(
    config.authMode.includes("server"),
    authenticators.length > 0,
    rules,
    config.apiGroup,
  );
  const service: ServiceDeps = {
    host,
    store,
    clock,
    ids,
    log,
    workflows,
    onUnreadable,
    watches: createWatchHub(store, workflows, onUnreadable),
    events: createEventFeed({ store, clock, log, naming }),
    ...(config.executor === "kubernetes" && {
      // Streams stay open: with a client of their own they take no place from others.
      clusterEvents: createClusterEvents({
        client: new KubeClient(await loadKubeConfig(process.env)),
        clock,
        log,
      }),
    }),
    eventMetrics: createEventMetrics(metrics),
    callerOf: reviews === undefined ? byRules : createKubernetesCallers(reviews, byRules),
    settings: {
      naming,
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
    },
    checks: createCheckThread(),
    estimates: new DurationEstimates(store, clock, naming.labelPrefix),
    logs: executor,
    artifacts,
    ...(cluster === undefined ? {} : { objects: new ObjectCalls(cluster.client, config.apiGroup) }),
  };
  const gatekeeper = createGatekeeper({
    server: config.authMode.includes("server"),
    authenticators,
  });
  const app = createApp({
    service,
    gatekeeper,
    metrics,
    maxBodyBytes: config.maxBodyBytes,
    maxBodiesBytes: config.maxBodiesBytes,
    maxBodyMembers: config.maxBodyMembers,
    maxUploadBytes: config.maxUploadBytes,
    bodyTimeoutMs: config.bodyTimeout,
    origin: createOriginRule({
      allowed: parseOrigins(config.accessControlAllowOrigin),
      hosts: allowedHosts(config),
    }),
    ready: () => store.ping(),
    writesRefused: writes.refusal,
    closing: closing.signal,
    ...(config.apiRateLimit === 0
      ? {}
      : { rateLimiter: createRateLimiter(config.apiRateLimit, clock) }),
    ...(config.argoUiDir === "" ? {} : { argoUiDir: config.argoUiDir }),
  }, ROUTES);
  if (config.manifests !== "") {
    await followManifestFolder(service, config.manifests, closing.signal);
  }
  const clusterSource = cluster === undefined ? undefined : await startClusterSource(service, {
    client: cluster.client,
    mirror: cluster.mirror,
    group: config.apiGroup,
    namespaces: listOf(config.namespace),
    replica,
    statusRate: config.statusWriteRate,
  }, stop);
  if (config.archiveDeleted) void sweepArchive(service, config.archiveTtl, closing.signal);
  const cron = startCronRunner(service, replica);
  const eventProcessing = startEventProcessing(service, {
    replica,
    workers: config.eventWorkerCount,
    claimAfterMs: Math.max(MIN_CLAIM_MS, config.leaseTtl),
    deliveryCount: config.deliveryCount,
    deliveryAgeMs: config.deliveryAge,
  });
  return {
    host,
    store,
    executor,
    closing,
    service,
    eventProcessing,
    cron,
    clusterSource,
    handler: (request, info) =>
      callback !== undefined && new URL(request.url).pathname.startsWith(TASK_PATH)
        ? callback(request)
        : app.fetch(request, info as object),
  };
}

/** By which names the server may be called; undefined: by any, since whoever calls must prove who it is. */
function allowedHosts(config: Config): HostRule | undefined {
  if (isLoopback(config.host)) return "local";
  if (!config.authMode.includes("server")) return undefined;
  return [hostname(), ...listOf(config.allowedHosts)];
}

/** The rules of the access file, as they are now; none without a file. */
function accessRules({ accessFile, apiGroup }: Config, log: Logger): () => AccessRules {
  const parse = (text: string) => parseAccessRules(text, apiGroup);
  return accessFile === "" ? () => [] : watchFile(accessFile, parse, systemClock.now, log).current;
}

/** How the cluster is asked for tokens and rights; undefined when it isn't. */
async function clusterReviews(config: Config): Promise<KubernetesTokensOptions | undefined> {
  if (!config.authMode.includes("client") || config.executor !== "kubernetes") return undefined;
  const client = new KubeClient(await loadKubeConfig(process.env));
  return {
    async post(path, body) {
      try {
        return await client.call({ method: "POST", path, body });
      } catch (cause) {
        if (!(cause instanceof KubeError && cause.isTransient)) throw cause;
        throw unavailable(`The cluster can't tell who may do what now: ${cause.message}`);
      }
    },
    now: systemClock.now,
    apiGroup: config.apiGroup,
  };
}

/** What the authentication modes besides `server` accept. Files are read now, so that a wrong one ends the start. */
function createAuthenticators(
  config: Config,
  rules: () => AccessRules,
  reviews: KubernetesTokensOptions | undefined,
  log: Logger,
): Authenticator[] {
  const { now } = systemClock;
  const { apiGroup } = config;
  const authenticators: Authenticator[] = [];
  if (config.authMode.includes("client") && config.tokenFile !== "") {
    const tokens = watchFile(config.tokenFile, parseTokenFile, now, log).current;
    authenticators.push(createTokenFileAuthenticator({ tokens, rules, now, apiGroup }));
  }
  if (reviews !== undefined) authenticators.push(createKubernetesAuthenticator(reviews));
  if (config.authMode.includes("sso")) {
    authenticators.push(createSsoAuthenticator({
      issuer: config.ssoIssuer,
      audience: config.ssoAudience,
      jwksUrl: config.ssoJwksUrl,
      rules,
      apiGroup,
    }));
  }
  return authenticators;
}

/** Stops taking requests, finishes what was begun, gives the shards to others; gives up on what takes too long. */
async function shutDown(
  system: System,
  server: Server,
  config: Config,
  log: Logger,
): Promise<void> {
  log.info("stopping");
  system.closing.abort();
  const deadline = systemClock.monotonic() + config.drainTimeout;
  const inTime = (step: Promise<unknown>) =>
    endsWithin(systemClock, deadline - systemClock.monotonic(), step);
  await server.close(config.drainTimeout * REQUESTS_SHARE);
  await inTime(Promise.all([
    system.eventProcessing.stop(),
    system.cron.stop(),
    system.clusterSource?.stop(),
  ]));
  const isHandedOver = await inTime(system.host.drain());
  if (!isHandedOver) {
    log.warn("the store does not answer: others take over when the leases have run out");
    system.host.halt();
  }
  system.service.watches.close();
  system.service.checks?.close();
  await endsWithin(
    systemClock,
    CLOSE_MS,
    Promise.all([system.executor.close(), system.store.close()]),
  );
  log.info("stopped");
}

/** The store with its manifests in the cluster, and what keeps the copies of them. */
async function openCluster(
  { apiGroup }: Config,
  inner: Store,
  log: Logger,
): Promise<{ client: KubeClient; mirror: ManifestMirror; store: Store }> {
  const client = new KubeClient(await loadKubeConfig(process.env));
  const mirror = new ManifestMirror(inner.manifests);
  const manifests = createClusterManifests({
    client,
    mirror,
    group: apiGroup,
    inner: inner.manifests,
    lookup: new ObjectLookup({ client, log, monotonic: systemClock.monotonic }),
  });
  return { client, mirror, store: withManifests(inner, manifests) };
}

/** The parts of a text between commas. */
function listOf(text: string): string[] {
  return text.split(",").map((one) => one.trim()).filter((one) => one !== "");
}

/** What the deployment calls its labels and kinds. */
function namingOf({ labelPrefix, apiGroup }: Config): Naming {
  return { labelPrefix, apiGroup };
}

/** What runs the tasks: http and data templates in this process, the rest as `--executor` says. */
function openExecutors(
  config: Config,
  dir: string,
  { store, source, artifacts, clock, log, metrics, findUnwanted }: {
    store: Store;
    source: ConfigSource;
    artifacts: ArtifactStore;
    clock: Clock;
    log: Logger;
    metrics: Metrics;
    findUnwanted: FindUnwanted;
  },
): Promise<OpenedExecutor> {
  const { namespace, instance, helperImage, callbackUrl, workflowServiceAccount } = config;
  return openExecutor({
    kind: config.executor,
    dir: join(dir, "tasks"),
    containerAllow: config.containerAllow,
    maxArtifactBytes: config.maxArtifactBytes,
    config: source,
    artifacts,
    clock,
    log,
    metrics,
    memory: store.blobs,
    evaluateCondition: (expression, { request, response }) =>
      evaluateHttpCondition(expression, request as never, response as never),
    evaluateData: (expression, { data }) => evaluateTransformation(expression, data ?? null),
    kubernetes: {
      env: process.env,
      instance,
      helperImage,
      callbackUrl,
      namespaces: listOf(namespace),
      naming: namingOf(config),
      // Two deployments that share the default's name would take each other's pods for orphans.
      ...(instance !== CONFIG_TABLE.instance.default && { findUnwanted }),
      ...(workflowServiceAccount !== "" && { serviceAccount: workflowServiceAccount }),
    },
  });
}

/** Processor time of this process so far, ms. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function buildFacts(): ServiceDeps["settings"]["build"] {
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

if (import.meta.main) process.exit(await runServer(process.argv.slice(2), process.env));
