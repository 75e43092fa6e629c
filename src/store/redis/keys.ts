/**
 * Every key and channel of the Redis adapter. Keys with the same hash tag live in one slot, so that a script on them works
 * on a Redis Cluster too:
 *
 *   {s12}         one shard: its lease, mailbox, actors, outbox, timers, answers, indexes and change feed
 *   {manifests}   all manifests and their change feed
 *   {events}      the event queue and the delivery records
 *   {cluster}     number of shards, live replicas, whether an epoch has changed, the clock of versions
 *   {b0} … {b15}  blobs
 *
 * A script gets the base (everything up to the tag's colon) and adds the names below.
 */

/** Names under a shard's base. `meta` and `feed` also exist under `{manifests}`. */
export const SHARD_KEY = {
  /** Hash: epoch, owner, until, session, version, floor, cursor, mean (memory of a change), mark (see MARK_ROW). */
  meta: "meta",
  /** Stream of commands. */
  mail: "mail",
  /** Hash id → text. */
  outbox: "outbox",
  /** Sorted set of timer ids by the time when they are due. */
  timers: "due",
  /** Stream of changes; the id of an entry is its version. */
  feed: "feed",
  /** Hash uid → actor id. */
  uids: "uids",
  /** `a:<actor id>`: hash of parts, and the fields of ACTOR_FIELD. */
  actor: "a:",
  /** `g:<name>`: hash of parts that a removal has left. */
  remains: "g:",
  /** `n:<name>`: hash of the nodes of a new actor, until its commit renames it; expires. */
  staged: "n:",
  /** `t:<reference>`: hash with a text that actors have in common (`t`), and how many have it (`n`). */
  shared: "t:",
  /** `x:<term>`: sorted set of actor ids by creation time. */
  term: "x:",
  /** `r:<key>`: an answer, as JSON, that expires. */
  answer: "r:",
} as const;

/** Fields of an actor's hash that are not parts. */
export const ACTOR_FIELD = {
  version: "@v",
  /** Index entry, see `index.ts`. */
  index: "@i",
  /** Keys of parts that are neither nodes nor COMMON_PARTS, one per line; some may no longer exist. */
  others: "@k",
} as const;

/** Fields of what a removal has left that are not parts. */
export const REMAINS_FIELD = {
  /** The actor, for those whose texts are short. */
  actor: "@a",
} as const;

/** Fields of a change that has each part as a field of its own. */
export const FEED_FIELD = {
  index: ACTOR_FIELD.index,
  /** The index entry that it replaced. */
  indexBefore: "@o",
  /** Keys of parts that it dropped, one per line. */
  dropped: "@x",
  /** `@b<key>`: what a part was before, if earlier changes may not tell. Older programs ignore it. */
  before: "@b",
} as const;

/** Key of the part that many actors have in common. It alone may be a reference, see `shared_texts.ts`. */
export const COMMON_KEY = "s";

/** Parts that nearly every actor has: they are read by name, so that its nodes need not be. */
export const COMMON_PARTS: readonly string[] = ["h", "s", "a"];

/** The outbox row that every commit of a host replaces. Layout 2 keeps it in `meta`, which every commit writes anyway. */
export const MARK_ROW = "!";

/**
 * A change of so many keys and texts is written some at a time, and goes into the feed as one text. Lua can't pass on more
 * than 8,000 values at once.
 */
export const MANY_VALUES = 6_000;

/** Names under `{manifests}`. */
export const MANIFEST_KEY = {
  /** `k:<kind>`: hash place → version, space, record as JSON. */
  records: "k:",
  /** `o:<kind>`: sorted set of places, all with score 0. */
  order: "o:",
} as const;

/** So many changes stay in a feed that is trimmed, however large they are: in one that shows fewer after some version, none is missing. */
export const MIN_FEED = 8;

/** The longest term of a lease, ms: what seems to hold for longer was taken before the clock of the server went back. */
export const MAX_TERM_MS = 600_000;

/** Names under `{events}`. */
export const EVENT_KEY = {
  /** Stream; the fields of an entry are events: id and content, which is the attempts before it was put there, space, JSON. */
  queue: "queue",
  /** Hash event id → id of its stream entry, space, number of events in that; or LATER. What is in here is in the queue. */
  places: "places",
  /** Hash id of a stream entry → how many of its events have left it, while some are still there. */
  left: "left",
  /** Sorted set of event ids that wait for a retry, by the time when they come back. */
  later: "later",
  /** Hash event id → content, for events that wait for a retry. */
  held: "held",
  /** `k:<key>`: event id, space, fingerprint; expires. */
  dedupe: "k:",
  /** Hash event id → delivery record as JSON; none while the event has no outcome yet. */
  deliveries: "deliveries",
  /** `d:<namespace>:<state>`: sorted sets of event ids by time. */
  byTime: "d:",
  /** Set of namespaces that have deliveries. */
  namespaces: "namespaces",
} as const;

/** Place of an event that waits for a retry. */
export const LATER = "later";

/** The one consumer group of the event queue. */
export const EVENT_GROUP = "workers";

/** Names under a blob bucket. */
export const BLOB_KEY = {
  /** Sorted set of all keys of the bucket, all with score 0. */
  names: "names",
  /** `v:<key>`: the bytes. */
  value: "v:",
} as const;

export const BLOB_BUCKETS = 16;

export interface RedisKeys {
  /** Pattern of all keys of this store. */
  all: string;
  shard(shard: number): string;
  manifests: string;
  events: string;
  blobs(bucket: number): string;
  shardCount: string;
  replicas: string;
  /** A text that differs after each change of a shard's epoch; on one server only. */
  epochs: string;
  /** The highest version that was given, or a later time; on one server only. */
  clock: string;
  /** Channels whose messages say that there is something in a shard's mailbox, in the feed, or in the event queue. */
  mailChannel(shard: number): string;
  feedChannel: string;
  eventChannel: string;
  replyChannel(replica: string): string;
}

/** The keys of a store; stores with different prefixes share a Redis. */
export function redisKeys(prefix: string): RedisKeys {
  const base = (tag: string) => `${prefix}{${tag}}:`;
  return {
    all: `${prefix}{*`,
    shard: (shard) => base(`s${shard}`),
    manifests: base("manifests"),
    events: base("events"),
    blobs: (bucket) => base(`b${bucket}`),
    shardCount: `${base("cluster")}shards`,
    replicas: `${base("cluster")}replicas`,
    epochs: `${base("cluster")}epochs`,
    clock: `${base("cluster")}clock`,
    mailChannel: (shard) => `${prefix}mail:${shard}`,
    feedChannel: `${prefix}feed`,
    eventChannel: `${prefix}events`,
    replyChannel: (replica) => `${prefix}reply:${replica}`,
  };
}

/** Base of the bucket in which a blob lies. */
export function blobBase(keys: RedisKeys, key: string): string {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (hash * 31 + key.charCodeAt(at)) >>> 0;
  return keys.blobs(hash % BLOB_BUCKETS);
}
