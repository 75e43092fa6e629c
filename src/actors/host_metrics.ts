/** What operators see of a replica's shards: how many it has, how they change hands, and what waits in them. */
import type { Clock } from "../platform/clock.ts";
import type { Histogram, Labels, Metrics } from "../platform/metrics.ts";
import type { OwnedShards } from "./owned_shards.ts";

/** What happened to a lease of this replica. */
export type LeaseChange = "acquired" | "released" | "lost";

export interface HostMetrics {
  /** From the time when a command came into a mailbox until its owner has read it, seconds. */
  mailboxLag: Histogram;
  /** Counts a change of a lease. */
  leaseChanged(change: LeaseChange): void;
  /** @param former whether the former owner gave the shard back, or let its lease run out */
  tookOver(seconds: number, former: "released" | "expired"): void;
}

interface Sized {
  readonly size: number;
}

/** What the gauges read, at a scrape. */
export interface HostState {
  clock: Pick<Clock, "monotonic">;
  shards: Pick<OwnedShards, "total" | "workers">;
  /** Actors in memory. */
  cache: Sized;
  timers: Sized;
  tasks: Sized;
}

const LAG_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const TAKE_OVER_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120];

/** Declares what a host counts and measures. */
export function createHostMetrics(metrics: Metrics): HostMetrics {
  const changes = metrics.counter("sluice_lease_changes_total", "Leases of shards, by change");
  const takeOver = metrics.histogram(
    "sluice_shard_take_over_seconds",
    "Time until a replica runs a shard that it took: from when it should have it, or from the last sign of life of an owner whose lease ran out",
    TAKE_OVER_BUCKETS,
  );
  const [acquired, released, lost] = labelled("change", ["acquired", "released", "lost"]);
  const changeLabels = { acquired, released, lost };
  const [givenBack, expired] = labelled("former", ["released", "expired"]);
  const formerLabels = { released: givenBack, expired };
  const mailboxLag = metrics.histogram(
    "sluice_mailbox_lag_seconds",
    "From the time when a command came into a mailbox of Redis until its owner has read it",
    LAG_BUCKETS,
  );
  // They are there from the beginning, so that the first change is an increase.
  for (const labels of Object.values(changeLabels)) changes.inc(labels, 0);
  for (const labels of Object.values(formerLabels)) takeOver.begin(labels);
  mailboxLag.begin();
  return {
    mailboxLag,
    leaseChanged: (change) => changes.inc(changeLabels[change]),
    tookOver: (seconds, former) => takeOver.observe(seconds, formerLabels[former]),
  };
}

/** Declares what is read at a scrape: sums over the replica's shards, at most. */
export function declareHostGauges(
  metrics: Metrics,
  { clock, shards, cache, timers, tasks }: HostState,
): void {
  const { workers } = shards;
  metrics.gauge("sluice_shards", "Shards of the deployment", () => shards.total);
  metrics.gauge("sluice_shards_owned", "Shards this replica owns", () => workers.size);
  metrics.gauge("sluice_actors_hot", "Actors in memory", () => cache.size);
  metrics.gauge("sluice_timers", "Timers in memory: those that are due soon", () => timers.size);
  metrics.gauge("sluice_tasks_running", "Tasks under way", () => tasks.size);
  metrics.gauge(
    "sluice_commands_waiting",
    "Commands in the queues of this replica's shards",
    () => [...workers.values()].reduce((sum, { backlog }) => sum + backlog, 0),
  );
  metrics.gauge(
    "sluice_oldest_command_seconds",
    "Age of the oldest command that this replica's shards have queued or work on",
    () => {
      const first = Math.min(
        ...[...workers.values()].map(({ waitsSince = Infinity }) => waitsSince),
      );
      return first === Infinity ? 0 : Math.max(0, clock.monotonic() - first) / 1_000;
    },
  );
}

function labelled<const T extends readonly string[]>(label: string, values: T) {
  return values.map((value) => ({ [label]: value })) as unknown as { [K in keyof T]: Labels };
}
