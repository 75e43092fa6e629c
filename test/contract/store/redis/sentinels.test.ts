/** Sentinels: who is the master, also when one of them, or a whole machine, says nothing any more. */
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import type { Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { ask, type RedisSentinels, startRedisSentinels } from "../../../support/redis_cluster.ts";
import type { RedisServer } from "../../../support/redis_server.ts";
import { until } from "../../../support/until.ts";
import { acquired, collect, partsOf, putting } from "../store_setting.ts";

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

async function start(): Promise<RedisSentinels> {
  const sentinels = await startRedisSentinels();
  cleanUp.push(() => sentinels.stop());
  return sentinels;
}

async function open(url: string): Promise<Store> {
  const store = await openRedisStore({ url, timeoutMs: 2_000 });
  cleanUp.push(() => store.close());
  return store;
}

/** A paused process is silent, as a machine without power is. */
function pause(server: RedisServer): void {
  process.kill(server.pid(), "SIGSTOP");
}

test("a new master takes over without a restart of ours", async () => {
  const sentinels = await start();
  const store = await open(sentinels.url);
  const epoch = await acquired(store, 1);
  await store.shards.commit(putting(epoch, "1"));
  await until(async () => (await ask(sentinels.replica.url, ["DBSIZE"])) !== "0");
  const stop = new AbortController();
  const from = await store.query.version();
  const watching = collect(store.query.watch(from, stop.signal), 1, stop);
  await sentinels.master.kill("SIGKILL");
  await until(async () => {
    await store.shards.loadShard(1);
    await store.shards.commit(putting(epoch, "2"));
    return true;
  });
  expect(await partsOf(store)).toEqual({ h: "2" });
  expect(await ask(sentinels.replica.url, ["ROLE"])).toMatch(/^master/);
  expect((await watching).map(({ put }) => put["h"])).toContain("2");
}, 60_000);

test("a machine goes dark with the master and the sentinel that we listen to", async () => {
  const sentinels = await start();
  const store = await open(sentinels.url);
  const epoch = await acquired(store, 1);
  await store.shards.commit(putting(epoch, "1"));
  await until(async () => (await ask(sentinels.replica.url, ["DBSIZE"])) !== "0");
  pause(sentinels.sentinels[0]);
  pause(sentinels.master);
  await until(async () => {
    await store.shards.loadShard(1);
    await store.shards.commit(putting(epoch, "2"));
    return true;
  });
  expect(await ask(sentinels.replica.url, ["ROLE"])).toMatch(/^master/);

  // The silent sentinel stays in the list: commands go on all the same.
  for (let text = 3; text < 10; text++) {
    await store.shards.commit(putting(epoch, String(text)));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  expect(await partsOf(store)).toEqual({ h: "9" });
}, 60_000);

test("a sentinel that says nothing keeps nobody from the start", async () => {
  const sentinels = await start();
  pause(sentinels.sentinels[0]);
  const store = await open(sentinels.url);
  await acquired(store, 1);
});
