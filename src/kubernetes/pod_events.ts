/** Events of the cluster about pods, for those who watch them: what there is first, then every change, each once. */
import { BoundedCache } from "../base/bounded_cache.ts";
import type { JsonObject } from "../base/json.ts";
import { Problem, ProblemCode, unavailable } from "../base/problem.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/log.ts";
import { type KubeClient, KubeError } from "./kube_client.ts";
import { followObjects } from "./object_watch.ts";

/** What a reader wants of the cluster's events, in the cluster's own words. */
export interface ClusterEventQuery {
  /** "" = all. */
  namespace: string;
  fieldSelector: string;
  labelSelector: string;
}

/** The cluster's events. */
export interface ClusterEvents {
  /**
   * Opens a stream of core/v1 Events. A reader that is slow holds nothing up but its own stream.
   * @throws {Problem} the server may not read them, or the cluster doesn't answer
   */
  follow(query: ClusterEventQuery, signal: AbortSignal): Promise<AsyncIterable<JsonObject>>;
}

export interface ClusterEventsDeps {
  client: KubeClient;
  clock: Clock;
  log: Logger;
}

/** Events that are remembered, so that none is told twice when all are listed again. */
const MAX_TOLD = 10_000;

export function createClusterEvents({ client, clock, log }: ClusterEventsDeps): ClusterEvents {
  return {
    async follow({ namespace, fieldSelector, labelSelector }, signal) {
      const place = namespace === "" ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
      const path = `/api/v1${place}/events`;
      const query = {
        ...(fieldSelector !== "" && { fieldSelector }),
        ...(labelSelector !== "" && { labelSelector }),
      };
      // What can be refused is refused before the answer begins.
      await client.call({ path, query: { ...query, limit: "1" }, signal })
        .catch((error: unknown) => {
          throw refusalOf(error, namespace);
        });
      return newEvents(signal, (see, until) =>
        followObjects({
          client,
          clock,
          path,
          query,
          sink: { see, gone: () => Promise.resolve(), listed: () => Promise.resolve() },
          onTrouble: (error) => log.warn({ path, err: error }, "events of the cluster are late"),
        }, until));
    },
  };
}

function refusalOf(error: unknown, namespace: string): unknown {
  if (!(error instanceof KubeError)) return error;
  const place = namespace === "" ? "all namespaces" : `namespace "${namespace}"`;
  if (error.isTransient) return unavailable(`the cluster can't tell its events: ${error.message}`);
  return new Problem(
    ProblemCode.PermissionDenied,
    `the server may not read the events of ${place}; its role in the cluster must allow get, list and watch of events: ${error.message}`,
  );
}

/** Runs a producer of events and hands on those that were not told yet, at the reader's pace. */
async function* newEvents<Event extends { metadata: { uid: string; resourceVersion: string } }>(
  signal: AbortSignal,
  produce: (see: (event: Event) => Promise<void>, until: AbortSignal) => Promise<void>,
): AsyncGenerator<JsonObject> {
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const told = new BoundedCache<string, string>(MAX_TOLD);
  let waiting: { event: Event; taken: () => void } | undefined;
  let change = Promise.withResolvers<void>();
  let isOver = false;
  const see = async (event: Event): Promise<void> => {
    const { uid, resourceVersion } = event.metadata;
    if (until.aborted || told.get(uid) === resourceVersion) return;
    told.set(uid, resourceVersion);
    await new Promise<void>((taken) => {
      waiting = { event, taken };
      change.resolve();
    });
  };
  void produce(see, until).finally(() => {
    isOver = true;
    change.resolve();
  });
  const wake = () => change.resolve();
  until.addEventListener("abort", wake);
  try {
    while (!until.aborted && !isOver) {
      await change.promise;
      change = Promise.withResolvers();
      const found = waiting;
      waiting = undefined;
      if (found === undefined) continue;
      found.taken();
      yield found.event as unknown as JsonObject;
    }
  } finally {
    stop.abort();
    waiting?.taken();
  }
}
