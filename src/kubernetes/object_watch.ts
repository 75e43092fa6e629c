/**
 * All objects of one path, as the API server tells of them: one list, then one watch after the other, each from where the
 * last ended. What is heard is handed on in order, one at a time; when that fails, or the versions are too old, the list
 * begins anew. Now and then it does so anyway, which heals whatever went wrong elsewhere.
 */
import type { JsonObject } from "../base/json.ts";
import type { Clock } from "../platform/clock.ts";
import { asObject, type ClusterObject, keyOf } from "./cluster_object.ts";
import { type KubeClient, KubeError } from "./kube_client.ts";

/** A Workflow object may be over a megabyte. */
const PAGE = "50";
const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 5_000;
/** Watches between two lists; one lasts about four minutes. */
const WATCHES_PER_LIST = 3;

/** Who hears of the objects. A rejection means: tell all of it again. */
export interface ObjectSink {
  see(object: ClusterObject): Promise<void>;
  gone(object: ClusterObject): Promise<void>;
  /** A whole list was seen: `keys` (`namespace/name`) is what existed at `version`. */
  listed(keys: ReadonlySet<string>, version: string): Promise<void>;
}

export interface ObjectWatchOptions {
  client: KubeClient;
  clock: Clock;
  /** Of a collection. */
  path: string;
  /** Selects objects. @default all */
  query?: Record<string, string>;
  sink: ObjectSink;
  /** Called for each attempt that failed. */
  onTrouble(error: unknown): void;
  /** Called for each whole list. */
  onListed?(): void;
}

/**
 * Lists a collection into a sink and returns the version from which a watch goes on.
 * @throws {KubeError} or what the sink threw
 */
export async function listObjects(
  client: KubeClient,
  path: string,
  sink: ObjectSink,
  signal?: AbortSignal,
  query: Record<string, string> = {},
): Promise<string> {
  const keys = new Set<string>();
  let token = "";
  let version = "";
  do {
    const answer = await client.call<{
      metadata: { resourceVersion: string; continue?: string };
      items: JsonObject[];
    }>({
      path,
      query: { ...query, limit: PAGE, ...(token !== "" && { continue: token }) },
      ...(signal !== undefined && { signal }),
    });
    for (const item of answer.items) {
      const object = asObject(item);
      keys.add(keyOf(object));
      await sink.see(object);
    }
    token = answer.metadata.continue ?? "";
    version = answer.metadata.resourceVersion;
  } while (token !== "");
  await sink.listed(keys, version);
  return version;
}

/** Follows a collection until the signal aborts. */
export async function followObjects(
  options: ObjectWatchOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, path, query, sink, onTrouble, onListed } = options;
  for (let failures = 0; !signal.aborted;) {
    try {
      let version = await listObjects(client, path, sink, signal, query);
      onListed?.();
      failures = 0;
      for (let round = 0; round < WATCHES_PER_LIST && !signal.aborted; round++) {
        version = await followOnce(options, version, signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      // An old version is no trouble: the list begins anew.
      const isExpired = error instanceof KubeError && error.status === 410;
      if (!isExpired) onTrouble(error);
      const retryAfterMs = error instanceof KubeError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
      const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures++, 10));
      await clock.sleep(Math.max(retryAfterMs, wait / 2 + Math.random() * wait / 2), signal);
    }
  }
}

/** One watch, until the server ends it; gives the version to go on from. */
async function followOnce(
  { client, path, query, sink }: ObjectWatchOptions,
  from: string,
  signal: AbortSignal,
): Promise<string> {
  let version = from;
  for await (
    const { type, object } of client.watch(
      path,
      { ...query, resourceVersion: from },
      signal,
    )
  ) {
    if (type === "ERROR") throw watchError(object);
    const seen = asObject(object);
    if (type === "DELETED") await sink.gone(seen);
    else if (type !== "BOOKMARK") await sink.see(seen);
    version = seen.metadata.resourceVersion;
  }
  return version;
}

function watchError(status: JsonObject): KubeError {
  return new KubeError(
    Number(status["code"] ?? 0),
    String(status["reason"] ?? ""),
    String(status["message"] ?? "watch ended with an error"),
  );
}
