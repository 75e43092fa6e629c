/**
 * What workflows that only wait cost a replica and Redis: a bounded number of actors and timers in memory, no heap that
 * grows with their number, and little of Redis. SLUICE_WAITING: how many. `bench/waiting.ts` measures 100,000.
 */
import process from "node:process";
import { createClient } from "redis";
import { afterEach, expect, test } from "vitest";
import { call } from "../support/event_ledger.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { heapAfterCollection, WITH_HEAP_PROBE } from "../support/server_memory.ts";
import { startServer } from "../support/server_process.ts";

const COUNT = Number(process.env["SLUICE_WAITING"] ?? 2_000);
const SHARDS = 4;
const HOT_ACTORS = 500;
/** Most actors that may rest for long, and when they do. */
const RESTING = HOT_ACTORS / 10;
const REST = { timeout: 40_000, interval: 500 };
/** Timers of a shard that may be in memory before they are due. */
const TIMERS = 256;
const MAX_REDIS_BYTES = 4_096;
/** A loaded workflow takes more than 6,000; the bound includes what the runtime keeps for other reasons. */
const MAX_HEAP_BYTES = 1_000;
const WORKFLOWS = "/api/v1/workflows/default";

const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

test("workflows that wait leave the memory of their replica, and are found again when they are resumed", async () => {
  const redis = await startRedisServer();
  cleanUp.push(() => redis.stop());
  const server = await startServer([
    `--store=${redis.url}`,
    `--shards=${SHARDS}`,
    `--hot-actors=${HOT_ACTORS}`,
    "--log-level=info",
  ], WITH_HEAP_PROBE);
  cleanUp.push(() => server.kill());
  const client = await createClient({ url: redis.url }).connect();
  cleanUp.push(() => client.close());

  const usedByRedis = async () =>
    Number(/used_memory_dataset:(\d+)/.exec(await client.info("memory"))?.[1]);
  const gauge = async (name: string) => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1]);
  };
  const suspend = async (group: string, count: number) => {
    const numbers = Array.from({ length: count }, (_, number) => number).values();
    await Promise.all(Array.from({ length: 16 }, async () => {
      for (const number of numbers) {
        const workflow = {
          metadata: { name: `${group}-${number}` },
          spec: {
            entrypoint: "main",
            templates: [{ name: "main", suspend: { duration: "240h" } }],
          },
        };
        const { status } = await call(server.url, "POST", WORKFLOWS, { workflow });
        expect(status).toBe(200);
      }
    }));
  };

  const longRest = () =>
    expect.poll(() => gauge("sluice_actors_hot"), REST).toBeLessThanOrEqual(RESTING);

  // Enough to fill all caches and to have the code compiled.
  await suspend("first", 1_200);
  await longRest();
  const heapBefore = await heapAfterCollection(server);
  const redisBefore = await usedByRedis();
  await suspend("many", COUNT);
  expect(await gauge("sluice_actors_hot")).toBeLessThanOrEqual(HOT_ACTORS);
  await longRest();
  const redisBytes = (await usedByRedis() - redisBefore) / COUNT;
  const heapBytes = (await heapAfterCollection(server) - heapBefore) / COUNT;
  const timers = await gauge("sluice_timers");

  expect(timers).toBeGreaterThan(0);
  expect(timers).toBeLessThanOrEqual(SHARDS * TIMERS);
  expect(redisBytes).toBeLessThan(MAX_REDIS_BYTES);
  expect(heapBytes).toBeLessThan(MAX_HEAP_BYTES);
  for (const name of ["first-0", "many-0", `many-${COUNT - 1}`]) {
    const body = { namespace: "default", name, nodeFieldSelector: "templateName=main" };
    const { status } = await call(server.url, "PUT", `${WORKFLOWS}/${name}/resume`, body);
    expect(status).toBe(200);
    await expect.poll(async () => {
      const { body } = await call(server.url, "GET", `${WORKFLOWS}/${name}`);
      return (body["status"] as { phase?: string }).phase;
    }).toBe("Succeeded");
  }
});
