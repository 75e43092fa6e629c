/**
 * Events for `stream/events`, from all replicas on the store. Events about workflows and their pods come from the change
 * feed. Events about bindings are stored by the replica that had the trouble. The feed is read once for all readers of this
 * process, and only while there are some. Events are hints: a reader that is too slow loses the oldest ones.
 */
import { BoundedCache } from "../../../base/bounded_cache.ts";
import { type EventScope, type FeedDeps, feedEvents, keyOf } from "./change_events.ts";
import type { About, CoreEvent, Happening } from "./core_event.ts";
import { pastEvents } from "./past_events.ts";
import { StoredEvents } from "./stored_events.ts";

/** How many events a reader may lag behind. */
const MAX_QUEUE = 1_000;
/** Events that are remembered so that none is told twice. */
const MAX_TOLD = 20_000;
/** Wait before the feed is read again after a failure. */
const RETRY_MS = 1_000;

interface Reader {
  wantsPods: boolean;
  queue: CoreEvent[];
  wake: () => void;
}

/** The reading of the change feed, and when it has begun. */
interface Reading {
  stop: AbortController;
  begun: Promise<void>;
}

/** Reads nothing before the first reader comes. */
export class EventFeed {
  readonly #deps: FeedDeps;
  readonly #stored: StoredEvents;
  readonly #readers = new Set<Reader>();
  readonly #told = new BoundedCache<string, true>(MAX_TOLD);
  #reading: Reading | undefined;

  constructor(deps: FeedDeps) {
    this.#deps = deps;
    this.#stored = new StoredEvents(deps);
  }

  /** Stores an event for all replicas. A repetition within seconds is left out. */
  report(about: About, happening: Happening): Promise<void> {
    return this.#stored.report(about, happening);
  }

  /** Recent events, oldest first, then new ones, until the signal aborts. */
  async *follow(scope: EventScope, signal: AbortSignal): AsyncIterable<CoreEvent> {
    let awake = Promise.withResolvers<void>();
    const wantsPods = scope.pods !== undefined;
    const reader: Reader = { wantsPods, queue: [], wake: () => awake.resolve() };
    this.#readers.add(reader);
    signal.addEventListener("abort", reader.wake);
    try {
      await this.#begin();
      const before = await pastEvents(this.#deps, scope);
      const shown = new Set(before.map(keyOf));
      for (const event of before) {
        if (signal.aborted) return;
        yield event;
      }
      while (!signal.aborted) {
        for (const event of reader.queue.splice(0)) {
          const isHere = scope.namespace === "" || event.namespace === scope.namespace;
          const isWanted = isHere && (wantsPods || event.isOfPod !== true);
          if (isWanted && !shown.has(keyOf(event))) yield event;
        }
        await awake.promise;
        awake = Promise.withResolvers<void>();
      }
    } finally {
      signal.removeEventListener("abort", reader.wake);
      this.#leave(reader);
    }
  }

  /** Resolves when the feed is being read. */
  #begin(): Promise<void> {
    if (this.#reading === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const stop = new AbortController();
      this.#reading = { stop, begun: promise };
      void this.#read(stop.signal, resolve);
    }
    return this.#reading.begun;
  }

  #leave(reader: Reader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#reading?.stop.abort();
    this.#reading = undefined;
  }

  async #read(signal: AbortSignal, begun: () => void): Promise<void> {
    const { store, clock, log } = this.#deps;
    while (!signal.aborted) {
      try {
        const version = await store.query.version();
        begun();
        for await (const batch of store.query.watch(version, signal)) {
          for (const change of batch) {
            const wantsPods = [...this.#readers].some((reader) => reader.wantsPods);
            for (const event of feedEvents(this.#deps, change, wantsPods)) this.#tell(event);
          }
        }
      } catch (error) {
        begun();
        if (signal.aborted) return;
        log.warn({ err: error }, "events of the feed were passed over");
        await clock.sleep(RETRY_MS, signal);
      }
    }
  }

  #tell(event: CoreEvent): void {
    const key = keyOf(event);
    if (this.#told.get(key) !== undefined) return;
    this.#told.set(key, true);
    for (const { queue, wake } of this.#readers) {
      if (queue.length >= MAX_QUEUE) queue.shift();
      queue.push(event);
      wake();
    }
  }
}
