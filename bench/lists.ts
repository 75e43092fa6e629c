// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What a page of 50 costs the server over HTTP, on this machine, with few and with many finished workflows in the store:
 *
 *   STORED=100000 deno run -A bench/lists.ts [redis|sqlite …]
 *
 * Prints CPU milliseconds of the server for each request (its own, not those of Redis), the median time to the answer, and
 * the server's resident memory.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { shardOf } from "../src/actors/actor_ids.ts";
import type { ActorChange, Store } from "../src/store/port.ts";
import { openRedisStore } from "../src/store/redis_store.ts";
import { openSqliteStore } from "../src/store/sqlite_store.ts";
import { startRedisServer } from "../test/support/redis_server.ts";
import { type ServerProcess, startServer } from "../test/support/server_process.ts";

const FEW = 1_000;
const MANY = Number(process.env["STORED"] ?? 5_000);
const REQUESTS = Number(process.env["REQUESTS"] ?? 30);
const SHARDS = 64;
const LABELS = "workflows.argoproj.io/";
const START = Date.UTC(2026, 0, 1);
/** Clock ticks of /proc are 10 ms. */
const TICK_MS = 10;

interface Opened {
  url: string;
  store: Store;
  stop(): Promise<void>;
}

const ADAPTERS: Record<string, () => Promise<Opened>> = {
  async redis() {
    const { url, stop } = await startRedisServer();
    return { url, store: await openRedisStore({ url }), stop };
  },
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), "sluice-lists-"));
    const store = await openSqliteStore({ folder, synchronous: "NORMAL" });
    const stop = () => Promise.resolve(rmSync(folder, { recursive: true }));
    return { url: `sqlite:${folder}`, store, stop };
  },
};

/** A finished workflow of three steps as the engine stores it. */
function change(i: number): ActorChange {
  const name = `async-job-${i}`;
  const uid = `0b5d3c1e-7d0f-4f5b-9a53-${String(i).padStart(12, "0")}`;
  const startedAt = START + 1_000 * Math.floor(i / 20);
  const finishedAt = startedAt + 60_000;
  const labels = {
    [`${LABELS}phase`]: "Succeeded",
    [`${LABELS}completed`]: "true",
    // One in 200 has this value.
    team: `t${i % 200}`,
  };
  const node = (id: string, type: string, order: number) =>
    JSON.stringify({
      schema: 1,
      ...{ id, name: id, displayName: id, type, phase: "Succeeded", role: "member", order },
      ...{ templateName: "wait", templateScope: `local/${name}`, startedAt, finishedAt },
      inputs: { parameters: [{ name: "uuid", value: `job-of-${name}` }] },
    });
  const creationTimestamp = new Date(startedAt).toISOString().replace(".000", "");
  const header = {
    schema: 1,
    metadata: { name, namespace: "bench", uid, labels, generation: 1, creationTimestamp },
    phase: "Succeeded",
    progress: "3/3",
    conditions: [{ type: "PodRunning", status: "False" }, { type: "Completed", status: "True" }],
    ...{ startedAt, finishedAt, sequence: 4, isPrepared: true, machine: "succeeded" },
  };
  const templates = ["trigger", "wait", "finish"].map((template) => ({
    name: template,
    inputs: { parameters: [{ name: "uuid" }] },
    container: { image: "alpine:3.20", command: ["sh", "-c"], args: [`echo ${template}`] },
  }));
  return {
    id: `wf/bench/${name}`,
    put: {
      h: JSON.stringify(header),
      s: JSON.stringify({ schema: 1, spec: { entrypoint: "wait", templates, arguments: {} } }),
      [`n:${name}`]: node(name, "Pod", 1),
      [`n:${name}-1`]: node(`${name}-1`, "Suspend", 2),
      [`n:${name}-2`]: node(`${name}-2`, "Pod", 3),
    },
    drop: [],
    index: {
      ...{ namespace: "bench", name, uid, labels, phase: "Succeeded" },
      ...{ createdAt: startedAt, startedAt, finishedAt },
    },
  };
}

async function fill(store: Store, from: number, to: number): Promise<void> {
  const shards = await store.membership.shardCount(SHARDS);
  const byShard = new Map<number, number[]>();
  for (let i = from; i < to; i++) {
    const shard = shardOf(`wf/bench/async-job-${i}`, shards);
    byShard.set(shard, [...byShard.get(shard) ?? [], i]);
  }
  for (const [shard, all] of byShard) {
    const lease = await store.membership.acquire(shard, "bench", 60_000);
    if (lease === undefined) throw new Error(`Shard ${shard} is held by another replica`);
    while (all.length > 0) {
      await store.shards.commit({
        ...lease,
        actors: all.splice(0, 50).map(change),
        ...{ outboxPut: {}, outboxDrop: [], timersSet: {}, timersClear: [], answers: [] },
      });
    }
    await store.membership.release(lease);
  }
}

interface Page {
  metadata: { continue?: string };
  items: unknown[] | null;
}

const LIST = "/api/v1/workflows/bench?";

async function page(server: ServerProcess, query: string, limit: number, token = "") {
  const answer = await fetch(
    `${server.url}${LIST}${query}&listOptions.limit=${limit}&listOptions.continue=${
      encodeURIComponent(token)
    }`,
  );
  if (!answer.ok) throw new Error(`${query}: ${answer.status} ${await answer.text()}`);
  return await answer.json() as Page;
}

/** Token of the last page. */
async function lastToken(server: ServerProcess, query: string): Promise<string> {
  let last = "";
  for (const limit of [1_000, 50]) {
    for (let next: string | undefined = last; next !== undefined;) {
      const fields = query.includes("fields=") ? "" : "&fields=metadata,items.metadata.name";
      const found: Page = await page(server, query + fields, limit, next);
      const isLast = found.metadata.continue === undefined ||
        (limit > 50 && (found.items ?? []).length < limit);
      if (isLast) break;
      last = found.metadata.continue ?? "";
      next = last;
    }
  }
  return last;
}

function statOf(server: ServerProcess): { cpuMs: number; residentMib: number } {
  const fields = readFileSync(`/proc/${server.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  return {
    cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
    residentMib: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
  };
}

const selector = (text: string) => `&listOptions.labelSelector=${encodeURIComponent(text)}`;
const fieldSelector = (text: string) => `&listOptions.fieldSelector=${encodeURIComponent(text)}`;
const WITHOUT_NODES = "fields=-items.status.nodes";
const QUERIES: Record<string, string> = {
  "all": "",
  "without nodes": WITHOUT_NODES,
  "names only": "fields=metadata,items.metadata.name",
  "label completed=true": WITHOUT_NODES + selector(`${LABELS}completed=true`),
  "label phase in (...)": WITHOUT_NODES + selector(`${LABELS}phase in (Succeeded,Failed)`),
  "label team=t7": WITHOUT_NODES + selector("team=t7"),
  "label team!=t7": WITHOUT_NODES + selector("team!=t7"),
  "name contains": `${WITHOUT_NODES}&nameFilter=Contains${fieldSelector("metadata.name=job-7")}`,
  "name contains, none": `${WITHOUT_NODES}&nameFilter=Contains${fieldSelector("metadata.name=x")}`,
  "created after, few": `${WITHOUT_NODES}&createdAfter=2026-01-01T00:00:48Z`,
  "finished before, few": `${WITHOUT_NODES}&finishedBefore=2026-01-01T00:01:01Z`,
};
const ONLY = process.env["QUERY"];

async function measure(what: string, server: ServerProcess): Promise<void> {
  for (const [name, query] of Object.entries(QUERIES)) {
    if (ONLY !== undefined && !name.includes(ONLY)) continue;
    const last = await lastToken(server, query);
    for (const [which, token] of [["first", ""], ["last", last]] as const) {
      for (let i = 0; i < 5; i++) await page(server, query, 50, token);
      const before = statOf(server).cpuMs;
      const times: number[] = [];
      let items = 0;
      for (let i = 0; i < REQUESTS; i++) {
        const startedAt = performance.now();
        items = (await page(server, query, 50, token)).items?.length ?? 0;
        times.push(performance.now() - startedAt);
      }
      times.sort((a, b) => a - b);
      const cpu = (statOf(server).cpuMs - before) / REQUESTS;
      const median = times[Math.floor(times.length / 2)] ?? 0;
      console.log(
        `${what}: ${name}, ${which} page (${items}): ${cpu.toFixed(1)} ms of CPU, ` +
          `${median.toFixed(1)} ms median`,
      );
    }
  }
  console.log(`${what}: ${statOf(server).residentMib.toFixed(0)} MiB resident`);
}

const names = process.argv.slice(2);
for (const [name, open] of Object.entries(ADAPTERS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const { url, store, stop } = await open();
  let stored = 0;
  let opened = store;
  for (const size of [FEW, MANY]) {
    await fill(opened, stored, size);
    stored = size;
    await opened.close();
    const server = await startServer([`--store=${url}`, "--log-level=info"]);
    await measure(`${name} with ${size}`, server);
    await server.stop();
    opened = url.startsWith("redis")
      ? await openRedisStore({ url })
      : await openSqliteStore({ folder: url.slice("sqlite:".length), synchronous: "NORMAL" });
  }
  await opened.close();
  await stop();
}
process.exit(0);
