/** Workflows that wait in a store of a program without the index of waits: they are found once somebody asks. */
import { createClient } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Workflow } from "../../../../src/spec/manifest.ts";
import { ACTOR_FIELD, SHARD_KEY } from "../../../../src/store/redis/keys.ts";
import { WAIT_TERM } from "../../../../src/store/list_query.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { type Instance, startInstance } from "../../../support/api_server.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";

const SUSPENDED = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };

let redis: RedisServer;
let instance: Instance;
beforeAll(async () => {
  redis = await startRedisServer();
  instance = await start();
});
afterAll(async () => {
  await instance.stop();
  await redis.stop();
});

async function start(): Promise<Instance> {
  return await startInstance({
    store: await openRedisStore({ url: `${redis.url}?layout=2` }),
    gatekeeper: { server: true, authenticators: [] },
    executors: [],
  });
}

async function send(path: string, body?: object): Promise<Response> {
  const method = body === undefined ? "GET" : "POST";
  const response = await instance.fetch(
    new Request(`http://127.0.0.1/api/v1/${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
  expect(response.status).toBe(200);
  return response;
}

async function waiting(): Promise<string[]> {
  const list = await (await send("workflows/a?waiting=true")).json() as {
    items: Workflow[] | null;
  };
  return (list.items ?? []).map(({ metadata }) => metadata.name ?? "").sort();
}

/** Writes index entries and sets as the earlier program did; returns how many. */
async function forgetWaits(): Promise<number> {
  const client = createClient({ url: redis.url });
  await client.connect();
  let count = 0;
  for (const key of await client.keys(`*:${SHARD_KEY.actor}*`)) {
    const entry = JSON.parse(await client.hGet(key, ACTOR_FIELD.index) ?? "[]") as unknown[];
    if (entry.length < 7) continue;
    await client.hSet(key, ACTOR_FIELD.index, JSON.stringify(entry.slice(0, 6)));
    count++;
  }
  const sets = await client.keys(`*:${SHARD_KEY.term}${WAIT_TERM}`);
  if (sets.length > 0) await client.del(sets);
  await client.close();
  return count;
}

test("the first list of what waits begins to look for them, once for each store", async () => {
  const names = Array.from({ length: 120 }, (_, at) => `old-${String(at).padStart(3, "0")}`);
  for (const name of names) {
    await send("workflows/a", { workflow: { metadata: { name }, spec: SUSPENDED } });
  }
  await instance.stop();
  expect(await forgetWaits()).toBe(names.length);

  instance = await start();
  expect((await waiting()).length).toBeLessThan(names.length);
  await expect.poll(waiting, { timeout: 20_000 }).toEqual(names);
  await instance.stop();

  // The store remembers that nothing is left to be found.
  expect(await forgetWaits()).toBe(names.length);
  instance = await start();
  expect(await waiting()).toEqual([]);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await waiting()).toEqual([]);
});
