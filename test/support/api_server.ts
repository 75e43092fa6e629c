/**
 * The HTTP application over a store (by default in memory) and a real host, for conformance and contract tests. In a
 * frozen host nothing happens except what the API itself does. `PUT /test/seed` exists only here.
 */
import { Host } from "../../src/actors/host.ts";
import type { Archive } from "../../src/archive/port.ts";
import { createGatekeeper, type GatekeeperOptions } from "../../src/auth/gatekeeper.ts";
import { isJsonObject, type JsonObject } from "../../src/base/json.ts";
import { MAX_JSON_MEMBERS } from "../../src/base/json_text.ts";
import type { Executor } from "../../src/executors/port.ts";
import { createApp } from "../../src/http/app.ts";
import { createOriginRule, type HostRule } from "../../src/http/origin.ts";
import { createRateLimiter } from "../../src/http/rate_limit.ts";
import { ROUTES } from "../../src/http/routes/all.ts";
import { mountCallbackPages } from "../../src/http/routes/callback_pages.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemIds } from "../../src/platform/ids.ts";
import { unreadableReporter } from "../../src/platform/unreadable.ts";
import { createLogger } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { serve, type Server } from "../../src/platform/serve.ts";
import type { ArtifactSource, ServiceDeps, ServiceSettings } from "../../src/service/deps.ts";
import { StoredCallbackKeys } from "../../src/service/callbacks/keys.ts";
import { CallbackUrls } from "../../src/service/callbacks/urls.ts";
import { KnownCounts } from "../../src/service/workflows/known_counts.ts";
import { OlderWaits } from "../../src/service/workflows/older_waits.ts";
import { createSharedLooks } from "../../src/service/shared_looks.ts";
import { DurationEstimates } from "../../src/service/workflows/duration_estimates.ts";
import { createCheckThread } from "../../src/service/manifests/check.ts";
import { EventFeed } from "../../src/service/events/stream/feed.ts";
import { Mover } from "../../src/service/history/mover.ts";
import { MoveMetrics } from "../../src/service/history/move_metrics.ts";
import { withArchive } from "../../src/service/history/whole_store.ts";
import { createEventMetrics } from "../../src/service/events/metrics.ts";
import { startEventProcessing } from "../../src/service/events/processing.ts";
import { WatchHub } from "../../src/service/workflows/watch_hub.ts";
import { createWorkflowSource } from "../../src/service/workflows/source.ts";
import { decode } from "../../src/spec/schema/decode.ts";
import { ManifestKind, type Workflow } from "../../src/spec/manifest.ts";
import { normalForm } from "../../src/spec/normal_form.ts";
import { KIND_SCHEMAS } from "../../src/spec/schema/kinds.ts";
import { createAssetSource } from "../../src/ui/assets.ts";
import { mountPages } from "../../src/ui/pages.ts";
import { openMemoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { locksKind } from "../../src/actors/locks_actor.ts";
import { workflowKind } from "../../src/actors/workflow/actor.ts";
import { STANDARD_NAMING } from "../../src/spec/naming.ts";
import { TEST_SETTINGS } from "./test_settings.ts";

export interface ApiServerOptions {
  gatekeeper: GatekeeperOptions;
  /** Closed with the instance. @default an empty store in memory */
  store?: Store;
  settings?: Partial<ServiceSettings>;
  /**
   * Opens an empty archive, which is closed with the instance. Finished workflows of a seed move there at once. @default the
   * store is the archive
   */
  archive?: () => Archive;
  /** Requests per second for each sender. @default no bound */
  rateLimit?: number;
  /** Largest upload, bytes. @default {1 Gi} */
  maxUploadBytes?: number;
  /** Largest body, bytes. @default {4 Mi} */
  maxBodyBytes?: number;
  /** Most bytes of all bodies at a time. @default {64 Mi} */
  maxBodiesBytes?: number;
  /** Most members of a body. @default the server's own */
  maxBodyMembers?: number;
  /** Time limit for bodies, ms. @default {30_000} */
  bodyTimeoutMs?: number;
  /** Time limit for headers, ms; absent: the runtime's own. */
  headerTimeoutMs?: number;
  /** Origins whose pages may call. @default none */
  origins?: string[];
  /** Names under which it answers. @default those of this machine */
  hosts?: HostRule;
  /** Storage for artifacts. @default none */
  artifacts?: ArtifactSource;
  /** With what callback URLs begin. @default {"http://localhost"} */
  publicUrl?: string;
  /** Folder with pages. @default none are served */
  argoUiDir?: string;
  /** The rights of queued events. @default all rights if authentication is off, else none */
  callerOf?: NonNullable<ServiceDeps["callerOf"]>;
  /** Workers on the event queue. @default {0} */
  eventWorkers?: number;
  /** What runs steps. Absent: the host is frozen, and a command has no consequences. */
  executors?: readonly Executor[];
}

/** Longest wait until accepted events are processed. */
const MAX_IDLE_WAIT_MS = 400;

/** One store with a host and an application on it. */
export interface Instance {
  fetch: (request: Request, env?: unknown) => Response | Promise<Response>;
  mounted: ReturnType<typeof createApp>["mounted"];
  service: ServiceDeps;
  seed(objects: JsonObject[]): Promise<void>;
  /** Resolves when accepted events have been processed. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Makes a fresh, empty instance. */
export async function startInstance(options: ApiServerOptions): Promise<Instance> {
  const { store: live = openMemoryStore() } = options;
  const archive = options.archive?.();
  const store = archive === undefined
    ? live
    : withArchive(live, archive, { naming: STANDARD_NAMING });
  const log = createLogger("error");
  const metrics = createMetrics();
  const shared = { store, clock: systemClock, ids: systemIds, log };
  const host = new Host(
    {
      ...shared,
      store: live,
      metrics,
      executors: options.executors ?? [],
      kinds: [workflowKind, locksKind],
    },
    {
      replica: "test",
      shards: 8,
      leaseTtlMs: 60_000,
      hotActors: 1_000,
      taskStarts: 1,
      naming: STANDARD_NAMING,
      // With steps, many workflows grow in one process.
      limits: options.executors === undefined
        ? { nodes: 100_000, bytes: 64 * 2 ** 20 }
        : { nodes: 2_000, bytes: 16 * 2 ** 20 },
      frozen: options.executors === undefined,
    },
  );
  await host.start();
  const mover = archive && new Mover(
    { ...shared, store: live, archive, host, metrics: new MoveMetrics(metrics) },
    {
      naming: STANDARD_NAMING,
      indexParameters: new Set(),
      keepMs: { Succeeded: 0, Failed: 0, Error: 0 },
      selector: [],
      isKept: () => false,
    },
  );
  const workflows = createWorkflowSource(store, shared.clock);
  const settings = { ...TEST_SETTINGS, ...options.settings };
  const looked = { ...shared, host, workflows, settings };
  const service: ServiceDeps = {
    ...looked,
    ...(archive && { history: { live, archive, trouble: () => undefined } }),
    ...createSharedLooks(looked, { store: "memory", durability: "always" }),
    watches: new WatchHub(store, workflows, systemClock),
    // A seed may hold events of any age.
    events: new EventFeed({ ...shared, naming: STANDARD_NAMING, keptMs: Infinity }),
    eventMetrics: createEventMetrics(metrics),
    onUnreadable: unreadableReporter(metrics, log, systemClock),
    checks: createCheckThread(),
    counts: new KnownCounts(shared.clock),
    olderWaits: new OlderWaits({ ...shared, host }),
    callbacks: new CallbackUrls({
      keys: new StoredCallbackKeys({ blobs: store.blobs, clock: shared.clock }),
      base: options.publicUrl ?? "http://localhost",
      clock: shared.clock,
    }),
    estimates: new DurationEstimates(store, shared.clock, STANDARD_NAMING),
    ...(options.artifacts === undefined ? {} : { artifacts: options.artifacts }),
    ...(options.callerOf === undefined ? {} : { callerOf: options.callerOf }),
  };
  const closing = new AbortController();
  const gatekeeper = createGatekeeper(options.gatekeeper);
  const app = createApp({
    service,
    gatekeeper,
    metrics,
    maxBodyBytes: options.maxBodyBytes ?? 4 * 1024 * 1024,
    maxBodiesBytes: options.maxBodiesBytes ?? 64 * 1024 * 1024,
    maxBodyMembers: options.maxBodyMembers ?? MAX_JSON_MEMBERS,
    maxUploadBytes: options.maxUploadBytes ?? 2 ** 30,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
    origin: createOriginRule({ allowed: options.origins ?? [], hosts: options.hosts ?? "local" }),
    ready: () => store.ping(),
    closing: closing.signal,
    ...(options.argoUiDir === undefined ? {} : { argoUiDir: options.argoUiDir }),
    pages: (app) => {
      mountCallbackPages(app, service);
      const takesTokens = options.gatekeeper.authenticators.length > 0;
      return mountPages(app, { assets: createAssetSource(log), gatekeeper, takesTokens, log });
    },
    ...(options.rateLimit === undefined
      ? {}
      : { rateLimiter: createRateLimiter(options.rateLimit, systemClock) }),
  }, ROUTES);
  const events = startEventProcessing(service, {
    replica: "test",
    workers: options.eventWorkers ?? 0,
    claimAfterMs: 60_000,
    deliveryCount: 1_000,
    deliveryAgeMs: 3600_000,
    keptEventRate: 1,
  });
  return {
    fetch: (request, env) => app.fetch(request, env as object),
    mounted: app.mounted,
    service,
    async seed(objects) {
      await seedObjects(service, objects);
      await mover?.look(closing.signal);
    },
    async idle() {
      // The reference's profile dispatches while the sender waits; here the workflow exists soon after.
      if ((options.eventWorkers ?? 0) === 0) return;
      const until = systemClock.now() + MAX_IDLE_WAIT_MS;
      while (await store.events.depth() > 0 && systemClock.now() < until) {
        await systemClock.sleep(5);
      }
    },
    async stop() {
      closing.abort();
      await events.stop();
      service.watches.close();
      service.checks?.close();
      host.halt();
      await store.close();
      await archive?.close();
    },
  };
}

/** A server on a free port whose whole state a seed replaces. */
export async function startApiServer(
  options: ApiServerOptions,
): Promise<{ server: Server; stop(): Promise<void> }> {
  let instance = await startInstance(options);
  const server = await serve(
    async (request, env) => {
      const { pathname } = new URL(request.url);
      if (request.method === "PUT" && pathname === "/test/seed") {
        const body: unknown = await request.json();
        const objects = isJsonObject(body) && Array.isArray(body.objects) ? body.objects : [];
        await instance.stop();
        instance = await startInstance(options);
        await instance.seed(objects.filter(isJsonObject));
        return new Response(null, { status: 204 });
      }
      if (request.method === "GET") await instance.idle();
      return await instance.fetch(request, env);
    },
    "127.0.0.1",
    0,
    options.headerTimeoutMs,
  );
  return {
    server,
    async stop() {
      await instance.stop();
      await server.close(2_000);
    },
  };
}

async function seedObjects(service: ServiceDeps, objects: readonly JsonObject[]): Promise<void> {
  for (const object of objects) {
    const { kind } = object;
    if (typeof kind !== "string") throw new TypeError("A seeded object has no kind");
    const metadata = isJsonObject(object.metadata) ? object.metadata : {};
    const namespace = typeof metadata.namespace === "string" ? metadata.namespace : "";
    const name = typeof metadata.name === "string" ? metadata.name : "";
    if (kind === "Event") {
      const text = JSON.stringify(object);
      await service.store.manifests.put(
        { kind, namespace, name, text, labels: labelsOf(metadata) },
        "*",
      );
      continue;
    }
    const schema = KIND_SCHEMAS.get(kind);
    if (schema === undefined) throw new TypeError(`A seeded object has the unknown kind ${kind}`);
    const normal = normalForm(decode(object, schema) as JsonObject, schema);
    if (kind === "Workflow") {
      const workflow = normal as unknown as Workflow;
      await service.host.execute(namespace, name, { type: "import", workflow });
      continue;
    }
    const { apiVersion: _api, kind: _kind, ...stored } = normal;
    await service.store.manifests.put({
      kind: ManifestKind[kind as keyof typeof ManifestKind],
      namespace,
      name,
      text: JSON.stringify(stored),
      labels: labelsOf(metadata),
    }, "*");
  }
}

function labelsOf(metadata: JsonObject): Record<string, string> {
  return isJsonObject(metadata.labels) ? metadata.labels as Record<string, string> : {};
}
