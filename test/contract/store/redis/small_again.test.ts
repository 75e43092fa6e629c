/** A shard that was large gives its memory back, and finds what is left. */
import { partTexts } from "../../../../src/base/part_text.ts";
import { createClient } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import type { Store } from "../../../../src/store/port.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { acquired, changeOf, commitOf, entryOf } from "../store_setting.ts";

const MANY = 300;
const FEW = 20;

let redis: RedisServer;
let store: Store;
let client: ReturnType<typeof createClient>;

beforeAll(async () => {
  redis = await startRedisServer();
  store = await openRedisStore({ url: redis.url });
  client = createClient({ url: redis.url });
  await client.connect();
  await store.membership.shardCount(1);
});
afterAll(async () => {
  client.destroy();
  await store.close();
  await redis.stop();
});

const idOf = (i: number) => `wf/a/w${i}`;
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** Bytes of the sets of the index and of the uids. */
async function indexBytes(): Promise<number> {
  let sum = 0;
  for await (const keys of client.scanIterator({ MATCH: "*", COUNT: 1_000 })) {
    for (const key of keys.filter((key) => /:x:|:uids$/.test(key))) {
      sum += Number(await client.sendCommand(["MEMORY", "USAGE", key, "SAMPLES", "0"]));
    }
  }
  return sum;
}

async function write(epoch: number, from: number, to: number): Promise<void> {
  const actors = range(from, to).map((i) =>
    changeOf(idOf(i), {
      put: partTexts({ h: "{}" }),
      index: entryOf(idOf(i), { createdAt: 1_000 + i, startedAt: 1_000 + i, phase: "Running" }),
    })
  );
  await store.shards.commit(commitOf(0, epoch, { actors }));
}

async function remove(epoch: number, from: number, to: number): Promise<void> {
  const actors = range(from, to).map((i) => changeOf(idOf(i), { remove: true }));
  await store.shards.commit(commitOf(0, epoch, { actors }));
}

test("what is left of a large shard takes no more memory than if it had never been large", async () => {
  const epoch = await acquired(store, 0);
  await write(epoch, 0, FEW);
  const before = await indexBytes();
  for (let round = 0; round < 3; round++) {
    await write(epoch, FEW, MANY);
    expect(await indexBytes()).toBeGreaterThan(5 * before);
    for (let from = FEW; from < MANY; from += 70) {
      await remove(epoch, from, Math.min(MANY, from + 70));
    }
    expect(await indexBytes()).toBeLessThan(1.05 * before);
  }
  const all = range(0, FEW).map(idOf).reverse();
  for (const filter of [{}, { namespace: "a" }, { phases: ["Running"] }]) {
    const { items } = await store.query.list({ kind: "wf", limit: MANY, ...filter });
    expect(items.map(({ id }) => id)).toEqual(all);
  }
  for (const id of all) {
    expect(await store.query.findByUid(entryOf(id).uid)).toBe(id);
  }
});
