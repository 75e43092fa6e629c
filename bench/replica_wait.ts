// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What `--redis-wait` costs on this machine:
 *
 *   deno run -A bench/replica_wait.ts
 *
 * One Redis with one replica, both with `everysec`. Two stores on it, one that waits for the replica and one that doesn't, take turns:
 * one commit after the other, and commits of 16 shards at the same time.
 */
import { partTexts } from "../src/base/part_text.ts";
import { openRedisStore } from "../src/store/redis/store.ts";
import type { Store } from "../src/store/port.ts";
import { acquired, changeOf, commitOf } from "../test/contract/store/store_setting.ts";
import { ask } from "../test/support/redis_cluster.ts";
import { until } from "../test/support/until.ts";
import { startRedisServer } from "../test/support/redis_server.ts";
import { quantile } from "../test/support/quantile.ts";

const ROUNDS = 20;
const SINGLE = 100;
const SHARDS = 16;
const EACH = 60;
const LOG = ["--appendonly", "yes", "--appendfsync", "everysec", "--repl-diskless-sync-delay", "0"];

const master = await startRedisServer(LOG);
const replica = await startRedisServer([...LOG, "--replicaof", "127.0.0.1", String(master.port)]);
const isUp = async () =>
  (await ask(replica.url, ["INFO", "replication"])).includes("link_status:up");
await until(isUp);

interface Side {
  store: Store;
  epochs: number[];
  times: number[];
  together: number[];
}

async function side(prefix: string, replicas: number): Promise<Side> {
  const wait = replicas === 0 ? undefined : { replicas, timeoutMs: 1_000 };
  const store = await openRedisStore({ url: `${master.url}?prefix=${prefix}:`, wait });
  const epochs = await Promise.all(Array.from({ length: SHARDS }, (_, at) => acquired(store, at)));
  return { store, epochs, times: [], together: [] };
}

async function commit({ store, epochs }: Side, shard: number, at: number): Promise<void> {
  const put = { h: "x".repeat(500), "n:1": "y".repeat(500) };
  const actors = [changeOf(`wf/a/${shard}-${at % 100}`, { put: partTexts(put) })];
  await store.shards.commit(commitOf(shard, epochs[shard] ?? 0, { actors }));
}

async function round(one: Side): Promise<void> {
  for (let at = 0; at < SINGLE; at++) {
    const startedAt = performance.now();
    await commit(one, 0, at);
    one.times.push(performance.now() - startedAt);
  }
  const startedAt = performance.now();
  await Promise.all(one.epochs.map(async (_, shard) => {
    for (let at = 0; at < EACH; at++) await commit(one, shard, at);
  }));
  one.together.push(SHARDS * EACH / (performance.now() - startedAt) * 1_000);
}

const sides = { "without": await side("a", 0), "--redis-wait 1": await side("b", 1) };
for (let at = 0; at < ROUNDS; at++) for (const one of Object.values(sides)) await round(one);
for (const [name, { times, together }] of Object.entries(sides)) {
  const at = (share: number) => quantile(times, share).toFixed(2);
  const rate = quantile(together, 0.5);
  console.log(
    `${name}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms; ${rate.toFixed(0)} commits/s together`,
  );
}
for (const { store } of Object.values(sides)) await store.close();
await Promise.all([replica.stop(), master.stop()]);
