/**
 * The store in memory: the reference that the other adapters are compared with, and what tests and simulations run on. It
 * is written to be read; lists and queues are searched from end to end.
 */
import { createMemoryEvents } from "./memory_events.ts";
import { createMemoryManifests } from "./memory_manifests.ts";
import { createMemoryShards } from "./memory_shards.ts";
import { assertOpen, emptyState, type MemoryState, readFeed, shardOf } from "./memory_state.ts";
import {
  comparePositions,
  continueAfter,
  matchesEntry,
  parseContinue,
  sizeOfParts,
  wantsPart,
} from "./list_query.ts";
import type { BlobStore, IndexEntry, Membership, QueryStore, Store } from "./port.ts";
import type { WaitClock } from "./wakeups.ts";
import { FEED_BATCH, parseVersion, watchFeed } from "./watch_feed.ts";

export interface MemoryStoreOptions {
  /** What it holds, for tests that break it. @default nothing */
  state?: MemoryState;
  /** Clock of the store, epoch ms. @default {Date.now} */
  now?: () => number;
  /** What waits are measured with. @default the runtime's timers */
  waits?: WaitClock;
  /** Changes that the feed keeps for watches that resume. @default {10_000} */
  feedLength?: number;
}

/** Opens an empty store. It is gone when the last reference to it is. */
export function openMemoryStore(options: MemoryStoreOptions = {}): Store {
  const { now = Date.now, feedLength = 10_000, waits } = options;
  const state = options.state ?? emptyState(now, feedLength, waits);
  return {
    membership: createMembership(state),
    shards: createMemoryShards(state),
    query: createQuery(state),
    manifests: createMemoryManifests(state),
    events: createMemoryEvents(state),
    blobs: createBlobs(state),
    // deno-lint-ignore require-await -- so that a closed store is a rejection
    async ping() {
      assertOpen(state);
    },
    durability: () => "none",
    clear() {
      for (const shard of state.shards.values()) {
        Object.assign(shard, { mail: [], outbox: new Map(), timers: new Map() });
        shard.answers.clear();
      }
      for (
        const map of [
          state.actors,
          state.remains,
          state.manifests,
          state.events,
          state.dedupes,
          state.deliveries,
          state.blobs,
        ]
      ) map.clear();
      state.feed = [];
      state.floor = ++state.version;
      state.wakeups.wakeAll();
      return Promise.resolve();
    },
    close() {
      state.closed = true;
      state.listeners.clear();
      state.wakeups.wakeAll();
      return Promise.resolve();
    },
  };
}

function createMembership(state: MemoryState): Membership {
  return {
    now: () => Promise.resolve(state.now()),
    shardCount(wish) {
      return Promise.resolve(state.shardCount ??= wish);
    },
    heartbeat(replica, ttlMs) {
      state.replicas.set(replica, state.now() + ttlMs);
      return Promise.resolve();
    },
    leave(replica) {
      state.replicas.delete(replica);
      return Promise.resolve();
    },
    replicas() {
      const live = [...state.replicas].filter(([, until]) => until > state.now());
      return Promise.resolve(live.map(([replica]) => replica).sort());
    },
    acquire(number, replica, ttlMs) {
      const shard = shardOf(state, number);
      const isHeld = shard.owner !== undefined && shard.until > state.now();
      if (isHeld && shard.owner !== replica) return Promise.resolve(undefined);
      shard.epoch++;
      shard.owner = replica;
      shard.until = state.now() + ttlMs;
      return Promise.resolve({ shard: number, epoch: shard.epoch });
    },
    renew(leases, replica, ttlMs) {
      const lost: number[] = [];
      for (const lease of leases) {
        const shard = shardOf(state, lease.shard);
        if (shard.owner === replica && shard.epoch === lease.epoch) {
          shard.until = state.now() + ttlMs;
        } else lost.push(lease.shard);
      }
      return Promise.resolve(lost);
    },
    release(lease) {
      const shard = shardOf(state, lease.shard);
      if (shard.epoch === lease.epoch) shard.owner = undefined;
      return Promise.resolve();
    },
  };
}

function createQuery(state: MemoryState): QueryStore {
  const feed = {
    read: (after: number, max: number) => readFeed(state, after, max),
    isClosed: () => state.closed,
    wakeups: state.wakeups,
  };
  return {
    // deno-lint-ignore require-await -- so that refusals are rejections
    async list(query) {
      const after = parseContinue(query.continue);
      const all: { id: string; createdAt: number; index: IndexEntry }[] = [];
      for (const [id, { index }] of state.actors) {
        if (!id.startsWith(`${query.kind}/`) || !index) continue;
        const position = { id, createdAt: index.createdAt };
        if (after === undefined || comparePositions(position, after) > 0) {
          all.push({ ...position, index });
        }
      }
      all.sort(comparePositions);
      const found = all.filter(({ index }) => matchesEntry(index, query));
      const page: typeof found = [];
      let [size, isFull] = [0, false];
      for (const one of found) {
        isFull = page.length > 0 && size >= (query.maxSize ?? Infinity);
        if (isFull) break;
        page.push(one);
        const parts = state.actors.get(one.id)?.parts ?? [];
        size += sizeOfParts(
          Object.fromEntries([...parts].filter(([key]) => wantsPart(key, query))),
        );
        isFull = query.limit > 0 && page.length === query.limit;
        if (isFull) break;
      }
      const end = query.limit > 0 ? all[(query.maxScan ?? Infinity) - 1] : undefined;
      const isCut = end !== undefined &&
        (!isFull || comparePositions(end, page.at(-1) ?? end) < 0);
      const shown = isCut ? page.filter((one) => comparePositions(one, end) <= 0) : page;
      const last = isCut ? end : shown.at(-1);
      const remaining = found.length - shown.length;
      return {
        items: shown.map(({ id, index }) => {
          const actor = state.actors.get(id);
          const parts = [...actor?.parts ?? []].filter(([key]) => wantsPart(key, query));
          return {
            id,
            version: String(actor?.version),
            parts: Object.fromEntries(parts),
            index: structuredClone(index),
          };
        }),
        ...(last !== undefined && (isCut || remaining > 0) && { continue: continueAfter(last) }),
        ...(query.count === true && { remaining }),
        version: String(state.version),
      };
    },
    findByUid(uid) {
      for (const [id, { index }] of state.actors) {
        if (index?.uid === uid) return Promise.resolve(id);
      }
      return Promise.resolve(undefined);
    },
    version() {
      return Promise.resolve(String(state.version));
    },
    watch(after, signal) {
      return watchFeed(feed, after ?? String(state.version), signal);
    },
    // deno-lint-ignore require-await -- so that refusals are rejections
    async changes(after) {
      return readFeed(state, parseVersion(after), FEED_BATCH);
    },
    // deno-lint-ignore require-await -- so that refusals are rejections
    async history(_shard, id, after) {
      return readFeed(state, parseVersion(after), Infinity).filter((change) => change.id === id);
    },
  };
}

function createBlobs(state: MemoryState): BlobStore {
  return {
    putBlob(key, value) {
      state.blobs.set(key, value.slice());
      return Promise.resolve();
    },
    appendBlob(key, value, maxBytes) {
      const before = state.blobs.get(key) ?? new Uint8Array();
      const room = Math.max(0, maxBytes - before.length);
      state.blobs.set(key, new Uint8Array([...before, ...value.subarray(0, room)]));
      return Promise.resolve();
    },
    getBlob(key) {
      return Promise.resolve(state.blobs.get(key)?.slice());
    },
    removeBlobs(prefix) {
      for (const key of [...state.blobs.keys()]) {
        if (key.startsWith(prefix)) state.blobs.delete(key);
      }
      return Promise.resolve();
    },
  };
}
