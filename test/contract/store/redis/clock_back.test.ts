/** Versions and watches after the clock of Redis has gone back. A store cannot tell a clock that was ahead from one that is right. */
import { partTexts } from "../../../../src/base/part_text.ts";
import { createClient, RESP_TYPES } from "redis";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Store } from "../../../../src/store/port.ts";
import { openRedisSource } from "../../../../src/store/redis/dump/dump.ts";
import { EVENT_KEY, redisKeys, SHARD_KEY } from "../../../../src/store/redis/keys.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { parseRedisUrl } from "../../../../src/store/redis/url.ts";
import { ManifestKind } from "../../../../src/spec/manifest.ts";
import { ask } from "../../../support/redis_cluster.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { acquired, changeOf, collect, commitOf, LONG_MS, never } from "../store_setting.ts";

/** So far the clock was ahead, in microseconds. */
const AHEAD = 3_600_000_000;

let redis: RedisServer;
let store: Store;
/** Of both shards. */
let epochs: number[];
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(async () => {
  await redis.stop();
});
beforeEach(async () => {
  await ask(redis.url, ["FLUSHALL"]);
  store = await openRedisStore({ url: redis.url });
  await store.membership.shardCount(2);
  epochs = [await acquired(store, 0), await acquired(store, 1)];
  return () => store.close();
});

/** @returns the version of the change */
async function write(shard: number, id: string): Promise<string> {
  const actors = [changeOf(id, { create: true, put: partTexts({ h: "1" }) })];
  const { versions } = await store.shards.commit(commitOf(shard, epochs[shard] ?? 0, { actors }));
  return versions[id] ?? "";
}

/** The next changes after a version, from now on by default. */
function watched(count: number, after?: string) {
  const stop = new AbortController();
  return collect(store.query.watch(after, stop.signal), count, stop);
}

function keys() {
  return redisKeys(parseRedisUrl(redis.url).prefix);
}

/** What a commit left in the first shard while the clock was ahead. */
async function wasAhead(): Promise<void> {
  const version = String(Date.now() * 1_000 + AHEAD);
  await ask(redis.url, ["HSET", keys().shard(0) + SHARD_KEY.meta, "version", version]);
}

test("a watch sees the changes of all shards, and of manifests, in the order of their versions", async () => {
  await wasAhead();
  const seen = watched(4);
  const first = await write(0, "wf/a/first");
  const second = await write(1, "wf/a/second");
  const manifest = { kind: ManifestKind.WorkflowTemplate, namespace: "a", name: "t" };
  const put = await store.manifests.put({ ...manifest, text: "{}", labels: {} }, undefined);
  const last = await write(1, "wf/a/last");
  const versions = [first, second, "version" in put ? put.version : "", last];
  expect((await seen).map(({ version }) => version)).toEqual(versions);
  expect(versions.map(Number).sort((a, b) => a - b)).toEqual(versions.map(Number));
});

test("a watch that begins before it, or resumes afterwards, misses nothing", async () => {
  await wasAhead();
  const resumesAt = await write(0, "wf/a/first");
  const begun = await store.query.version();
  const ids = ["wf/a/second", "wf/a/third"];
  await write(1, "wf/a/second");
  await write(0, "wf/a/third");
  for (const version of [resumesAt, begun]) {
    const seen = await watched(2, version);
    expect(seen.map(({ id }) => id)).toEqual(ids);
  }
});

test("it may go back where nothing has changed since a list", async () => {
  await store.membership.heartbeat("r1", LONG_MS);
  const noted = String(Date.now() * 1_000 + AHEAD);
  await ask(redis.url, ["SET", keys().clock, noted]);
  const listed = await store.query.version();
  expect(Number(listed)).toBeGreaterThanOrEqual(Number(noted));
  await store.membership.heartbeat("r1", LONG_MS);
  await write(1, "wf/a/one");
  const [change] = await watched(1, listed);
  expect(change?.id).toBe("wf/a/one");
});

test("a replica that died before it holds nothing until the clock has caught up", async () => {
  const until = String(Date.now() + AHEAD / 1_000);
  const { replicas, shard } = keys();
  await ask(redis.url, ["ZADD", replicas, until, "dead"]);
  await ask(redis.url, ["HSET", shard(1) + SHARD_KEY.meta, "owner", "dead", "until", until]);
  const { membership } = store;
  expect((await membership.heartbeat("r2", LONG_MS)).replicas).toEqual(["r2"]);
  expect(await membership.replicas()).toEqual(["r2"]);
  expect(await membership.acquire(1, "r2", LONG_MS)).toMatchObject({ shard: 1 });
  // The longest term that there may be.
  await membership.acquire(1, "r2", 600_000);
  expect(await membership.acquire(1, "r3", LONG_MS)).toBeUndefined();
});

test("a copy takes a lease from before it for one that has ended", async () => {
  await write(0, "wf/a/one");
  for (const [shard, epoch] of epochs.entries()) await store.membership.release({ shard, epoch });
  const source = await openRedisSource(redis.url);
  try {
    const hold = (ms: number) =>
      ask(redis.url, [
        "HSET",
        keys().shard(1) + SHARD_KEY.meta,
        ...["owner", "dead", "until", String(Date.now() + ms)],
      ]);
    await hold(LONG_MS);
    await expect(source.facts()).rejects.toThrow("dead holds shard 1");
    await hold(AHEAD / 1_000);
    expect(await source.facts()).toMatchObject({ shards: 2 });
  } finally {
    await source.close();
  }
});

test("an event that a worker took before it and never ended is given to another", async () => {
  const event = { id: "e", namespace: "a", receivedAt: 1_000, text: "{}" };
  await store.events.offer(event as never, 10);
  const take = (worker: string) => store.events.take(worker, 1, 200, 0, never);
  expect(await take("dead")).toHaveLength(1);
  await putAhead(keys().events + EVENT_KEY.queue);
  const taken: unknown[] = [];
  for (const end = Date.now() + 5_000; taken.length === 0 && Date.now() < end;) {
    taken.push(...await take("alive"));
  }
  expect(taken).toMatchObject([{ id: "e" }]);
});

/** Rewrites a stream as if its one pending entry had been taken while the clock was ahead: no command may say so. */
async function putAhead(key: string): Promise<void> {
  const client = await createClient({ url: redis.url }).connect();
  try {
    const info = await client.sendCommand<unknown>(["XINFO", "STREAM", key, "FULL"]);
    const taken = Number(/"dead",(\d{13}),1\]/.exec(JSON.stringify(info))?.[1]);
    const typed = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    const bytes = await typed.sendCommand<Buffer>(["DUMP", key]);
    const at = bytes.indexOf(littleEndian(BigInt(taken)));
    expect(at).toBeGreaterThan(0);
    littleEndian(BigInt(taken + AHEAD / 1_000)).copy(bytes, at);
    littleEndian(crc64(bytes.subarray(0, -8))).copy(bytes, bytes.length - 8);
    await client.sendCommand(["RESTORE", key, "0", bytes, "REPLACE"]);
  } finally {
    client.destroy();
  }
}

function littleEndian(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

/** The checksum at the end of a dump. */
function crc64(bytes: Buffer): bigint {
  let sum = 0n;
  for (const byte of bytes) {
    sum ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit++) {
      sum = (sum & 1n) === 1n ? (sum >> 1n) ^ 0x95ac9329ac4bc9b5n : sum >> 1n;
    }
  }
  return sum;
}
