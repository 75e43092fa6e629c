/**
 * The store on Redis, for many replicas. Every change is one script on the keys of one hash tag, so that it is atomic,
 * also on a Redis Cluster. Nothing blocks on a connection: a waiter is woken by a message, and looks by itself once a
 * second in case the message was lost.
 */
import { randomUUID } from "node:crypto";
import { Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import type { ReportUnreadable } from "../../platform/unreadable.ts";
import type { BlobStore } from "../blob_port.ts";
import type { Lease, Membership, Store } from "../port.ts";
import {
  clockKey,
  DEFAULT_SHARDS,
  FEED_BYTES,
  forEachShard,
  OLD_SHARE,
  type RedisContext,
} from "./context.ts";
import { RedisEvents } from "./events/events.ts";
import { BLOB_BUCKETS, BLOB_KEY, blobBase, redisKeys } from "./keys.ts";
import { openRedisLink, type RedisLink, type ReplicaWait } from "./link.ts";
import { OwnChanges } from "./feed/own_changes.ts";
import { RedisManifests } from "./manifests.ts";
import { RedisQuery } from "./query.ts";
import { listOf, textsOf } from "./replies.ts";
import {
  ACQUIRE,
  FREE,
  HEARTBEAT,
  OPEN,
  PUT_BLOB,
  RELEASE,
  REMOVE_BLOBS,
  RENEW,
  REPLICAS,
  RESET_FEED,
} from "./scripts.ts";
import { checkSettings } from "./settings_check.ts";
import { askShards, eachThatAnswers } from "./shard_calls.ts";
import { RedisShards } from "./shards.ts";
import { SharedTexts } from "./shared_texts.ts";
import { LAYOUT, Terms, UNFINISHED } from "./terms.ts";
import { parseRedisUrl } from "./url.ts";
import { Wakeups } from "../wakeups.ts";
import { completedLabel, STANDARD_NAMING } from "../../spec/naming.ts";

/** A server of a cluster that says nothing for this part of a term must not keep the leases on the others from being renewed. */
const ANSWERS_PER_TERM = 4;

export interface RedisStoreOptions {
  /** See `url.ts`. */
  url: string;
  /** Milliseconds after which a call fails, whatever Redis does. @default {5_000} */
  timeoutMs?: number;
  /** Number of changes that the feed keeps for watches that resume, over all shards. @default {12_288} */
  feedLength?: number;
  /** How long the feed keeps changes for which it has not much room, ms. @default {60_000} */
  feedAgeMs?: number;
  /** Replicas of Redis that must have a write before it counts as done. @default none */
  wait?: ReplicaWait | undefined;
  /** Told, for the log, about lost connections and about settings that endanger the data; never gets a password. */
  onTrouble?: (text: string) => void;
  /** Told about stored data that can't be read. */
  onUnreadable?: ReportUnreadable;
  /** Prefix of the label that says whether a workflow has ended. @default that of the reference */
  labelPrefix?: string;
}

/**
 * Connects to the store.
 * @throws {Problem} InvalidArgument when the URL is wrong, Unavailable when Redis does not answer in time,
 * FailedPrecondition when it is too old
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const address = parseRedisUrl(options.url);
  const { timeoutMs = 5_000, feedLength = 12_288, feedAgeMs = 60_000 } = options;
  const { onTrouble = () => {} } = options;
  const wakeups = new Wakeups();
  const link = await openRedisLink({
    address,
    timeoutMs,
    wait: options.wait,
    onTrouble,
    onReconnect: () => wakeups.wakeAll(),
  });
  const keys = redisKeys(address.prefix);
  let isClosed = false;
  const label = completedLabel({ ...STANDARD_NAMING, ...options });
  let opened: OpenedStore | undefined;

  async function open(wish = DEFAULT_SHARDS): Promise<OpenedStore> {
    return opened ??= await openStore(link, keys.shardCount, wish, address.layout, label);
  }
  const shardCount = async (wish?: number) => (await open(wish)).shards;

  const context: RedisContext = {
    link,
    keys,
    wakeups,
    feedLength,
    feedAgeMs,
    shardCount,
    isClosed: () => isClosed,
    shared: new SharedTexts(link),
    own: new OwnChanges(() => wakeups.wake("feed-source")),
    terms: async () => (await open()).terms,
    onUnreadable: options.onUnreadable ?? (() => {}),
  };
  const durability = await checkSettings(context, onTrouble).catch((error) => {
    void link.close();
    throw error;
  });
  return {
    membership: createMembership(context, shardCount),
    shards: new RedisShards(context),
    query: new RedisQuery(context),
    manifests: new RedisManifests(context),
    events: new RedisEvents(context),
    blobs: createBlobs(context),
    async ping() {
      if (isClosed) throw unavailable("The store is closed");
      // Intentionally not PING: Redis refuses it, like writes, when it can't save.
      await link.send(keys.shardCount, ["EXISTS", keys.shardCount]);
    },
    durability: () => durability,
    clear: () => clear(context),
    async close() {
      isClosed = true;
      wakeups.wakeAll();
      await link.close();
    },
  };
}

/** What a store is like, for as long as it exists. */
interface OpenedStore {
  shards: number;
  terms: Terms;
}

/** @throws {Problem} FailedPrecondition when a newer program has created the store */
async function openStore(
  link: RedisLink,
  key: string,
  wish: number,
  newLayout: number,
  label: string,
): Promise<OpenedStore> {
  const args = [String(wish), String(newLayout)];
  const [shards, found] = listOf(await link.run(OPEN, key, args));
  if (found === UNFINISHED) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      "The store in Redis is an unfinished copy: run the same `sluice store copy` or `import` again to finish it",
    );
  }
  const layout = Number(found);
  if (layout <= LAYOUT) {
    return { shards: Number(shards), terms: new Terms(layout, label) };
  }
  throw new Problem(
    ProblemCode.FailedPrecondition,
    `The store in Redis has layout ${layout}; this program knows layouts up to ${LAYOUT}. ` +
      "Start the version that created it, or a newer one",
  );
}

/** Removes everything except membership and what keeps versions and cursors growing. */
async function clear(context: RedisContext): Promise<void> {
  const { link, keys } = context;
  const shards = await context.shardCount();
  const bases = [
    ...Array.from({ length: shards }, (_, shard) => keys.shard(shard)),
    keys.manifests,
  ];
  await Promise.all(bases.map((base) => link.run(RESET_FEED, base, [clockKey(context)])));
  const kept = new Set([keys.shardCount, keys.replicas, keys.clock]);
  for (const base of bases) for (const name of ["meta", "mail"]) kept.add(base + name);
  for await (const found of link.scan(keys.all)) {
    const gone = found.filter((key) => !kept.has(key));
    await Promise.all(gone.map((key) => link.send(key, ["UNLINK", key])));
  }
  context.wakeups.wakeAll();
}

function createMembership(
  context: RedisContext,
  shardCount: (wish?: number) => Promise<number>,
): Membership {
  const { link, keys, own } = context;
  /** Why this replica may write nothing more; it gives up its leases then. */
  let stranger: Problem | undefined;
  const requireSame = () => {
    if (stranger !== undefined) throw stranger;
  };
  return {
    async now() {
      const [seconds, micros] = textsOf(await link.send(keys.replicas, ["TIME"]));
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    },
    shardCount,
    async heartbeat(replica, ttlMs) {
      const { layout } = await context.terms();
      const like = [String(await shardCount()), String(layout)];
      const args = [replica, String(Math.ceil(ttlMs)), clockKey(context), keys.shardCount, ...like];
      const [time, ...rest] = listOf(await link.run(HEARTBEAT, keys.replicas, args));
      const [found, names] = [rest.slice(0, 2).map(String), rest.slice(2)];
      stranger = found.join() === like.join() ? undefined : otherStore(found, like);
      requireSame();
      return { replicas: names.map(String).sort(), now: Number(time) };
    },
    async leave(replica) {
      const shards = Array.from({ length: await shardCount() }, (_, shard) => ({ shard }));
      await askShards(context, FREE, [replica], shards, ({ shard }) => [keys.shard(shard)]);
      await link.send(keys.replicas, ["ZREM", keys.replicas, replica]);
    },
    async replicas() {
      const names = textsOf(await link.run(REPLICAS, keys.replicas, []));
      return names.map((name) => name ?? "").sort();
    },
    async acquire(shard, replica, ttlMs) {
      requireSame();
      const epochs = link.isOneServer ? keys.epochs : "";
      const args = [replica, String(Math.ceil(ttlMs)), epochs, randomUUID()];
      const reply = await link.run(ACQUIRE, keys.shard(shard), args);
      if (!Array.isArray(reply)) return undefined;
      const [epoch, expired] = textsOf(reply);
      return { shard, epoch: Number(epoch), ...(expired && { expiredAt: Number(expired) }) };
    },
    async renew(...leases) {
      requireSame();
      return await renewLeases(context, ...leases);
    },
    async release({ shard, epoch }) {
      // Whoever takes it next may be an older program, see `Epochs`.
      own.forget(shard);
      await link.run(RELEASE, keys.shard(shard), [String(epoch)]);
    },
  };
}

/** Another store was put in the place of this one, as by a backup that was restored while servers ran. */
function otherStore(found: string[], expected: string[]): Problem {
  const shown = ([shards, layout]: string[]) => `${shards} shards and layout ${layout}`;
  return new Problem(
    ProblemCode.FailedPrecondition,
    `Redis has another store now, with ${shown(found)}: this server works with ${
      shown(expected)
    }. Start it again`,
  );
}

/** As `Membership.renew`. */
async function renewLeases(
  context: RedisContext,
  ...[leases, replica, ttlMs, unknown]: Parameters<Membership["renew"]>
): Promise<number[]> {
  const { link, keys, own, feedAgeMs, shardCount } = context;
  const bytes = Math.ceil(OLD_SHARE * FEED_BYTES / await shardCount());
  const first = [replica, ...[Math.ceil(ttlMs), feedAgeMs, bytes].map(String)];
  const ask = (some: Lease[]) =>
    askShards(context, RENEW, first, some, ({ shard, epoch }) => [
      keys.shard(shard),
      String(epoch),
    ]);
  const askOne = (lease: Lease) => ask([lease]).then(([one]) => one);
  const held = link.isOneServer
    ? await ask(leases)
    : await eachThatAnswers(leases, askOne, ttlMs / ANSWERS_PER_TERM);
  for (const [at, { shard }] of leases.entries()) if (held[at] === undefined) unknown?.add(shard);
  const lost = leases.filter((_, at) => held[at] === 0).map(({ shard }) => shard);
  for (const shard of lost) own.forget(shard);
  return lost;
}

function createBlobs({ link, keys }: RedisContext): BlobStore {
  const baseOf = (key: string) => blobBase(keys, key);
  const bytesOf = (value: Uint8Array) => Buffer.from(value.buffer, value.byteOffset, value.length);
  return {
    async putBlob(key, value) {
      await link.write(PUT_BLOB, baseOf(key), [key, bytesOf(value), ""]);
    },
    async appendBlob(key, value, maxBytes) {
      await link.write(PUT_BLOB, baseOf(key), [key, bytesOf(value), String(maxBytes)]);
    },
    async getBlob(key) {
      const stored = baseOf(key) + BLOB_KEY.value + key;
      const value = await link.sendForBytes(stored, ["GET", stored]);
      return value === null ? undefined : new Uint8Array(value);
    },
    async removeBlobs(prefix) {
      await forEachShard(BLOB_BUCKETS, async (bucket) => {
        while (Number(await link.run(REMOVE_BLOBS, keys.blobs(bucket), [prefix])) > 0);
      });
    },
  };
}
