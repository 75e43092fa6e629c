/**
 * Follows all objects of one path of the API server: one list, then one watch after the other, each from where the last one
 * ended. Objects are handed on in order, one at a time. When that fails, or the version is too old, the list begins anew.
 * It also begins anew now and then, which heals whatever went wrong elsewhere.
 */
import type { JsonObject } from "../base/json.ts";
import { defined } from "../base/defined.ts";
import type { Clock } from "../platform/clock.ts";
import { asObject, type ClusterObject, keyOf } from "./cluster_object.ts";
import { type KubeClient, KubeError } from "./kube_client.ts";

/** Most objects in one answer of a list: a Workflow object may have over a megabyte. */
const PAGE_SIZE = 50;
const FIRST_WAIT_MS = 200;
const MAX_WAIT_MS = 5_000;
/** After a shorter watch the next one waits as long. */
const SHORT_WATCH_MS = 1_000;
/** Watches between two lists. A watch lasts about four minutes. */
const WATCHES_PER_LIST = 3;

/** Takes in the objects. After a rejection all are listed again. */
export interface ObjectSink {
  /** A list begins: what comes to be from now on may be missing in it. */
  listing?(): void;
  see(object: ClusterObject): Promise<void>;
  gone(object: ClusterObject): Promise<void>;
  /**
   * A whole list was seen.
   *
   * @param keys the objects that existed at `version`, as `namespace/name`
   * @param uids their uids
   */
  listed(keys: ReadonlySet<string>, version: string, uids: ReadonlySet<string>): Promise<void>;
}

export interface ObjectWatchOptions {
  client: KubeClient;
  clock: Clock;
  /** Path of a collection. */
  path: string;
  /** Selects objects. @default all */
  query?: Record<string, string>;
  /** Most objects in one answer of a list. @default {50} */
  pageSize?: number;
  /** Watches between two lists. @default {3} */
  watchesPerList?: number;
  sink: ObjectSink;
  /** Called for each attempt that failed. */
  onTrouble(error: unknown): void;
  /** Called for each whole list. */
  onListed?(): void;
}

/** What a list needs. */
export type ListOptions = Pick<
  ObjectWatchOptions,
  "client" | "path" | "sink" | "query" | "pageSize"
>;

/**
 * Lists a collection into a sink, and returns the version from which a watch goes on.
 *
 * @throws {KubeError}
 * @throws {unknown} what the sink rejected with
 */
export async function listObjects(
  { client, path, sink, query = {}, pageSize = PAGE_SIZE }: ListOptions,
  signal?: AbortSignal,
): Promise<string> {
  sink.listing?.();
  const keys = new Set<string>();
  const uids = new Set<string>();
  let token = "";
  let version = "";
  do {
    const answer = await client.call<{
      metadata: { resourceVersion: string; continue?: string };
      items: JsonObject[];
    }>({
      path,
      query: { ...query, limit: String(pageSize), ...(token !== "" && { continue: token }) },
      ...defined({ signal }),
    });
    for (const item of answer.items) {
      const object = asObject(item);
      keys.add(keyOf(object));
      uids.add(object.metadata.uid);
      await sink.see(object);
    }
    token = answer.metadata.continue ?? "";
    version = answer.metadata.resourceVersion;
  } while (token !== "");
  await sink.listed(keys, version, uids);
  return version;
}

/** Follows a collection until the signal aborts. */
export async function followObjects(
  options: ObjectWatchOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, onTrouble, onListed, watchesPerList = WATCHES_PER_LIST } = options;
  for (let failures = 0; !signal.aborted;) {
    let began = Infinity;
    const isShort = () => clock.monotonic() - began < SHORT_WATCH_MS;
    try {
      let version = await listObjects(options, signal);
      onListed?.();
      for (let watch = 0; watch < watchesPerList && !signal.aborted; watch++) {
        began = clock.monotonic();
        version = await followOnce(options, version, signal);
        // A proxy that ends watches at once must not be asked as fast as it answers.
        if (isShort()) await clock.sleep(SHORT_WATCH_MS, signal);
        else failures = 0;
      }
    } catch (error) {
      if (signal.aborted) return;
      // A list alone is no success: whoever may list and not watch would list without a pause.
      if (!isShort()) failures = 0;
      // An old version is no trouble: the list begins anew.
      const isExpired = error instanceof KubeError && error.status === 410;
      if (!isExpired) onTrouble(error);
      const retryAfterMs = error instanceof KubeError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
      const wait = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures++, 10));
      await clock.sleep(Math.max(retryAfterMs, wait / 2 + Math.random() * wait / 2), signal);
    }
  }
}

/** One watch, until the server ends it. Gives the version from which the next one goes on. */
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
