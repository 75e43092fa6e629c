/**
 * One reader of the store's change feed for all watchers of this process. A change is turned into an object once, whoever
 * watches, and only when somebody does. Each watcher that keeps up has a bounded queue; one that does not is cut off with
 * an error that tells where to go on. Who comes with an older version reads the feed by himself, as fast as he takes what
 * he reads, until he has reached the others. Each change is shown once, with the object as it was right after it
 * (`actors/views.ts`); when the feed no longer tells, the watcher is told so and lists again.
 */
import { parseWorkflowActorId } from "../actors/actor_ids.ts";
import { isOlder, Views } from "../actors/views.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import { type Change, type Store, type Version, VersionTooOld } from "../store/port.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";
import { WorkflowChange } from "./workflow_change.ts";
import type { WorkflowSource } from "./workflow_source.ts";

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
   * Changes after a version, in order, until the signal aborts; those that are there at a time come together.
   * @throws {Problem} InvalidArgument when the version is too old, ResourceExhausted when the reader is too slow
   */
  follow(
    after: Version,
    signal: AbortSignal,
    options: FollowOptions,
  ): AsyncIterable<WorkflowChange[]>;
  /** Number of watchers. */
  size(): number;
  /** Ends the reading of the feed. */
  close(): void;
}

/** Changes that a watcher may lag behind, and characters in them. */
const MAX_QUEUE = 1_000;
const MAX_QUEUE_SIZE = 2 ** 23;
/** Changes that come together, and characters in them. */
const MAX_BATCH = 100;
const MAX_BATCH_SIZE = 2 ** 18;
/** Changes that are kept for those who come back, and characters in them. */
const MAX_RECENT = 4_000;
const MAX_RECENT_SIZE = 2 ** 25;
/** Characters of the objects that a watcher keeps while it reads by itself. */
const MAX_OWN_SIZE = 2 ** 22;

interface Watcher {
  queue: WorkflowChange[];
  queued: number;
  /** Version of the last change that it took. */
  seen: Version;
  /** Objects of that version that it took: changes of two servers may have the same one. Absent before the first. */
  seenIds: string[] | undefined;
  /** Makes the error that it gets after what is in the queue. */
  failure: (() => unknown) | undefined;
  wake: () => void;
}

/** Makes a hub over a store. It reads nothing before the first watcher comes. */
export function createWatchHub(
  store: Store,
  source: WorkflowSource,
  onUnreadable?: ReportUnreadable,
): WatchHub {
  const watchers = new Watchers();
  const recent = new RecentChanges();
  const views = new Views(source.actors);
  let followers = 0;
  /** All changes up to here were handed out; undefined while the feed is not read. */
  let position: Version | undefined;
  let reading: { stop: AbortController; begun: Promise<void> } | undefined;

  /** Makes sure that the feed is read; from now on, not from what a watcher has missed. */
  function begin(): Promise<void> {
    if (reading !== undefined) return reading.begun;
    const stop = new AbortController();
    const begun = store.query.version().then((version) => {
      if (stop.signal.aborted) return;
      views.clear();
      position = version;
      void run(version, stop.signal);
    });
    reading = { stop, begun };
    begun.catch(() => end(stop));
    return begun;
  }

  function end(stop: AbortController): void {
    stop.abort();
    if (reading?.stop !== stop) return;
    reading = undefined;
    position = undefined;
    views.clear();
  }

  async function run(after: Version, signal: AbortSignal): Promise<void> {
    try {
      for await (const batch of store.query.watch(after, signal)) {
        for (const change of batch) {
          const place = parseWorkflowActorId(change.id);
          if (place !== undefined && watchers.isWatched(place)) await handOut(change, signal);
          else pass(change);
          if (signal.aborted) return;
        }
      }
    } catch (error) {
      if (!signal.aborted) failAll(error);
    } finally {
      if (!signal.aborted && reading !== undefined) end(reading.stop);
    }
  }

  async function handOut(change: Change, signal: AbortSignal): Promise<void> {
    const shown = new WorkflowChange(change, await views.after(change), onUnreadable);
    if (signal.aborted) return;
    recent.add(shown);
    for (const watcher of watchers.of(shown)) push(watcher, shown);
    // In the same turn: who comes next has this one from the feed, or gets it from here, never both or none.
    position = change.version;
  }

  function pass({ id, version }: Change): void {
    views.forget(id);
    position = version;
  }

  function failAll(error: unknown): void {
    for (const watcher of watchers.all()) {
      watcher.failure ??= () => error;
      watcher.wake();
    }
  }

  /** What the feed has after a version, until the hub's reader is reached; the last of each batch says how far it goes. */
  async function* catchUp(
    after: Version,
    signal: AbortSignal,
    scope: WatchScope,
  ): AsyncIterable<{ shown: WorkflowChange[]; reached: Version }> {
    const own = new Views({ ...source.actors, maxSize: MAX_OWN_SIZE });
    for (let reached = after; !signal.aborted;) {
      await begin();
      const before = position;
      if (before !== undefined && !isOlder(reached, before)) return;
      const found = await store.query.changes(reached);
      let batch = new Batch();
      for (const change of found) {
        if (signal.aborted) return;
        const place = parseWorkflowActorId(change.id);
        if (place !== undefined && inScope(place, scope)) {
          let shown = recent.find(change);
          if (shown === undefined) {
            shown = new WorkflowChange(change, await own.after(change), onUnreadable);
          } else own.forget(change.id);
          if (!batch.hasRoomFor(shown)) {
            yield { shown: batch.changes, reached };
            batch = new Batch();
          }
          batch.add(shown);
        }
        reached = change.version;
      }
      // Nothing is left up to there.
      if (found.length === 0 && before !== undefined) reached = before;
      yield { shown: batch.changes, reached };
    }
  }

  async function* follow(
    after: Version,
    signal: AbortSignal,
    { known, ...scope }: FollowOptions,
  ): AsyncIterable<WorkflowChange[]> {
    let awake = Promise.withResolvers<void>();
    const watcher: Watcher = {
      queue: [],
      queued: 0,
      seen: after,
      seenIds: undefined,
      failure: undefined,
      wake: () => awake.resolve(),
    };
    /** Of these changes those that it has not seen; from now on it has. */
    const take = (changes: WorkflowChange[]): WorkflowChange[] =>
      changes.filter((change) => {
        if (hasSeen(watcher, change)) return false;
        markSeen(watcher, change.version, change.id);
        return isOlder(known?.get(change.id) ?? "", change.version);
      });
    let leave = () => {};
    signal.addEventListener("abort", watcher.wake);
    followers++;
    try {
      while (!signal.aborted && (position === undefined || isOlder(watcher.seen, position))) {
        for await (const { shown, reached } of catchUp(watcher.seen, signal, scope)) {
          const changes = take(shown);
          if (isOlder(watcher.seen, reached)) markSeen(watcher, reached, undefined);
          if (changes.length > 0) yield changes;
        }
      }
      // In the same turn as the look at the position: nothing can be handed out in between.
      leave = watchers.add(watcher, scope);
      while (!signal.aborted) {
        while (watcher.queue.length > 0) {
          const changes = take(nextBatch(watcher));
          if (changes.length > 0) yield changes;
          if (signal.aborted) return;
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
      followers--;
      if (followers === 0 && reading !== undefined) end(reading.stop);
    }
  }

  return {
    follow,
    size: () => followers,
    close: () => {
      failAll(new Problem(ProblemCode.Unavailable, "the server is closing"));
      if (reading !== undefined) end(reading.stop);
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

/** The last changes that were handed out: for who comes back, they are not made again. */
class RecentChanges {
  readonly #changes = new Map<string, WorkflowChange>();
  #size = 0;

  add(change: WorkflowChange): void {
    this.#changes.set(`${change.version} ${change.id}`, change);
    this.#size += change.size;
    for (const [key, { size }] of this.#changes) {
      if (this.#changes.size <= MAX_RECENT && this.#size <= MAX_RECENT_SIZE) return;
      this.#changes.delete(key);
      this.#size -= size;
    }
  }

  find({ version, id }: Change): WorkflowChange | undefined {
    return this.#changes.get(`${version} ${id}`);
  }
}

/** Watchers by what they watch, so that a change costs what it reaches. */
class Watchers {
  readonly #byScope = new Map<string, Set<Watcher>>();

  /** @returns takes the watcher out again */
  add(watcher: Watcher, { namespace, name }: WatchScope): () => void {
    const key = namespace !== "" && name !== undefined ? `${namespace}/${name}` : namespace;
    const set = this.#byScope.get(key) ?? new Set();
    this.#byScope.set(key, set);
    set.add(watcher);
    return () => {
      set.delete(watcher);
      if (set.size === 0 && this.#byScope.get(key) === set) this.#byScope.delete(key);
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

/** Changes that come together; there is always room for one. */
class Batch {
  readonly changes: WorkflowChange[] = [];
  #size = 0;

  hasRoomFor({ size }: WorkflowChange): boolean {
    const { length } = this.changes;
    return length === 0 || (length < MAX_BATCH && this.#size + size <= MAX_BATCH_SIZE);
  }

  add(change: WorkflowChange): void {
    this.changes.push(change);
    this.#size += change.size;
  }
}

/** Takes the first changes out of a watcher's queue. */
function nextBatch(watcher: Watcher): WorkflowChange[] {
  const batch = new Batch();
  for (const change of watcher.queue) {
    if (!batch.hasRoomFor(change)) break;
    batch.add(change);
    watcher.queued -= change.size;
  }
  watcher.queue.splice(0, batch.changes.length);
  return batch.changes;
}

function hasSeen({ seen, seenIds }: Watcher, { id, version }: WorkflowChange): boolean {
  if (seen === version) return seenIds?.includes(id) ?? true;
  return isOlder(version, seen);
}

function markSeen(watcher: Watcher, version: Version, id: string | undefined): void {
  const ids = id === undefined ? [] : [id];
  watcher.seenIds = watcher.seen === version ? [...watcher.seenIds ?? [], ...ids] : ids;
  watcher.seen = version;
}

/** Hands a change to a watcher; one whose queue is full loses what is in it, and can read it from the feed. */
function push(watcher: Watcher, change: WorkflowChange): void {
  if (watcher.failure !== undefined || hasSeen(watcher, change)) return;
  const isFull = watcher.queue.length >= MAX_QUEUE ||
    (watcher.queue.length > 0 && watcher.queued + change.size > MAX_QUEUE_SIZE);
  if (isFull) {
    watcher.queue.length = 0;
    watcher.failure = () => tooSlow(watcher.seen);
  } else {
    watcher.queue.push(change);
    watcher.queued += change.size;
  }
  watcher.wake();
}

function tooSlow(version: Version): Problem {
  return new Problem(
    ProblemCode.ResourceExhausted,
    `the watch was read too slowly; go on from resourceVersion ${version}`,
  );
}
