/**
 * One reader of the store's change feed for all watchers of this process. A change is turned into an object once,
 * whoever watches; each watcher has a bounded queue, and one that does not keep up is cut off with an error that tells
 * where to go on. Objects are read when their change comes by: a watcher may see two changes as one, never the last one
 * not, and never one twice.
 */
import { parseWorkflowActorId, shardOf } from "../actors/actor_ids.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import type { Workflow } from "../spec/manifest.ts";
import { type Change, type Store, type Version, VersionTooOld } from "../store/port.ts";
import { deletedWorkflow, workflowFromStored } from "./stored_workflow.ts";

/** One change of a workflow, as watchers get it. */
export interface WorkflowChange {
  type: "ADDED" | "MODIFIED" | "DELETED";
  id: string;
  /** Version of the object that is shown. */
  version: Version;
  /** Version of the change itself; smaller when the object has changed again since. */
  changedAt: Version;
  namespace: string;
  name: string;
  workflow: Workflow;
  /** Labels before the change, as far as they are known. */
  labelsBefore: Record<string, string> | undefined;
}

export interface WatchHub {
  /**
   * Changes after a version, in order, until the signal aborts.
   * @param known versions of objects that the reader has already seen in a later state
   * @throws {Problem} InvalidArgument when the version is too old, ResourceExhausted when the reader is too slow
   */
  follow(
    after: Version,
    signal: AbortSignal,
    known?: ReadonlyMap<string, Version>,
  ): AsyncIterable<WorkflowChange>;
  /** Tells the hub an object that somebody has just read, so that a later deletion can show it. */
  remember(id: string, workflow: Workflow): void;
  /** Number of watchers. */
  size(): number;
  /** Ends the reading of the feed. */
  close(): void;
}

/** Changes that a watcher may lag behind. */
const MAX_QUEUE = 1_000;
/** Objects that are remembered for showing them when they are deleted. */
const MAX_REMEMBERED = 2_000;
/** Objects whose last shown version and labels are kept, so that none is shown twice and one that leaves is seen. */
const MAX_SHOWN = 20_000;
/** Workflows with more nodes are not remembered. */
const MAX_REMEMBERED_NODES = 100;

interface Watcher {
  queue: WorkflowChange[];
  /** Version of the last change that it took. */
  seen: Version;
  failure: unknown;
  wake: () => void;
}

/** Makes a hub over a store. It reads nothing before the first watcher comes. */
export function createWatchHub(store: Store): WatchHub {
  const watchers = new Set<Watcher>();
  const remembered = new Map<string, Workflow>();
  const handedOut = new Map<string, Version>();
  const labels = new Map<string, Record<string, string>>();
  /** Latest version that was handed out; undefined while the feed is not read. */
  let position: Version | undefined;
  let reading = new AbortController();

  function remember(id: string, workflow: Workflow): void {
    keepNewest(labels, id, workflow.metadata.labels ?? {}, MAX_SHOWN);
    remembered.delete(id);
    if (Object.keys(workflow.status?.nodes ?? {}).length > MAX_REMEMBERED_NODES) return;
    keepNewest(remembered, id, workflow, MAX_REMEMBERED);
  }

  /** The object of a change as it is now; undefined when it is no workflow's, or gone (its deletion comes later). */
  async function read(change: Change): Promise<WorkflowChange | undefined> {
    const place = parseWorkflowActorId(change.id);
    if (place === undefined) return undefined;
    const { id, type, version: changedAt } = change;
    const labelsBefore = labels.get(id);
    if (type === "DELETED") {
      const workflow = deletedWorkflow(remembered.get(id), change, place);
      remembered.delete(id);
      labels.delete(id);
      return { ...place, id, type, version: changedAt, changedAt, workflow, labelsBefore };
    }
    const shards = await store.membership.shardCount(64);
    const stored = await store.shards.loadActor(shardOf(id, shards), id);
    if (stored === undefined) return undefined;
    const workflow = workflowFromStored(stored);
    remember(id, workflow);
    return { ...place, id, type, version: stored.version, changedAt, workflow, labelsBefore };
  }

  /** Changes of the feed after a version, each object state once. */
  async function* changes(after: Version, signal: AbortSignal): AsyncIterable<WorkflowChange[]> {
    for await (const batch of store.query.watch(after, signal)) {
      const shown = new Map<string, Version>();
      const found: WorkflowChange[] = [];
      for (const change of batch) {
        const last = shown.get(change.id);
        if (last !== undefined && !isOlder(last, change.version)) continue;
        const object = await read(change);
        if (object === undefined) continue;
        shown.set(change.id, object.version);
        found.push(object);
      }
      yield found;
    }
  }

  async function run(after: Version, signal: AbortSignal): Promise<void> {
    try {
      for await (const batch of changes(after, signal)) {
        for (const change of batch) {
          if (position === undefined || isOlder(position, change.version)) {
            position = change.version;
          }
          if (handedOut.get(change.id) === change.version) continue;
          keepNewest(handedOut, change.id, change.version, MAX_SHOWN);
          for (const watcher of watchers) push(watcher, change);
        }
      }
    } catch (error) {
      if (!signal.aborted) failAll(error);
    } finally {
      if (!signal.aborted) position = undefined;
    }
  }

  function push(watcher: Watcher, change: WorkflowChange): void {
    if (watcher.queue.length < MAX_QUEUE) watcher.queue.push(change);
    else watcher.failure ??= tooSlow(watcher.seen);
    watcher.wake();
  }

  function failAll(error: unknown): void {
    for (const watcher of watchers) {
      watcher.failure ??= error;
      watcher.wake();
    }
  }

  /** What lies between a watcher's version and the hub's, read for this watcher alone. */
  async function* catchUp(
    after: Version,
    until: Version,
    signal: AbortSignal,
  ): AsyncIterable<WorkflowChange> {
    const stop = new AbortController();
    try {
      for await (const batch of changes(after, AbortSignal.any([signal, stop.signal]))) {
        yield* batch;
        const last = batch.at(-1);
        if (last !== undefined && !isOlder(last.version, until)) return;
      }
    } finally {
      stop.abort();
    }
  }

  async function* follow(
    after: Version,
    signal: AbortSignal,
    known: ReadonlyMap<string, Version> = new Map(),
  ): AsyncIterable<WorkflowChange> {
    let awake = Promise.withResolvers<void>();
    const watcher: Watcher = {
      queue: [],
      seen: after,
      failure: undefined,
      wake: () => awake.resolve(),
    };
    const shown = new Map(known);
    let latestShown = [...shown.values()].reduce((a, b) => isOlder(a, b) ? b : a, after);
    const isNew = (change: WorkflowChange): boolean => {
      // From here on the hub itself keeps anything from being shown twice.
      if (isOlder(latestShown, change.changedAt)) shown.clear();
      const last = shown.get(change.id) ?? after;
      if (!isOlder(last, change.version)) return false;
      watcher.seen = change.version;
      return true;
    };
    signal.addEventListener("abort", watcher.wake);
    watchers.add(watcher);
    try {
      const from = position;
      if (from === undefined) {
        position = after;
        reading = new AbortController();
        void run(after, reading.signal);
      } else if (isOlder(after, from)) {
        for await (const change of catchUp(after, from, signal)) {
          if (!isNew(change)) continue;
          shown.set(change.id, change.version);
          if (isOlder(latestShown, change.version)) latestShown = change.version;
          yield change;
        }
      }
      while (!signal.aborted) {
        for (const change of watcher.queue.splice(0)) {
          if (signal.aborted) return;
          if (isNew(change)) yield change;
        }
        if (watcher.failure !== undefined) throw watcher.failure;
        await awake.promise;
        awake = Promise.withResolvers<void>();
      }
    } catch (error) {
      throw error instanceof VersionTooOld ? invalid(error.message) : error;
    } finally {
      signal.removeEventListener("abort", watcher.wake);
      watchers.delete(watcher);
      if (watchers.size === 0) {
        reading.abort();
        position = undefined;
      }
    }
  }

  return {
    follow,
    remember,
    size: () => watchers.size,
    close: () => {
      reading.abort();
      failAll(new Problem(ProblemCode.Unavailable, "the server is closing"));
    },
  };
}

/** Adds an entry as the newest and drops the oldest beyond `max`. */
function keepNewest<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

/** Tells whether version `a` comes before version `b`. */
export function isOlder(a: Version, b: Version): boolean {
  return a.length !== b.length ? a.length < b.length : a < b;
}

function tooSlow(version: Version): Problem {
  return new Problem(
    ProblemCode.ResourceExhausted,
    `the watch was read too slowly; go on from resourceVersion ${version}`,
  );
}
