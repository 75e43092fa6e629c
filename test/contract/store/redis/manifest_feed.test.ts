/** How much memory of Redis the changes of manifests take. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Store, VersionTooOld } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { ask } from "../../../support/redis_cluster.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";

const FEED = "sluice:{manifests}:feed";

let server: RedisServer;
let store: Store;
beforeEach(async () => {
  server = await startRedisServer();
  store = await openRedisStore({ url: server.url });
});
afterEach(async () => {
  await store.close();
  await server.stop();
});

async function put(count: number, length: number): Promise<void> {
  const text = "x".repeat(length);
  for (let at = 0; at < count; at++) {
    const manifest = { kind: "ConfigMap", namespace: "a", name: "m", text, labels: {} } as const;
    await store.manifests.put(manifest, "*");
  }
}

test("changes of large manifests leave the feed early, and those who need them are told", async () => {
  const from = await store.query.version();
  await put(400, 100_000);
  const bytes = Number(await ask(server.url, ["MEMORY", "USAGE", FEED, "SAMPLES", "0"]));
  expect(bytes).toBeLessThan(7 << 20);
  await expect(store.query.changes(from)).rejects.toThrow(VersionTooOld);
  const last = await store.query.version();
  await put(1, 10);
  expect((await store.query.changes(last)).map(({ id }) => id)).toEqual(["ConfigMap/a/m"]);
});

test("changes of small manifests stay for long", async () => {
  const from = await store.query.version();
  await put(1_000, 100);
  expect(await ask(server.url, ["XLEN", FEED])).toBe("1000");
  expect((await store.query.changes(from)).length).toBeGreaterThan(0);
});
