// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * Figures of the store adapters on this machine:
 *
 *   deno run -A bench/store.ts [commits] [lists] [memory] [redis|redis-always|sqlite|sqlite-normal …]
 *
 * commits: small commits per second (one workflow of 1 KB and a node of 300 bytes, outbox, timer, cursor) with 1, 32
 * and 256 in flight over 64 shards. lists: a page of 50 without its nodes, at 1,000 and at 100,000 stored workflows.
 * memory: bytes of Redis for each of 100,000 suspended workflows (header of 1 KB, 3 nodes of 300 bytes, 4 labels).
 */
import { partTexts } from "../src/base/part_text.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createClient } from "redis";
import type { IndexEntry, ShardCommit, Store } from "../src/store/port.ts";
import { openRedisStore } from "../src/store/redis/store.ts";
import { openSqliteStore } from "../src/store/sqlite/store.ts";
import { startRedisServer } from "../test/support/redis_server.ts";

const SHARDS = 64;
const HEADER = "h".repeat(1_000);
const NODE = "n".repeat(300);
const LABELS = "workflows.argoproj.io/";

interface Opened {
  store: Store;
  close(): Promise<void>;
  usedMemory?: () => Promise<number>;
}

async function openOnRedis(fsync: "everysec" | "always"): Promise<Opened> {
  const server = await startRedisServer(["--appendonly", "yes", "--appendfsync", fsync]);
  const store = await openRedisStore({ url: server.url });
  return {
    store,
    close: async () => {
      await store.close();
      await server.stop();
    },
    usedMemory: async () => {
      const client = await createClient({ url: server.url }).connect();
      const info = await client.info("memory");
      client.destroy();
      return Number(/used_memory:(\d+)/.exec(info)?.[1]);
    },
  };
}

async function openOnSqlite(durability: "always" | "everysec"): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
  const store = await openSqliteStore({ folder, durability });
  return {
    store,
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const ADAPTERS: Record<string, () => Promise<Opened>> = {
  redis: () => openOnRedis("everysec"),
  "redis-always": () => openOnRedis("always"),
  sqlite: () => openOnSqlite("always"),
  "sqlite-normal": () => openOnSqlite("everysec"),
};

function entryOf(i: number, phase: string): IndexEntry {
  return {
    namespace: "argo",
    name: `async-job-${i}`,
    uid: `0b5d3c1e-7d0f-4f5b-9a53-${String(i).padStart(12, "0")}`,
    labels: {
      [`${LABELS}phase`]: phase,
      [`${LABELS}completed`]: String(phase !== "Running"),
      [`${LABELS}creator`]: "system-serviceaccount-argo-default",
      // One in 200 has this value: the selective label of the list benchmark.
      team: `t${i % 200}`,
    },
    phase,
    createdAt: 1_700_000_000_000 + 1_000 * Math.floor(i / 20),
    startedAt: 1_700_000_000_000 + 1_000 * Math.floor(i / 20),
    ...(phase !== "Running" && { finishedAt: 1_700_000_100_000 + 1_000 * i }),
  };
}

function commitOf(
  shard: number,
  epoch: number,
  i: number,
  more: Partial<ShardCommit>,
): ShardCommit {
  return {
    shard,
    epoch,
    actors: [{
      id: `wf/argo/async-job-${i}`,
      put: partTexts({ h: HEADER, "n:a": NODE }),
      drop: [],
      index: entryOf(i, "Running"),
    }],
    outboxPut: {},
    outboxDrop: [],
    timersSet: {},
    timersClear: [],
    answers: [],
    ...more,
  };
}

async function takeShards(store: Store): Promise<number[]> {
  await store.membership.shardCount(SHARDS);
  const epochs: number[] = [];
  for (let shard = 0; shard < SHARDS; shard++) {
    epochs.push((await store.membership.acquire(shard, "bench", 3_600_000))?.epoch ?? 0);
  }
  return epochs;
}

async function inFlight(width: number, count: number, act: (i: number) => Promise<unknown>) {
  let next = 0;
  await Promise.all(Array.from({ length: width }, async () => {
    while (next < count) await act(next++);
  }));
}

async function benchCommits(name: string, open: () => Promise<Opened>): Promise<void> {
  const { store, close } = await open();
  const epochs = await takeShards(store);
  let last = 0;
  for (const width of [1, 32, 256]) {
    const count = width === 1 ? 3_000 : 20_000;
    const begin = last;
    last += count;
    const startedAt = performance.now();
    await inFlight(width, count, (i) => {
      const n = begin + i;
      const shard = n % SHARDS;
      return store.shards.commit(commitOf(shard, epochs[shard] ?? 0, n, {
        outboxPut: { [`o${n}`]: "effect" },
        outboxDrop: [`o${n - 256}`],
        timersSet: { [`t${shard}`]: n },
      }));
    });
    const perSecond = Math.round(count / (performance.now() - startedAt) * 1_000);
    console.log(`${name}: ${perSecond} commits/s with ${width} in flight`);
  }
  await close();
}

async function fill(
  store: Store,
  epochs: number[],
  from: number,
  to: number,
  phase: string,
  nodes: number,
) {
  const put = [{ key: "h", text: HEADER }];
  for (let i = 0; i < nodes; i++) put.push({ key: `n:async-job-1234567890-${i}`, text: NODE });
  await inFlight(64, (to - from) / 20, (batch) => {
    const shard = batch % SHARDS;
    const actors = Array.from({ length: 20 }, (_, i) => {
      const n = from + 20 * batch + i;
      return { id: `wf/argo/async-job-${n}`, put, drop: [], index: entryOf(n, phase) };
    });
    return store.shards.commit(commitOf(shard, epochs[shard] ?? 0, 0, { actors }));
  });
}

async function benchLists(name: string, open: () => Promise<Opened>): Promise<void> {
  const { store, close } = await open();
  const epochs = await takeShards(store);
  const label = (key: string, value: string) => [{ key, operator: "=" as const, values: [value] }];
  const queries = {
    all: {},
    "namespace and completed": {
      namespace: "argo",
      labels: label(`${LABELS}completed`, "true"),
    },
    "selective label": { labels: label("team", "t7") },
    "one name": { namespace: "argo", name: { value: "async-job-7", match: "exact" as const } },
  };
  let stored = 0;
  for (const size of [1_000, 100_000]) {
    await fill(store, epochs, stored, size, "Succeeded", 1);
    stored = size;
    for (const [what, filter] of Object.entries(queries)) {
      const query = { kind: "wf", limit: 50, withoutNodes: true, ...filter } as const;
      let lastToken = "";
      for (let token: string | undefined = "", pages = 0; token !== undefined; pages++) {
        if (pages === 2_001) break;
        lastToken = token;
        const page = await store.query.list({ ...query, continue: token });
        token = page.continue;
      }
      for (const [which, token] of [["first", ""], ["last", lastToken]] as const) {
        const times: number[] = [];
        let items = 0;
        for (let i = 0; i < 41; i++) {
          const startedAt = performance.now();
          items = (await store.query.list({ ...query, continue: token })).items.length;
          times.push(performance.now() - startedAt);
        }
        times.sort((a, b) => a - b);
        const [best, median] = [times[0] ?? 0, times[20] ?? 0].map((ms) => ms.toFixed(2));
        console.log(
          `${name}: ${which} page (${items}) of ${what} at ${size} stored: ${best} ms at best, ${median} median`,
        );
      }
    }
  }
  await close();
}

async function measureMemory(): Promise<void> {
  const { store, close, usedMemory } = await openOnRedis("everysec");
  const epochs = await takeShards(store);
  const before = await usedMemory?.() ?? 0;
  await fill(store, epochs, 0, 100_000, "Running", 3);
  const each = ((await usedMemory?.() ?? 0) - before) / 100_000;
  console.log(`redis: ${Math.round(each)} bytes for each suspended workflow, its feed included`);
  await close();
}

const words = process.argv.slice(2);
const wants = (word: string, group: string[]) =>
  words.includes(word) || !words.some((given) => group.includes(given));
const kinds = ["commits", "lists", "memory"];
const names = Object.keys(ADAPTERS);
for (const [name, open] of Object.entries(ADAPTERS)) {
  if (!wants(name, names)) continue;
  if (wants("commits", kinds)) await benchCommits(name, open);
  if (wants("lists", kinds) && !name.includes("-")) await benchLists(name, open);
}
if (wants("memory", kinds)) await measureMemory();
