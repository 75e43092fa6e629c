/**
 * The store on Redis, for many replicas. Every change is one script on the keys of one hash tag, so that it is atomic and
 * a Redis Cluster can hold it. Nothing blocks on a connection: whoever waits is woken by a message, and looks by himself
 * once a second in case the message was lost.
 */
import { Problem, ProblemCode, unavailable } from "../base/problem.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";
import type { BlobStore, Durability, Membership, Store } from "./port.ts";
import { DEFAULT_SHARDS, forEachShard, type RedisContext } from "./redis_context.ts";
import { createRedisEvents } from "./redis_events.ts";
import { BLOB_BUCKETS, BLOB_KEY, redisKeys } from "./redis_keys.ts";
import { openRedisLink } from "./redis_link.ts";
import { createRedisManifests } from "./redis_manifests.ts";
import { createRedisQuery } from "./redis_query.ts";
import { pairsOf, textsOf } from "./redis_replies.ts";
import {
  ACQUIRE,
  HEARTBEAT,
  PUT_BLOB,
  RELEASE,
  REMOVE_BLOBS,
  RENEW,
  REPLICAS,
  RESET_FEED,
} from "./redis_scripts.ts";
import { createRedisShards } from "./redis_shards.ts";
import { parseRedisUrl } from "./redis_url.ts";
import { Wakeups } from "./wakeups.ts";
import { completedLabel, STANDARD_NAMING } from "../spec/naming.ts";

export interface RedisStoreOptions {
  /** See `redis_url.ts`. */
  url: string;
  /** Milliseconds after which a call fails, whatever Redis does. @default {5_000} */
  timeoutMs?: number;
  /** Changes that the feed keeps for watches that resume, over all shards. @default {12_288} */
  feedLength?: number;
  /** Hears of lost connections and of settings that endanger the data, for the log; never of a password. */
  onTrouble?: (text: string) => void;
  /** Hears of what lies in the store and can't be read. */
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
  const { timeoutMs = 5_000, feedLength = 12_288, onTrouble = () => {} } = options;
  const wakeups = new Wakeups();
  const link = await openRedisLink({
    address,
    timeoutMs,
    onTrouble,
    onReconnect: () => wakeups.wakeAll(),
  });
  const keys = redisKeys(address.prefix);
  let isClosed = false;
  let shards: number | undefined;

  async function shardCount(wish = DEFAULT_SHARDS): Promise<number> {
    if (shards !== undefined) return shards;
    await link.send(keys.shardCount, ["SET", keys.shardCount, String(wish), "NX"]);
    shards = Number(await link.send(keys.shardCount, ["GET", keys.shardCount]));
    return shards;
  }

  const context: RedisContext = {
    link,
    keys,
    wakeups,
    feedLength,
    shardCount,
    isClosed: () => isClosed,
    completedLabel: completedLabel({ ...STANDARD_NAMING, ...options }),
    onUnreadable: options.onUnreadable ?? (() => {}),
  };
  const durability = await readSettings(context, onTrouble).catch((error) => {
    void link.close();
    throw error;
  });
  return {
    membership: createMembership(context, shardCount),
    shards: createRedisShards(context),
    query: createRedisQuery(context),
    manifests: createRedisManifests(context),
    events: createRedisEvents(context),
    blobs: createBlobs(context),
    async ping() {
      if (isClosed) throw unavailable("The store is closed");
      // Intentionally not PING, which is refused with the writes when Redis can't save.
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

/** Reads what the server is and promises; one that is managed by others, or a user without the right, tells nothing. */
async function readSettings(
  { link, keys }: RedisContext,
  onTrouble: (text: string) => void,
): Promise<Durability> {
  const ask = async (args: string[]) => {
    try {
      return await link.send(keys.shardCount, args);
    } catch (error) {
      if (error instanceof Problem && !/user or the password/.test(error.message)) throw error;
      return undefined;
    }
  };
  await link.send(keys.shardCount, ["PING"]);
  const server = String(await ask(["INFO", "server"]) ?? "");
  const [, version, major, minor] = /redis_version:((\d+)\.(\d+)\S*)/.exec(server) ?? [];
  if (version !== undefined && Number(major) * 100 + Number(minor) < 602) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      `Redis ${version} is too old: version 6.2 or later is needed`,
    );
  }
  const memory = new Map(pairsOf(await ask(["CONFIG", "GET", "maxmemory*"])));
  const policy = memory.get("maxmemory-policy") ?? "noeviction";
  if (memory.get("maxmemory") !== "0" && policy !== "noeviction") {
    onTrouble(
      `Redis may drop workflows when its memory is full: set maxmemory-policy to noeviction (it is ${policy})`,
    );
  }
  const settings = new Map(pairsOf(await ask(["CONFIG", "GET", "append*"])));
  const fsync = settings.get("appendfsync");
  if (fsync === undefined) return "unknown";
  if (settings.get("appendonly") !== "yes" || fsync === "no") return "none";
  return fsync === "always" ? "always" : "everysec";
}

/** Removes everything but membership, and what keeps versions and cursors growing. */
async function clear(context: RedisContext): Promise<void> {
  const { link, keys } = context;
  const shards = await context.shardCount();
  const bases = [
    ...Array.from({ length: shards }, (_, shard) => keys.shard(shard)),
    keys.manifests,
  ];
  await Promise.all(bases.map((base) => link.run(RESET_FEED, base, [])));
  const kept = new Set([keys.shardCount, keys.replicas]);
  for (const base of bases) for (const name of ["meta", "mail"]) kept.add(base + name);
  for await (const found of link.scan(keys.all)) {
    const gone = found.filter((key) => !kept.has(key));
    await Promise.all(gone.map((key) => link.send(key, ["UNLINK", key])));
  }
  context.wakeups.wakeAll();
}

function createMembership(
  { link, keys }: RedisContext,
  shardCount: (wish: number) => Promise<number>,
): Membership {
  return {
    async now() {
      const [seconds, micros] = textsOf(await link.send(keys.replicas, ["TIME"]));
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    },
    shardCount,
    async heartbeat(replica, ttlMs) {
      await link.run(HEARTBEAT, keys.replicas, [replica, String(Math.ceil(ttlMs))]);
    },
    async leave(replica) {
      await link.send(keys.replicas, ["ZREM", keys.replicas, replica]);
    },
    async replicas() {
      const names = textsOf(await link.run(REPLICAS, keys.replicas, []));
      return names.map((name) => name ?? "").sort();
    },
    async acquire(shard, replica, ttlMs) {
      const args = [replica, String(Math.ceil(ttlMs))];
      const epoch = Number(await link.run(ACQUIRE, keys.shard(shard), args));
      return epoch === 0 ? undefined : { shard, epoch };
    },
    async renew(leases, replica, ttlMs) {
      const held = await Promise.all(
        leases.map(({ shard, epoch }) =>
          link.run(RENEW, keys.shard(shard), [replica, String(epoch), String(Math.ceil(ttlMs))])
        ),
      );
      return leases.filter((_, index) => held[index] !== 1).map(({ shard }) => shard);
    },
    async release({ shard, epoch }) {
      await link.run(RELEASE, keys.shard(shard), [String(epoch)]);
    },
  };
}

function createBlobs({ link, keys }: RedisContext): BlobStore {
  function baseOf(key: string): string {
    let hash = 0;
    for (let at = 0; at < key.length; at++) hash = (hash * 31 + key.charCodeAt(at)) >>> 0;
    return keys.blobs(hash % BLOB_BUCKETS);
  }
  const bytesOf = (value: Uint8Array) => Buffer.from(value.buffer, value.byteOffset, value.length);
  return {
    async putBlob(key, value) {
      await link.run(PUT_BLOB, baseOf(key), [key, bytesOf(value), ""]);
    },
    async appendBlob(key, value, maxBytes) {
      await link.run(PUT_BLOB, baseOf(key), [key, bytesOf(value), String(maxBytes)]);
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
