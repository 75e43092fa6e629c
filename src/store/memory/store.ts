/**
 * The store in memory: the reference that the other adapters are compared with, and what tests and simulations run on.
 * It is written to be read: lists and queues are searched from end to end.
 */
import type { BlobStore } from "../blob_port.ts";
import type { Membership, Store } from "../port.ts";
import type { WaitClock } from "../wakeups.ts";
import { MemoryEvents } from "./events.ts";
import { MemoryManifests } from "./manifests.ts";
import { MemoryQuery } from "./query.ts";
import { MemoryShards } from "./shards.ts";
import { assertOpen, emptyState, type MemoryState, shardOf } from "./state.ts";

export interface MemoryStoreOptions {
  /** Its content, for tests that damage it. @default nothing */
  state?: MemoryState;
  /** Clock of the store, in epoch ms. @default {Date.now} */
  now?: () => number;
  /** Clock by which waits are measured. @default the runtime's timers */
  waits?: WaitClock;
  /** Number of changes that the feed keeps for watches that resume. @default {10_000} */
  feedLength?: number;
}

/** Opens an empty store. It lives as long as somebody refers to it. */
export function openMemoryStore(options: MemoryStoreOptions = {}): Store {
  const { now = Date.now, feedLength = 10_000, waits } = options;
  const state = options.state ?? emptyState(now, feedLength, waits);
  return {
    membership: createMembership(state),
    shards: new MemoryShards(state),
    query: new MemoryQuery(state),
    manifests: new MemoryManifests(state),
    events: new MemoryEvents(state),
    blobs: createBlobs(state),
    // deno-lint-ignore require-await -- so that a closed store is a rejection
    async ping() {
      assertOpen(state);
    },
    durability: () => "none",
    clear() {
      clear(state);
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

function clear(state: MemoryState): void {
  for (const shard of state.shards.values()) {
    Object.assign(shard, { mail: [], outbox: new Map(), timers: new Map() });
    shard.answers.clear();
  }
  const { actors, remains, manifests, events, dedupes, deliveries, blobs } = state;
  for (const map of [actors, remains, manifests, events, dedupes, deliveries, blobs]) map.clear();
  state.feed = [];
  state.floor = ++state.version;
  state.wakeups.wakeAll();
}

function createMembership(state: MemoryState): Membership {
  const replicas = () =>
    [...state.replicas].filter(([, until]) => until > state.now()).map(([replica]) => replica)
      .sort();
  return {
    now: () => Promise.resolve(state.now()),
    shardCount(wish) {
      return Promise.resolve(state.shardCount ??= wish);
    },
    heartbeat(replica, ttlMs) {
      state.replicas.set(replica, state.now() + ttlMs);
      return Promise.resolve({ replicas: replicas(), now: state.now() });
    },
    leave(replica) {
      state.replicas.delete(replica);
      for (const shard of state.shards.values()) {
        if (shard.owner === replica) shard.owner = undefined;
      }
      return Promise.resolve();
    },
    replicas: () => Promise.resolve(replicas()),
    acquire(number, replica, ttlMs) {
      const shard = shardOf(state, number);
      const isHeld = shard.owner !== undefined && shard.until > state.now();
      if (isHeld && shard.owner !== replica) return Promise.resolve(undefined);
      const isExpired = shard.owner !== undefined && shard.owner !== replica;
      const expired = isExpired ? { expiredAt: shard.until } : {};
      shard.epoch++;
      shard.owner = replica;
      shard.until = state.now() + ttlMs;
      return Promise.resolve({ shard: number, epoch: shard.epoch, ...expired });
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
