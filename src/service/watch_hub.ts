/**
 * One reader of the store's change feed for all watchers of this process. A change is turned into an object once,
 * whoever watches, and only when somebody does; each watcher has a bounded queue, and one that does not keep up is cut
 * off with an error that tells where to go on. Objects are kept up to date by their changes (`actors/views.ts`) and read
 * once before: each change is shown once, with the object as it was right after it, or, where that is not known any more,
 * in a later state that stands for the changes up to it.
 */
import { parseWorkflowActorId } from "../actors/actor_ids.ts";
import { isOlder, Views } from "../actors/views.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import type { Workflow } from "../spec/manifest.ts";
import { type Change, type Store, type Version, VersionTooOld } from "../store/port.ts";
import { deletedWorkflow, workflowFromStored } from "./stored_workflow.ts";
import type { WorkflowSource } from "./workflow_source.ts";

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
  /** The workflow as text, once a watcher has needed it: the same for all of them. */
  text?: string;
  /** Labels before the change, as far as they are known. */
  labelsBefore: Record<string, string> | undefined;
}

/** What a watcher wants to hear of. */
export interface WatchScope {
  /** "" = all namespaces. */
  namespace: string;
  /** Only this workflow; needs a namespace. */
  name?: string | undefined;
}

export interface FollowOptions extends WatchScope {
  /** Versions of objects that the reader has already seen in a later state. */
  known?: ReadonlyMap<string, Version>;
}

export interface WatchHub {
  /**
   * Changes after a version, in order, until the signal aborts.
   * @throws {Problem} InvalidArgument when the version is too old, ResourceExhausted when the reader is too slow
   */
  follow(
    after: Version,
    signal: AbortSignal,
    options: FollowOptions,
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
  /** Makes the error that it gets after what is in the queue. */
  failure: (() => unknown) | undefined;
  wake: () => void;
}

/** Makes a hub over a store. It reads nothing before the first watcher comes. */
export function createWatchHub(store: Store, source: WorkflowSource): WatchHub {
  const watchers = new Watchers();
  const remembered = new Map<string, Workflow>();
  const handedOut = new Map<string, Version>();
  const labels = new Map<string, Record<string, string>>();
  const views = new Views({
    async load(id) {
      const place = parseWorkflowActorId(id);
      return place && await source.find(place.namespace, place.name);
    },
  });
  /** Latest version that was handed out; undefined while the feed is not read. */
  let position: Version | undefined;
  let reading = new AbortController();

  function remember(id: string, workflow: Workflow): void {
    keepNewest(labels, id, workflow.metadata.labels ?? {}, MAX_SHOWN);
    remembered.delete(id);
    if (Object.keys(workflow.status?.nodes ?? {}).length > MAX_REMEMBERED_NODES) return;
    keepNewest(remembered, id, workflow, MAX_REMEMBERED);
  }

  /**
   * The object of a change as it is right after it, or in a later state; undefined when it is gone (its deletion comes
   * later).
   * @param isLate the reader is behind the hub
   */
  async function read(
    place: Place,
    change: Change,
    isLate: boolean,
  ): Promise<WorkflowChange | undefined> {
    const { id, type, version: changedAt } = change;
    const labelsBefore = labels.get(id);
    if (type === "DELETED") {
      const workflow = deletedWorkflow(remembered.get(id), change, place);
      remembered.delete(id);
      labels.delete(id);
      await views.after(change, isLate);
      return { ...place, id, type, version: changedAt, changedAt, workflow, labelsBefore };
    }
    const stored = await views.after(change, isLate);
    if (stored === undefined) return undefined;
    const workflow = workflowFromStored(stored);
    remember(id, workflow);
    return { ...place, id, type, version: stored.version, changedAt, workflow, labelsBefore };
  }

  /** Changes of the feed after a version that are wanted, each object state once. */
  async function* changes(
    after: Version,
    signal: AbortSignal,
    isWanted: (place: Place, change: Change) => boolean,
    isLate = false,
  ): AsyncIterable<{ found: WorkflowChange[]; reached: Version }> {
    for await (const batch of store.query.watch(after, signal)) {
      const shown = new Map<string, Version>();
      const found: WorkflowChange[] = [];
      let reached = after;
      for (const change of batch) {
        reached = change.version;
        const place = parseWorkflowActorId(change.id);
        if (place === undefined || !isWanted(place, change)) continue;
        const last = shown.get(change.id);
        if (last !== undefined && !isOlder(last, change.version)) continue;
        const object = await read(place, change, isLate);
        if (object === undefined) continue;
        shown.set(change.id, object.version);
        found.push(object);
      }
      yield { found, reached };
    }
  }

  /** Decides about a change of the hub's own reading; a watcher that comes later has to catch up with it. */
  function isWatched(place: Place, { id, version }: Change): boolean {
    position = newer(position, version);
    if (watchers.isWatched(place)) return true;
    labels.delete(id);
    remembered.delete(id);
    views.forget(id);
    return false;
  }

  async function run(after: Version, signal: AbortSignal): Promise<void> {
    try {
      for await (const { found, reached } of changes(after, signal, isWatched)) {
        for (const change of found) {
          position = newer(position, change.version);
          if (handedOut.get(change.id) === change.version) continue;
          keepNewest(handedOut, change.id, change.version, MAX_SHOWN);
          for (const watcher of watchers.of(change)) push(watcher, change);
        }
        position = newer(position, reached);
      }
    } catch (error) {
      if (!signal.aborted) failAll(error);
    } finally {
      if (!signal.aborted) position = undefined;
    }
  }

  function failAll(error: unknown): void {
    for (const watcher of watchers.all()) {
      watcher.failure ??= () => error;
      watcher.wake();
    }
  }

  /** What lies between a watcher's version and the hub's, read for this watcher alone. */
  async function* catchUp(
    after: Version,
    until: Version,
    signal: AbortSignal,
    isWanted: (place: Place) => boolean,
  ): AsyncIterable<WorkflowChange> {
    const stop = new AbortController();
    const ends = AbortSignal.any([signal, stop.signal]);
    try {
      for await (const { found, reached } of changes(after, ends, isWanted, true)) {
        yield* found;
        if (!isOlder(reached, until)) return;
      }
    } finally {
      stop.abort();
    }
  }

  async function* follow(
    after: Version,
    signal: AbortSignal,
    options: FollowOptions,
  ): AsyncIterable<WorkflowChange> {
    let awake = Promise.withResolvers<void>();
    const watcher: Watcher = {
      queue: [],
      seen: after,
      failure: undefined,
      wake: () => awake.resolve(),
    };
    const shown = new Map(options.known);
    let latestShown = [...shown.values()].reduce(newer, after);
    const isNew = (change: WorkflowChange): boolean => {
      // From here on the hub itself keeps anything from being shown twice.
      if (isOlder(latestShown, change.changedAt)) shown.clear();
      const last = shown.get(change.id) ?? after;
      if (!isOlder(last, change.version)) return false;
      watcher.seen = change.version;
      return true;
    };
    signal.addEventListener("abort", watcher.wake);
    const leave = watchers.add(watcher, options);
    try {
      const from = position;
      if (from === undefined) {
        position = after;
        reading = new AbortController();
        views.clear();
        void run(after, reading.signal);
      } else if (isOlder(after, from)) {
        for await (
          const change of catchUp(after, from, signal, (place) => inScope(place, options))
        ) {
          if (!isNew(change)) continue;
          shown.set(change.id, change.version);
          latestShown = newer(latestShown, change.version);
          yield change;
        }
      }
      while (!signal.aborted) {
        for (const change of watcher.queue.splice(0)) {
          if (signal.aborted) return;
          if (isNew(change)) yield change;
        }
        if (watcher.failure !== undefined) throw watcher.failure();
        await awake.promise;
        awake = Promise.withResolvers<void>();
      }
    } catch (error) {
      throw error instanceof VersionTooOld ? invalid(error.message) : error;
    } finally {
      signal.removeEventListener("abort", watcher.wake);
      leave();
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

interface Place {
  namespace: string;
  name: string;
}

function inScope(place: Place, scope: WatchScope): boolean {
  return (scope.namespace === "" || scope.namespace === place.namespace) &&
    (scope.name === undefined || scope.name === place.name);
}

/** Watchers by what they watch, so that a change costs what it reaches. */
class Watchers {
  readonly #byScope = new Map<string, Set<Watcher>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @returns takes the watcher out again */
  add(watcher: Watcher, { namespace, name }: WatchScope): () => void {
    const key = namespace !== "" && name !== undefined ? `${namespace}/${name}` : namespace;
    const set = this.#byScope.get(key) ?? new Set();
    this.#byScope.set(key, set);
    set.add(watcher);
    this.#size++;
    return () => {
      if (!set.delete(watcher)) return;
      this.#size--;
      if (set.size === 0) this.#byScope.delete(key);
    };
  }

  isWatched({ namespace, name }: Place): boolean {
    return this.#byScope.has("") || this.#byScope.has(namespace) ||
      this.#byScope.has(`${namespace}/${name}`);
  }

  *of({ namespace, name }: Place): Iterable<Watcher> {
    for (const key of ["", namespace, `${namespace}/${name}`]) {
      yield* this.#byScope.get(key) ?? [];
    }
  }

  *all(): Iterable<Watcher> {
    for (const set of this.#byScope.values()) yield* set;
  }
}

function push(watcher: Watcher, change: WorkflowChange): void {
  if (watcher.failure !== undefined) return;
  if (watcher.queue.length < MAX_QUEUE) watcher.queue.push(change);
  else watcher.failure ??= () => tooSlow(watcher.seen);
  watcher.wake();
}

/** Adds an entry as the newest and drops the oldest beyond `max`. */
function keepNewest<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

function newer(a: Version | undefined, b: Version): Version {
  return a === undefined || isOlder(a, b) ? b : a;
}

function tooSlow(version: Version): Problem {
  return new Problem(
    ProblemCode.ResourceExhausted,
    `the watch was read too slowly; go on from resourceVersion ${version}`,
  );
}
