/** What the store contract needs of an adapter, and the small builders that its tests share. */
import { partTexts } from "../../../src/base/part_text.ts";
import type {
  ActorChange,
  Change,
  IndexEntry,
  ShardCommit,
  Store,
} from "../../../src/store/port.ts";

/** An empty store that was just opened. */
export interface StoreSetting {
  store: Store;
  /** The store's clock, epoch ms. */
  now(): number;
  /** Advances the store's clock by this much. */
  pass(ms: number): Promise<void>;
  /** Closes the store and opens another one on the same data; absent if nothing outlives it. */
  reopen?: () => Promise<Store>;
  close(): Promise<void>;
}

/** Opens a new, empty store; `feedLength` makes its feed short. */
export type OpenStore = (options: { feedLength?: number }) => Promise<StoreSetting>;

/** Long enough for everything that a test waits for; tests that expect nothing to happen use 0. */
export const LONG_MS = 5_000;

export const never = new AbortController().signal;

export function commitOf(
  shard: number,
  epoch: number,
  more: Partial<ShardCommit> = {},
): ShardCommit {
  return {
    shard,
    epoch,
    actors: [],
    outboxPut: {},
    outboxDrop: [],
    timersSet: {},
    timersClear: [],
    answers: [],
    ...more,
  };
}

export function changeOf(id: string, more: Partial<ActorChange> = {}): ActorChange {
  return { id, put: [], drop: [], ...more };
}

export function entryOf(id: string, more: Partial<IndexEntry> = {}): IndexEntry {
  const [, namespace = "", name = ""] = id.split("/");
  return {
    namespace,
    name,
    uid: `uid-${namespace}-${name}`,
    labels: {},
    phase: "Running",
    createdAt: 1_000,
    ...more,
  };
}

/** The shard of an actor in these tests: any fixed rule works. */
export function shardOf(id: string, shards: number): number {
  let hash = 7;
  for (const char of id) hash = (hash * 31 + char.charCodeAt(0)) % 1_000_003;
  return hash % shards;
}

/** Takes the lease of a shard, which must be free. */
export async function acquired(store: Store, shard: number, replica = "r1"): Promise<number> {
  const lease = await store.membership.acquire(shard, replica, 60_000);
  if (lease === undefined) throw new Error(`Shard ${shard} is not free`);
  return lease.epoch;
}

/** A commit that writes one actor of shard 1, whose only part `h` is the text. */
export function putting(epoch: number, text: string): ReturnType<typeof commitOf> {
  return commitOf(1, epoch, {
    actors: [changeOf("wf/a/one", { put: partTexts({ h: text }), index: entryOf("wf/a/one") })],
  });
}

/** The parts of that actor; undefined when it is not stored. */
export async function partsOf(store: Store): Promise<Record<string, string> | undefined> {
  return (await store.shards.loadActor(1, "wf/a/one"))?.parts;
}

/** Reads a watch until it has shown `count` changes, then ends it. */
export async function collect(
  feed: AsyncIterable<Change[]>,
  count: number,
  stop: AbortController,
): Promise<Change[]> {
  const changes: Change[] = [];
  for await (const batch of feed) {
    changes.push(...batch);
    if (changes.length >= count) stop.abort();
  }
  return changes;
}

/** The error that a promise ends with. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("The promise was expected to fail");
}
