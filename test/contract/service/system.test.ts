/** How the deployment is, as the API tells it. */
import { afterEach, expect, test } from "vitest";
import { startInstance } from "../../support/api_server.ts";
import { openMemoryStore } from "../../../src/store/memory/store.ts";
import { unavailable } from "../../../src/base/problem.ts";

type Instance = Awaited<ReturnType<typeof startInstance>>;
let instance: Instance;
afterEach(() => instance.stop());

const GATE = { gatekeeper: { server: true, authenticators: [] }, executors: [] };
const ask = async () => {
  const response = await instance.fetch(new Request("http://app/api/v1/system"));
  return { status: response.status, body: await response.json() as Record<string, unknown> };
};

test("names replicas, shards, store and queue", async () => {
  instance = await startInstance(GATE);
  await expect.poll(async () => (await ask()).body["replicas"], { timeout: 5_000, interval: 300 })
    .toMatchObject([{
      name: "test",
      answeredAfterMs: 0,
      shards: [0, 1, 2, 3, 4, 5, 6, 7],
      tasks: 0,
    }]);
  expect((await ask()).body).toMatchObject({
    version: "v0.0.0",
    shards: 8,
    store: {
      kind: "memory",
      durability: { asked: "always", promised: expect.any(String) },
      answeredAfterMs: expect.any(Number),
    },
    events: { queued: 0, capacity: 64 },
  });
});

test("a store that does not answer is part of the answer", async () => {
  const store = openMemoryStore();
  const gone = () => Promise.reject(unavailable("the store is gone"));
  instance = await startInstance({
    ...GATE,
    store: { ...store, ping: gone, events: { ...store.events, depth: gone } },
  });
  const { status, body } = await ask();
  expect(status).toBe(200);
  expect(body["store"]).toMatchObject({ trouble: "the store is gone" });
  expect(body["events"]).toEqual({ capacity: 64 });
});
