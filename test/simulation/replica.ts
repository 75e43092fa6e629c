/** One simulated replica: the real host, event workers and use cases on a simulated process. */
import type { CronRunner } from "../../src/actors/cron_runner.ts";
import { Host } from "../../src/actors/host.ts";
import { locksKind } from "../../src/actors/locks_actor.ts";
import { createWorkflowKind, workflowKind } from "../../src/actors/workflow/actor.ts";
import { createLogger } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { SharedClock } from "../../src/platform/shared_clock.ts";
import type { ServiceDeps, ServiceSettings } from "../../src/service/deps.ts";
import { startCronRunner } from "../../src/service/cron/runs.ts";
import { EventFeed } from "../../src/service/events/stream/feed.ts";
import { type EventProcessing, startEventProcessing } from "../../src/service/events/processing.ts";
import { KnownCounts } from "../../src/service/workflows/known_counts.ts";
import { createSharedLooks } from "../../src/service/shared_looks.ts";
import { WatchHub } from "../../src/service/workflows/watch_hub.ts";
import { createWorkflowSource } from "../../src/service/workflows/source.ts";
import type { Executor } from "../../src/executors/port.ts";
import type { Store } from "../../src/store/port.ts";
import { seededIds } from "../support/seeded_ids.ts";
import { tallyKind } from "../support/tally_kind.ts";
import { TEST_SETTINGS } from "../support/test_settings.ts";
import type { SimProcess } from "./sim_clock.ts";
import { STANDARD_NAMING } from "../../src/spec/naming.ts";

export const TTL_MS = 3_000;
export const CLAIM_MS = 3_000;
export const SHARDS = 3;
/** Total weight of the actors that a replica keeps in memory. */
export const HOT_ACTORS = 4;
/** Namespace of the tallies: small actors that count how often a command was applied. */
export const TALLIES = "tally";

const log = createLogger("silent");
const tallies = { ...tallyKind, prefix: `wf/${TALLIES}/` };
const kinds = [tallies, workflowKind, locksKind];
const archivingKinds = [tallies, createWorkflowKind({ hasArchive: true }), locksKind];

const SETTINGS: ServiceSettings = { ...TEST_SETTINGS, eventQueueSize: 3 };

export interface Replica {
  process: SimProcess;
  clock: SharedClock;
  host: Host;
  service: ServiceDeps;
  events: EventProcessing | undefined;
  cron: CronRunner | undefined;
  /** It has begun to stop. */
  isLeaving: boolean;
  /** Tells it that another one has ended. */
  hearGone: (name: string) => void;
}

/**
 * Makes a replica; `host.start` makes it join.
 * @param seed of its ids
 * @param forgetArchived removes a workflow from the archive beside the store
 */
export function createReplica(
  process: SimProcess,
  store: Store,
  executor: Executor,
  seed: number,
  forgetArchived?: (uid: string) => Promise<void>,
): Replica {
  const ids = seededIds(seed);
  const clock = new SharedClock(process, () => store.membership.now());
  let hearGone = (_name: string): void => {};
  const host = new Host({
    // They tell each other nothing but that.
    neighbours: { ask: () => false, serve() {}, onGone: (hear) => hearGone = hear },
    store,
    executors: [executor],
    kinds: forgetArchived === undefined ? kinds : archivingKinds,
    clock,
    ids,
    log,
    metrics: createMetrics(),
    ...(forgetArchived !== undefined && { forgetArchived }),
  }, {
    replica: process.name,
    shards: SHARDS,
    leaseTtlMs: TTL_MS,
    hotActors: HOT_ACTORS,
    taskStarts: 4,
    naming: STANDARD_NAMING,
  });
  const workflows = createWorkflowSource(store, clock);
  const looked = { host, store, clock, settings: SETTINGS, workflows };
  const service: ServiceDeps = {
    ...looked,
    ...createSharedLooks(looked, { store: "memory", durability: "always" }),
    ids,
    log,
    watches: new WatchHub(store, workflows, clock),
    counts: new KnownCounts(clock),
    events: new EventFeed({ store, clock, log, naming: STANDARD_NAMING }),
  };
  return {
    ...{ process, host, service, clock },
    ...{ events: undefined, cron: undefined, isLeaving: false },
    hearGone: (name) => process.enter(() => hearGone(name)),
  };
}

/**
 * Joins the others and starts to process events.
 * @param hasCron whether there are cron workflows
 */
export async function startReplica(replica: Replica, hasCron: boolean): Promise<void> {
  await replica.clock.look();
  void replica.clock.follow(replica.process.gone.signal);
  await replica.host.start();
  replica.process.isStarting = false;
  replica.events = startEventProcessing(replica.service, {
    replica: replica.process.name,
    workers: 1,
    claimAfterMs: CLAIM_MS,
    deliveryCount: 1_000,
    deliveryAgeMs: 3_600_000,
    keptEventRate: 1,
  });
  if (hasCron) replica.cron = startCronRunner(replica.service, replica.process.name);
}

/** Ends it like a server that is told to stop: what it has begun is completed, and its shards go to others. */
export async function drainReplica(replica: Replica): Promise<void> {
  replica.isLeaving = true;
  await Promise.all([replica.events?.stop(), replica.cron?.stop()]);
  await replica.host.drain();
}
