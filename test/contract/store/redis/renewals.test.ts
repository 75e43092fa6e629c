/** Renewals of leases: replicas of Redis have each, the append-only file only some. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { redisKeys, SHARD_KEY } from "../../../../src/store/redis/keys.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { parseRedisUrl } from "../../../../src/store/redis/url.ts";
import type { Store } from "../../../../src/store/port.ts";
import { ask } from "../../../support/redis_cluster.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { until } from "../../../support/until.ts";
import { LONG_MS } from "../store_setting.ts";

const RENEWALS = 30;
const LEASE = { shard: 0, epoch: 1 };

let master: RedisServer;
let replica: RedisServer;
let store: Store;
beforeEach(async () => {
  const logged = ["--appendonly", "yes", "--appendfsync", "always"];
  master = await startRedisServer([...logged, "--repl-diskless-sync-delay", "0"]);
  replica = await startRedisServer(["--replicaof", "127.0.0.1", String(master.port)]);
  await until(async () =>
    (await ask(replica.url, ["INFO", "replication"])).includes("link_status:up")
  );
  store = await openRedisStore({ url: master.url });
  await store.membership.shardCount(1);
});
afterEach(async () => {
  await store.close();
  await Promise.all([replica.stop(), master.stop()]);
});

/** Until when the lease is held, as a server of Redis knows it. */
function heldUntil({ url }: RedisServer): Promise<string> {
  const base = redisKeys(parseRedisUrl(url).prefix).shard(LEASE.shard);
  return ask(url, ["HGET", base + SHARD_KEY.meta, "until"]);
}

/** How often the file says until when a lease is held. */
function logged(): number {
  const folder = join(master.folder, "appendonlydir");
  return readdirSync(folder).filter((name) => name.endsWith(".incr.aof"))
    .map((name) => readFileSync(join(folder, name), "latin1").split("until").length - 1)
    .reduce((sum, count) => sum + count, 0);
}

test("a lease that is renewed again and again hardly grows the file, and a replica of Redis knows it", async () => {
  const { membership } = store;
  await membership.acquire(LEASE.shard, "a", LONG_MS);
  for (let i = 0; i < RENEWALS; i++) {
    expect(await membership.renew([LEASE], "a", LONG_MS + i)).toEqual([]);
  }
  // Taken once, and renewed at the turns of ten seconds, of which one may have come meanwhile.
  expect(logged()).toBeGreaterThanOrEqual(1);
  expect(logged()).toBeLessThanOrEqual(3);
  const renewed = await heldUntil(master);
  expect(Number(renewed)).toBeGreaterThan(0);
  await until(async () => await heldUntil(replica) === renewed);
});

test("after a restart of Redis the owner goes on with its lease", async () => {
  const { membership } = store;
  await membership.acquire(LEASE.shard, "a", 500);
  await membership.renew([LEASE], "a", LONG_MS);
  await master.kill("SIGKILL");
  await master.start();
  await until(async () => (await membership.renew([LEASE], "a", LONG_MS)).length === 0);
  expect(await membership.acquire(LEASE.shard, "b", LONG_MS)).toBeUndefined();
});
