/** One watcher: what it has seen, and the changes that wait for it. */
import { isOlder } from "../../actors/views.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { Version } from "../../store/version.ts";
import type { WorkflowChange } from "./change.ts";
import { ChangeBatch } from "./change_batch.ts";

/** How many changes a watcher may lag behind, and characters in them. */
const MAX_QUEUE = 1_000;
const MAX_QUEUE_SIZE = 2 ** 23;

export class Watcher {
  /** It shows starts and ends in milliseconds. */
  readonly exactTimes: boolean;
  readonly #known: ReadonlyMap<string, Version> | undefined;
  #queue: WorkflowChange[] = [];
  /** Characters of the changes in the queue. */
  #queued = 0;
  #seen: Version;
  /** Objects that it took at that version: changes of two servers may have the same version. Absent before the first. */
  #seenIds: string[] | undefined;
  /** Makes the error that it gets when the queue is empty. */
  #failure: (() => unknown) | undefined;
  #awake = Promise.withResolvers<void>();

  /**
   * @param after version of the last change that it has seen
   * @param known versions of objects that it has already seen in a later state
   */
  constructor(
    after: Version,
    known: ReadonlyMap<string, Version> | undefined,
    exactTimes: boolean = false,
  ) {
    this.exactTimes = exactTimes;
    this.#seen = after;
    this.#known = known;
  }

  /** Version of the last change that it took. */
  get seen(): Version {
    return this.#seen;
  }

  readonly wake = (): void => this.#awake.resolve();

  /** Hands it a change. If its queue is full, it loses the queue and fails; it can read the changes from the feed again. */
  push(change: WorkflowChange): void {
    if (this.#failure !== undefined || this.#hasSeen(change)) return;
    const isFull = this.#queue.length >= MAX_QUEUE ||
      (this.#queue.length > 0 && this.#queued + change.size > MAX_QUEUE_SIZE);
    if (isFull) {
      this.#queue = [];
      this.#failure = () => tooSlow(this.#seen);
    } else {
      this.#queue.push(change);
      this.#queued += change.size;
    }
    this.wake();
  }

  /** Makes it fail with this error when its queue is empty. */
  fail(error: unknown): void {
    this.#failure ??= () => error;
    this.wake();
  }

  /** Those of the changes that it has not seen. From now on it has. */
  take(changes: readonly WorkflowChange[]): WorkflowChange[] {
    return changes.filter((change) => {
      if (this.#hasSeen(change)) return false;
      this.#markSeen(change.version, change.id);
      return isOlder(this.#known?.get(change.id) ?? "", change.version);
    });
  }

  /** There is nothing for it up to a version. */
  skipTo(version: Version): void {
    if (isOlder(this.#seen, version)) this.#markSeen(version, undefined);
  }

  /** The changes that are pushed, until the signal aborts. @throws the error of `fail` */
  async *changes(signal: AbortSignal): AsyncIterable<WorkflowChange[]> {
    while (!signal.aborted) {
      while (this.#queue.length > 0) {
        const changes = this.take(this.#nextBatch());
        if (changes.length > 0) yield changes;
        if (signal.aborted) return;
      }
      if (this.#failure !== undefined) throw this.#failure();
      await this.#awake.promise;
      this.#awake = Promise.withResolvers<void>();
    }
  }

  /** Takes the first changes out of the queue. */
  #nextBatch(): WorkflowChange[] {
    const batch = new ChangeBatch();
    for (const change of this.#queue) {
      if (!batch.hasRoomFor(change)) break;
      batch.add(change);
      this.#queued -= change.size;
    }
    this.#queue.splice(0, batch.changes.length);
    return batch.changes;
  }

  #hasSeen({ id, version }: WorkflowChange): boolean {
    if (this.#seen === version) return this.#seenIds?.includes(id) ?? true;
    return isOlder(version, this.#seen);
  }

  #markSeen(version: Version, id: string | undefined): void {
    const ids = id === undefined ? [] : [id];
    this.#seenIds = this.#seen === version ? [...this.#seenIds ?? [], ...ids] : ids;
    this.#seen = version;
  }
}

function tooSlow(version: Version): Problem {
  return new Problem(
    ProblemCode.ResourceExhausted,
    `the watch was read too slowly; go on from resourceVersion ${version}`,
  );
}
