/**
 * What the memory adapter holds: plain maps that its parts share. Everything goes in and comes out as text or as a
 * copy, so that no caller can change what is stored.
 */
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { Answer, Change, IndexEntry } from "../port.ts";
import type { Delivery, QueuedEvent } from "../event_port.ts";
import type { StoredManifest } from "../manifest_port.ts";
import { VersionTooOld } from "../port.ts";
import { type WaitClock, Wakeups } from "../wakeups.ts";

export interface MemoryShard {
  epoch: number;
  owner: string | undefined;
  until: number;
  cursor: string;
  /** Commands as JSON text. */
  mail: { seq: number; text: string }[];
  outbox: Map<string, string>;
  timers: Map<string, number>;
  answers: Map<string, Answer>;
}

export interface MemoryActor {
  version: number;
  parts: Map<string, string>;
  index: IndexEntry | undefined;
}

export interface MemoryEvent {
  event: QueuedEvent;
  /** Place in the queue. */
  seq: number;
  /** The worker that has it, and when that worker was last heard from. */
  worker?: string;
  touchedAt?: number;
  /** When it may be taken again. */
  at?: number;
}

export interface MemoryState {
  now: () => number;
  feedLength: number;
  closed: boolean;
  shardCount: number | undefined;
  /** Replica → end of its announcement. */
  replicas: Map<string, number>;
  shards: Map<number, MemoryShard>;
  actors: Map<string, MemoryActor>;
  /** Parts that removals have left behind, by name. */
  remains: Map<string, [key: string, text: string][]>;
  version: number;
  /** Changes, oldest first; those up to `floor` were trimmed. */
  feed: Change[];
  floor: number;
  manifests: Map<string, StoredManifest>;
  events: Map<string, MemoryEvent>;
  dedupes: Map<string, { id: string; fingerprint: string; expiresAt: number }>;
  deliveries: Map<string, Delivery>;
  blobs: Map<string, Uint8Array>;
  /** Last number given to a mailbox entry or event. */
  seq: number;
  wakeups: Wakeups;
  listeners: Map<string, Set<(request: string, answer: string) => void>>;
}

export function emptyState(
  now: () => number,
  feedLength: number,
  waits: WaitClock | undefined,
): MemoryState {
  return {
    now,
    feedLength,
    closed: false,
    shardCount: undefined,
    replicas: new Map(),
    shards: new Map(),
    actors: new Map(),
    remains: new Map(),
    version: 0,
    feed: [],
    floor: 0,
    manifests: new Map(),
    events: new Map(),
    dedupes: new Map(),
    deliveries: new Map(),
    blobs: new Map(),
    seq: 0,
    wakeups: new Wakeups(waits),
    listeners: new Map(),
  };
}

export function shardOf(state: MemoryState, number: number): MemoryShard {
  let shard = state.shards.get(number);
  if (shard === undefined) {
    shard = {
      epoch: 0,
      owner: undefined,
      until: 0,
      cursor: "",
      mail: [],
      outbox: new Map(),
      timers: new Map(),
      answers: new Map(),
    };
    state.shards.set(number, shard);
  }
  return shard;
}

/** Adds a change to the feed and trims it. */
export function publish(state: MemoryState, change: Change): void {
  state.feed.push(change);
  if (state.feed.length > state.feedLength) state.floor = Number(state.feed.shift()?.version);
  state.wakeups.wake("feed");
}

/** Changes after a version, at most `max`. */
export function readFeed(state: MemoryState, after: number, max: number): Change[] {
  if (after < state.floor) throw new VersionTooOld(String(after));
  let from = state.feed.length;
  while (from > 0 && Number(state.feed[from - 1]?.version) > after) from--;
  return structuredClone(state.feed.slice(from, from + max));
}

/** @throws {Problem} Unavailable once the store is closed */
export function assertOpen(state: MemoryState): void {
  if (state.closed) throw new Problem(ProblemCode.Unavailable, "The store is closed");
}
