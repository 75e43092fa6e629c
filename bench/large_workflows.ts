// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What very large workflows cost a server, on this machine:
 *
 *   [NODES=100000] [COUNT=3] deno run -A bench/large_workflows.ts [redis|sqlite]
 *
 * Puts COUNT finished workflows with NODES nodes into a store, starts a server on it, and asks for lists, for one of them
 * and for its end, while a probe asks for `/healthz` every few milliseconds: its longest wait is how long the event loop
 * stood still.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { shardOf, workflowActorId } from "../src/actors/actor_ids.ts";
import type { Store } from "../src/store/port.ts";
import { openRedisStore } from "../src/store/redis_store.ts";
import { openSqliteStore } from "../src/store/sqlite_store.ts";
import { manyNodes } from "../test/support/large_workflow.ts";
import { startRedisServer } from "../test/support/redis_server.ts";
import { startServer } from "../test/support/server_process.ts";

const NODES = Number(process.env["NODES"] ?? 100_000);
const COUNT = Number(process.env["COUNT"] ?? 3);
const SHARDS = 64;
/** Parts in a commit. */
const PORTION = 5_000;
const PROBE_EVERY_MS = 5;

async function fill(store: Store): Promise<void> {
  const shards = await store.membership.shardCount(SHARDS);
  for (let i = 0; i < COUNT; i++) {
    const name = `large-${i}`;
    const id = workflowActorId("default", name);
    const shard = shardOf(id, shards);
    const lease = await store.membership.acquire(shard, "bench", 60_000);
    if (lease === undefined) throw new Error("no lease");
    const { parts, index } = manyNodes(name, NODES);
    const keys = Object.entries(parts);
    for (let at = 0; at < keys.length; at += PORTION) {
      const put = Object.fromEntries(keys.slice(at, at + PORTION));
      const change = { id, put, drop: [], ...(at === 0 ? { index } : {}) };
      await store.shards.commit({
        ...lease,
        actors: [{ ...change, silent: true }],
        outboxPut: {},
        outboxDrop: [],
        timersSet: {},
        timersClear: [],
        answers: [],
      });
    }
    await store.membership.release(lease);
  }
  await store.close();
}

async function open(kind: string): Promise<{ flag: string; stop(): Promise<unknown> }> {
  if (kind === "redis") {
    const redis = await startRedisServer();
    await fill(await openRedisStore({ url: redis.url, timeoutMs: 60_000 }));
    return { flag: redis.url, stop: () => redis.stop() };
  }
  const folder = mkdtempSync(join(tmpdir(), "sluice-large-"));
  await fill(await openSqliteStore({ folder, synchronous: "NORMAL" }));
  const stop = () => Promise.resolve(rmSync(folder, { recursive: true }));
  return { flag: `sqlite:${folder}`, stop };
}

for (const kind of process.argv.length > 2 ? process.argv.slice(2) : ["sqlite", "redis"]) {
  const setting = await open(kind);
  const server = await startServer([`--store=${setting.flag}`]);
  const measured = async (title: string, method: string, path: string, body?: string) => {
    let [isOver, block] = [false, 0];
    const probe = (async () => {
      while (!isOver) {
        const at = performance.now();
        await (await fetch(`${server.url}/healthz`)).text();
        block = Math.max(block, performance.now() - at);
        await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
      }
    })();
    const at = performance.now();
    const response = await fetch(`${server.url}/api/v1${path}`, { method, ...(body && { body }) });
    let bytes = 0;
    for await (const chunk of response.body ?? []) bytes += chunk.length;
    const ms = Math.round(performance.now() - at);
    // What goes on after the answer counts too.
    await new Promise((resolve) => setTimeout(resolve, method === "GET" ? 100 : 3_000));
    isOver = true;
    await probe;
    const size = `${(bytes / 1e6).toFixed(1)} MB`;
    const { status } = response;
    console.log(`${kind} ${title}: ${status}, ${ms} ms, ${size}, block ${Math.round(block)} ms`);
  };
  const one = "/workflows/default/large-0";
  await measured("warm up", "GET", "/workflows/nowhere");
  await measured("list", "GET", "/workflows/default");
  await measured("list of fields", "GET", "/workflows/default?fields=items.metadata.name");
  await measured("get", "GET", one);
  await measured("get of fields", "GET", `${one}?fields=metadata.name,status.nodes`);
  await measured("delete", "DELETE", one);
  await measured("resume", "PUT", "/workflows/default/large-1/resume", "{}");
  await measured("delete, in memory", "DELETE", "/workflows/default/large-1");
  await server.stop();
  await setting.stop();
}
