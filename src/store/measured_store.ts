/** Measures the calls of a store: how long each takes, and how many find the store in trouble. */
import { Problem, ProblemCode } from "../base/problem.ts";
import type { Clock } from "../platform/clock.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Store } from "./port.ts";

/** From 0.25 ms: SQLite and a near Redis answer that fast. */
const BUCKETS = [0.00025, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A call of the store. */
// deno-lint-ignore no-explicit-any -- any function of the port
type Call = (...args: any[]) => Promise<unknown>;

/**
 * The same store; its calls are measured by their name. Those that wait for something to happen (the reads of mailboxes and of
 * the event queue, watches) are left out, and so is what is made of several calls.
 */
export function measureStore(
  inner: Store,
  { clock, metrics }: { clock: Pick<Clock, "monotonic">; metrics: Metrics },
): Store {
  const seconds = metrics.histogram("sluice_store_seconds", "Time of a call of the store", BUCKETS);
  const troubles = metrics.counter(
    "sluice_store_failures_total",
    "Calls of the store that it did not answer, or refused because of its own trouble",
  );

  function measured<C extends Call>(operation: string, call: C): C {
    const labels = { operation };
    const begin = (...args: Parameters<C>) => {
      const startedAt = clock.monotonic();
      const result = call(...args);
      result.then(
        () => seconds.observe((clock.monotonic() - startedAt) / 1_000, labels),
        (error: unknown) => {
          seconds.observe((clock.monotonic() - startedAt) / 1_000, labels);
          if (isTrouble(error)) troubles.inc(labels);
        },
      );
      return result;
    };
    return begin as unknown as C;
  }

  const { membership, shards, query, events, manifests, blobs } = inner;
  return {
    ...inner,
    ping: measured("ping", inner.ping),
    membership: {
      ...membership,
      heartbeat: measured("heartbeat", membership.heartbeat),
      replicas: measured("replicas", membership.replicas),
      acquire: measured("acquire", membership.acquire),
      renew: measured("renew", membership.renew),
      release: measured("release", membership.release),
    },
    shards: {
      ...shards,
      append: measured("append", shards.append),
      commit: measured("commit", shards.commit),
      loadShard: measured("loadShard", shards.loadShard),
      loadActor: measured("loadActor", shards.loadActor),
      findAnswers: measured("findAnswers", shards.findAnswers),
    },
    query: {
      ...query,
      list: measured("list", query.list),
      count: measured("count", query.count),
      changes: measured("changes", query.changes),
      findByUid: measured("findByUid", query.findByUid),
    },
    events: {
      ...events,
      offer: measured("offer", events.offer),
      finish: measured("finish", events.finish),
      retryLater: measured("retryLater", events.retryLater),
      depth: measured("depth", events.depth),
      deliveries: measured("deliveries", events.deliveries),
    },
    manifests: {
      ...manifests,
      get: measured("getManifest", manifests.get),
      list: measured("listManifests", manifests.list),
      put: measured("putManifest", manifests.put),
      remove: measured("removeManifest", manifests.remove),
    },
    blobs: {
      ...blobs,
      getBlob: measured("getBlob", blobs.getBlob),
      putBlob: measured("putBlob", blobs.putBlob),
      appendBlob: measured("appendBlob", blobs.appendBlob),
    },
  };
}

/** Tells whether the store was in trouble. What it refuses because of what was asked for is not. */
function isTrouble(error: unknown): boolean {
  return error instanceof Problem && error.code === ProblemCode.Unavailable;
}
