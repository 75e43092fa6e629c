/**
 * What the whole deployment holds, for operators: how many workflows are in each phase, how long they have waited, how full
 * the event queue is. One replica counts for all, by itself and not when somebody scrapes it; the others show nothing.
 */
import { ownerOf } from "../actors/replicas/rendezvous.ts";
import type { Gauge, Labels, Metrics } from "../platform/metrics.ts";
import { END_PHASES } from "../spec/manifest.ts";
import type { Store } from "../store/port.ts";
import type { ServiceDeps } from "./deps.ts";
import { queueBound } from "./events/intake.ts";
import { countPhases, EVER } from "./workflows/counts.ts";

/** The replica that should own this shard counts. */
const SHARD = 0;
const EVERY_MS = 15_000;
/** The pause is at least so many times as long as a count took: counting has at most two parts in a hundred of the time. */
const REST = 50;
/** How soon a replica that does not count looks whether it is to, ms. */
const LOOK_MS = 3_000;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** How long workflows have waited: each group ends where the next begins. */
const AGES: readonly [name: string, fromMs: number][] = [
  ["0-1m", 0],
  ["1m-10m", MINUTE_MS],
  ["10m-1h", 10 * MINUTE_MS],
  ["1h-6h", HOUR_MS],
  ["6h-1d", 6 * HOUR_MS],
  ["1d-7d", DAY_MS],
  ["7d+", 7 * DAY_MS],
];

type Rows = [value: number, labels?: Labels][];

/** Values of each metric. */
interface Counts {
  workflows: Rows;
  archived: Rows;
  waiting: Rows;
  oldestWait: Rows;
  queueDepth: Rows;
  queueBound: Rows;
  oldestEvent: Rows;
}

const NOTHING: Counts = {
  workflows: [],
  archived: [],
  waiting: [],
  oldestWait: [],
  queueDepth: [],
  queueBound: [],
  oldestEvent: [],
};

/**
 * Counts every 15 s, or less often where that takes long, until the signal aborts.
 * @param replica the name of this replica
 */
export async function runCensus(
  deps: Pick<ServiceDeps, "store" | "history" | "clock" | "host" | "settings" | "log">,
  metrics: Metrics,
  replica: string,
  stop: AbortSignal,
): Promise<void> {
  const { clock, host, log } = deps;
  const show = showIn(metrics);
  while (!stop.aborted) {
    let pauseMs = LOOK_MS;
    if (ownerOf(SHARD, host.replicas) === replica) {
      const startedAt = clock.monotonic();
      let tookMs = 0;
      try {
        const counts = await count(deps);
        // The archive answers from a few rows, or not at all.
        tookMs = clock.monotonic() - startedAt;
        show({ ...counts, archived: await countArchived(deps.history) });
      } catch (cause) {
        // Old figures would look as if they were true.
        show(NOTHING);
        log.debug({ err: cause }, "workflows and events could not be counted");
      }
      pauseMs = Math.max(EVERY_MS, REST * tookMs);
    } else show(NOTHING);
    await clock.sleep(pauseMs, stop);
  }
}

function showIn(metrics: Metrics): (counts: Counts) => void {
  const gauges: Record<keyof Counts, Gauge> = {
    workflows: metrics.gauge(
      "sluice_workflows",
      "Workflows in the store by phase. From one replica for all",
    ),
    archived: metrics.gauge(
      "sluice_workflows_archived",
      "Workflows in the archive by phase; some of them may be in the store too. From one replica for all",
    ),
    waiting: metrics.gauge(
      "sluice_workflows_waiting",
      "Workflows with a suspend step that waits, by the age of the longest wait of each. From one replica for all",
    ),
    oldestWait: metrics.gauge(
      "sluice_oldest_wait_seconds",
      "Age of the longest wait of a suspend step. From one replica for all",
    ),
    queueDepth: metrics.gauge(
      "sluice_event_queue_depth",
      "Events queued, in progress or waiting for a retry. From one replica for all",
    ),
    queueBound: metrics.gauge(
      "sluice_event_queue_bound",
      "Events that the queue takes before it refuses more. From one replica for all",
    ),
    oldestEvent: metrics.gauge(
      "sluice_oldest_event_seconds",
      "Age of the oldest event in the queue, 0 if it is empty. From one replica for all",
    ),
  };
  return (counts) => {
    for (const name of Object.keys(gauges) as (keyof Counts)[]) gauges[name].replace(counts[name]);
  };
}

async function count(
  { store, clock, host, settings }: Pick<ServiceDeps, "store" | "clock" | "host" | "settings">,
): Promise<Omit<Counts, "archived">> {
  const now = clock.now();
  const depth = await store.events.depth();
  const oldest = await store.events.oldest();
  return {
    workflows: await countLive(store),
    ...await countWaiting(store, now),
    queueDepth: [[depth]],
    queueBound: [[queueBound({ host, settings })]],
    oldestEvent: [[oldest === undefined ? 0 : ageOf(oldest, now)]],
  };
}

async function countLive(store: Store): Promise<Rows> {
  const { "": [early = 0] = [], ...counts } = await countPhases(store, EVER);
  // One that has not begun has no phase yet.
  return Object.entries(counts).map((
    [phase, [number = 0]],
  ) => [phase === "Pending" ? number + early : number, { phase }]);
}

/** From rollups, however many there are. While the archive is away, nothing. */
async function countArchived(history: ServiceDeps["history"]): Promise<Rows> {
  if (history === undefined || history.trouble() !== undefined) return [];
  try {
    const { phases } = await history.archive.createdCounts(EVER);
    return END_PHASES.map((phase) => [phases[phase]?.[0] ?? 0, { phase }]);
  } catch {
    return [];
  }
}

async function countWaiting(
  { query }: Store,
  now: number,
): Promise<Pick<Counts, "waiting" | "oldestWait">> {
  // From the longest ago to the latest; the clock of another replica may be ahead.
  const bounds = [...AGES.slice(1).map(([, fromMs]) => now - fromMs), ...EVER]
    .sort((a, b) => a - b).map(Math.floor);
  const { counts } = await query.count({ waiting: true }, bounds);
  const page = await query.list({ kind: "wf", waiting: true, limit: 1, parts: [] });
  const since = page.items[0]?.index.waitsSince;
  return {
    waiting: counts.reverse().map((number, at) => [number, { age: AGES[at]?.[0] ?? "" }]),
    oldestWait: [[since === undefined ? 0 : ageOf(since, now)]],
  };
}

function ageOf(time: number, now: number): number {
  return Math.max(0, now - time) / 1_000;
}
