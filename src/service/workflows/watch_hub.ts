/**
 * One reader of the store's change feed for all watchers of this process. A change is turned into an object once for all of
 * them, and only if somebody watches it. Each watcher has a bounded queue; one that is too slow is cut off with an error that
 * says where to continue. A watcher that starts at an older version first reads the feed by itself, at its own pace, until it
 * has caught up with the others. Each change is shown once, with the object as it was right after it (`actors/views.ts`). When
 * the feed no longer goes back far enough, the watcher is told so, and has to list again.
 */
import { parseWorkflowActorId } from "../../actors/actor_ids.ts";
import { isOlder, Views } from "../../actors/views.ts";
import { invalid, Problem, ProblemCode } from "../../base/problem.ts";
import { type Clock, nextTurn } from "../../platform/clock.ts";
import { Turns } from "../../platform/turns.ts";
import type { ReportUnreadable } from "../../platform/unreadable.ts";
import {
  type ActorId,
  type Change,
  type Store,
  type StoredActor,
  VersionTooOld,
} from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import { MAX_WATCHED_SIZE } from "../page_size.ts";
import { WorkflowChange } from "./change.ts";
import { ChangeBatch } from "./change_batch.ts";
import { RecentChanges } from "./recent_changes.ts";
import type { WorkflowSource } from "./source.ts";
import { Watcher } from "./watcher_queue.ts";
import { inScope, type Place, Watchers, type WatchScope } from "./watchers.ts";

export interface FollowOptions extends WatchScope {
  /** Versions of objects that the reader has already seen in a later state. */
  known?: ReadonlyMap<string, Version>;
}

/** Characters of the objects that a watcher keeps while it reads by itself, and that all of these keep, about. */
const MAX_OWN_SIZE = 2 ** 22;
const MAX_OWN_SIZES = 2 ** 24;

/** Changes whose workflows are loaded together, where they are not in memory. */
const EXPECTED = 16;
/** After so many changes watchers get their turn. A multiple of `EXPECTED`. */
const TOGETHER = 96;

/** How long it keeps what nobody asks for, ms. */
const REST_MS = 20_000;

/** The reading of the feed, and when it has begun. */
interface Reading {
  stop: AbortController;
  begun: Promise<void>;
}

/** Changes that a watcher has read by itself, and the version that it has reached with them. */
interface OwnReading {
  changes: WorkflowChange[];
  reached: Version;
}

/** Reads nothing before the first watcher comes. */
export class WatchHub {
  readonly #store: Store;
  readonly #source: WorkflowSource;
  readonly #clock: Pick<Clock, "monotonic" | "after">;
  readonly #onUnreadable: ReportUnreadable | undefined;
  readonly #watchers = new Watchers();
  readonly #recent = new RecentChanges();
  readonly #views: Views;
  #followers = 0;
  /** All changes up to here were handed out; undefined while the feed is not read. */
  #position: Version | undefined;
  #reading: Reading | undefined;
  #cancelLook: (() => void) | undefined;

  constructor(
    store: Store,
    source: WorkflowSource,
    clock: Pick<Clock, "monotonic" | "after">,
    onUnreadable?: ReportUnreadable,
  ) {
    this.#store = store;
    this.#source = source;
    this.#clock = clock;
    this.#onUnreadable = onUnreadable;
    this.#views = new Views({ ...source.actors, maxWithNodes: MAX_WATCHED_SIZE });
  }

  /** Number of watchers. */
  get size(): number {
    return this.#followers;
  }

  /**
   * Changes after a version, in order, until the signal aborts. Those that are there at the same time come together.
   * @throws {Problem} InvalidArgument when the version is too old, ResourceExhausted when the reader is too slow
   */
  async *follow(
    after: Version,
    signal: AbortSignal,
    { known, ...scope }: FollowOptions,
  ): AsyncIterable<WorkflowChange[]> {
    const watcher = new Watcher(after, known, scope.exactTimes);
    let leave = () => {};
    signal.addEventListener("abort", watcher.wake);
    this.#followers++;
    try {
      while (!signal.aborted && this.#isBehind(watcher)) {
        for await (const { changes, reached } of this.#catchUp(watcher.seen, signal, scope)) {
          const fresh = watcher.take(changes);
          watcher.skipTo(reached);
          if (fresh.length > 0) yield fresh;
        }
      }
      // In the same turn as the check of the position, so that nothing is handed out in between.
      leave = this.#watchers.add(watcher, scope);
      yield* watcher.changes(signal);
    } catch (error) {
      throw error instanceof VersionTooOld ? invalid(error.message) : error;
    } finally {
      signal.removeEventListener("abort", watcher.wake);
      leave();
      this.#followers--;
      if (this.#followers === 0 && this.#reading !== undefined) this.#end(this.#reading.stop);
    }
  }

  /** Ends the reading of the feed. */
  close(): void {
    this.#cancelLook?.();
    this.#failAll(new Problem(ProblemCode.Unavailable, "the server is closing"));
    if (this.#reading !== undefined) this.#end(this.#reading.stop);
  }

  #isBehind({ seen }: Watcher): boolean {
    return this.#position === undefined || isOlder(seen, this.#position);
  }

  /** Makes sure that the feed is read from now on. It does not go back to what a watcher has missed. */
  #begin(): Promise<void> {
    if (this.#reading !== undefined) return this.#reading.begun;
    const stop = new AbortController();
    const begun = this.#store.query.version().then((version) => {
      if (stop.signal.aborted) return;
      this.#views.clear();
      this.#position = version;
      void this.#read(version, stop.signal);
    });
    this.#reading = { stop, begun };
    begun.catch(() => this.#end(stop));
    return begun;
  }

  #end(stop: AbortController): void {
    stop.abort();
    if (this.#reading?.stop !== stop) return;
    this.#reading = undefined;
    this.#position = undefined;
    this.#views.clear();
  }

  async #read(after: Version, signal: AbortSignal): Promise<void> {
    try {
      for await (const batch of this.#store.query.watch(after, signal)) {
        await this.#handOutAll(batch, signal);
        if (signal.aborted) return;
      }
    } catch (error) {
      if (!signal.aborted) this.#failAll(error);
    } finally {
      if (!signal.aborted && this.#reading !== undefined) this.#end(this.#reading.stop);
    }
  }

  async #handOutAll(changes: readonly Change[], signal: AbortSignal): Promise<void> {
    const isWatched = (id: ActorId) => this.#watchedPlace(id) !== undefined;
    let at = 0;
    for (const change of changes) {
      if (at > 0 && at % TOGETHER === 0) await nextTurn();
      if (at % EXPECTED === 0) this.#views.expect(changes.slice(at, at + EXPECTED), isWatched);
      at++;
      if (signal.aborted) return;
      const place = this.#watchedPlace(change.id);
      if (place === undefined) {
        this.#passOver(change);
        continue;
      }
      const now = this.#clock.monotonic();
      const found = this.#views.after(change, now);
      // Nothing waits unless it must: so watchers get together what is there at the same time.
      const stored = found instanceof Promise ? await found : found;
      if (signal.aborted) return;
      this.#handOut(change, stored, place, now);
    }
  }

  #watchedPlace(id: ActorId): Place | undefined {
    const place = parseWorkflowActorId(id);
    return place !== undefined && this.#watchers.isWatched(place) ? place : undefined;
  }

  #handOut(change: Change, stored: StoredActor, place: Place, now: number): void {
    const watchers = [...this.#watchers.of(place)];
    const keepsSource = watchers.some(({ exactTimes }) => exactTimes);
    const shown = this.#changeOf(change, stored, keepsSource);
    this.#recent.add(shown, now);
    this.#cancelLook ??= this.#clock.after(REST_MS, () => this.#forgetOld(), true);
    for (const watcher of watchers) watcher.push(shown);
    // In the same turn, so that a new watcher gets this change either from the feed or from here, and exactly once.
    this.#position = change.version;
  }

  #changeOf(change: Change, stored: StoredActor, keepsSource: boolean): WorkflowChange {
    return new WorkflowChange(change, stored, { onUnreadable: this.#onUnreadable, keepsSource });
  }

  #passOver({ id, version }: Change): void {
    this.#views.forget(id);
    this.#position = version;
  }

  #forgetOld(): void {
    this.#cancelLook = undefined;
    const time = this.#clock.monotonic() - REST_MS;
    const areLeft = [this.#views.forgetBefore(time), this.#recent.forgetBefore(time)];
    if (!areLeft.includes(true)) return;
    this.#cancelLook = this.#clock.after(REST_MS, () => this.#forgetOld(), true);
  }

  #failAll(error: unknown): void {
    for (const watcher of this.#watchers.all()) watcher.fail(error);
  }

  /** What the feed has after a version, until the hub's own reading is reached. */
  async *#catchUp(
    after: Version,
    signal: AbortSignal,
    scope: WatchScope,
  ): AsyncIterable<OwnReading> {
    // Thousands may come back together, and some of them never read.
    const maxSize = Math.min(MAX_OWN_SIZE, MAX_OWN_SIZES / this.#followers);
    const own = new Views({ ...this.#source.actors, maxSize, maxWithNodes: MAX_WATCHED_SIZE });
    const turns = new Turns("watches");
    for (let reached = after; !signal.aborted;) {
      await this.#begin();
      const before = this.#position;
      if (before !== undefined && !isOlder(reached, before)) return;
      const found = await this.#store.query.changes(reached);
      let batch = new ChangeBatch();
      for (const change of found) {
        if (turns.isOver) await turns.pause();
        if (signal.aborted) return;
        const place = parseWorkflowActorId(change.id);
        if (place !== undefined && inScope(place, scope)) {
          const shown = await this.#shown(change, own, scope.exactTimes === true);
          if (!batch.hasRoomFor(shown)) {
            yield { changes: batch.changes, reached };
            batch = new ChangeBatch();
          }
          batch.add(shown);
        }
        reached = change.version;
      }
      // The feed has nothing more up to the hub's position.
      if (found.length === 0 && before !== undefined) reached = before;
      yield { changes: batch.changes, reached };
    }
  }

  /** A change as it is shown: one that was handed out lately is not made again. */
  async #shown(change: Change, own: Views, exactTimes: boolean): Promise<WorkflowChange> {
    const recent = this.#recent.find(change);
    if (recent === undefined || (exactTimes && !recent.hasSource)) {
      return this.#changeOf(change, await own.after(change), exactTimes);
    }
    own.forget(change.id);
    return recent;
  }
}
