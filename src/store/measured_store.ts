/** Measures the calls of a store: how long each takes, and how many find the store in trouble. */
import { isProblem, ProblemCode } from "../base/problem.ts";
import type { Clock } from "../platform/clock.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Store } from "./port.ts";

/** From a quarter of a millisecond: SQLite and a near Redis answer that fast. Seconds. */
const BUCKETS = [0.00025, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Part = "membership" | "shards" | "query" | "events" | "manifests" | "blobs";
// deno-lint-ignore no-explicit-any -- any function of the port
type Call = (...args: any[]) => Promise<unknown>;

/**
 * The calls that are measured, and what they are called. Those that wait for something to happen (reads of mailboxes and of the
 * event queue, watches) are left out.
 */
const MEASURED: { [P in Part]: Partial<Record<keyof Store[P], string>> } = {
  membership: {
    heartbeat: "heartbeat",
    replicas: "replicas",
    acquire: "acquire",
    renew: "renew",
    release: "release",
  },
  shards: {
    append: "append",
    commit: "commit",
    loadShard: "loadShard",
    loadActor: "loadActor",
    findAnswers: "findAnswers",
  },
  query: { list: "list", count: "count", changes: "changes", findByUid: "findByUid" },
  events: {
    offer: "offer",
    finish: "finish",
    retryLater: "retryLater",
    depth: "depth",
    deliveries: "deliveries",
  },
  manifests: {
    get: "getManifest",
    list: "listManifests",
    put: "putManifest",
    remove: "removeManifest",
  },
  blobs: { getBlob: "getBlob", putBlob: "putBlob", appendBlob: "appendBlob" },
};

/** The same store; its calls are measured. It costs a call about a microsecond. */
export function measureStore(
  inner: Store,
  { clock, metrics }: { clock: Pick<Clock, "monotonic">; metrics: Metrics },
): Store {
  const seconds = metrics.histogram("sluice_store_seconds", "Time of a call of the store", BUCKETS);
  const troubles = metrics.counter(
    "sluice_store_failures_total",
    "Calls of the store that it did not answer, or refused because of its own trouble",
  );
  function measured(operation: string, call: Call): Call {
    const labels = { operation };
    return (...args) => {
      const startedAt = clock.monotonic();
      const result = call(...args);
      const observe = () => seconds.observe((clock.monotonic() - startedAt) / 1_000, labels);
      result.then(observe, (error: unknown) => {
        observe();
        if (isProblem(error, ProblemCode.Unavailable)) troubles.inc(labels);
      });
      return result;
    };
  }
  const outer: Record<string, unknown> = { ...inner };
  for (const [part, names] of Object.entries(MEASURED)) {
    const calls: Record<string, Call> = { ...inner[part as Part] as object };
    for (const [name, operation] of Object.entries(names)) {
      const call = calls[name];
      if (call !== undefined) calls[name] = measured(operation, call);
    }
    outer[part] = calls;
  }
  return outer as unknown as Store;
}
