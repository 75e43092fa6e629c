// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What a page of 50 workflows costs on this machine, depending on how many finished ones are stored:
 *
 *   [STORED=100000] [QUERY=name] [REQUESTS=40] deno run -A bench/lists.ts [redis|sqlite]
 *
 * Fills two stores of each kind, one with 1,000 and one with STORED finished workflows, and starts a server on each. It
 * then asks both, alternating, for the first and the last page of every query over HTTP. Costs are the processor time
 * of the server and of Redis, and the time that the client waits. It fails if a page of a bounded query costs more than
 * twice as much in the large store, or if the server keeps more memory.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { continueToken } from "../src/service/continue_token.ts";
import { comparePositions, continueAfter } from "../src/store/list_query.ts";
import type { Store } from "../src/store/port.ts";
import { openRedisStore } from "../src/store/redis/store.ts";
import { openSqliteStore } from "../src/store/sqlite/store.ts";
import {
  finishedJob,
  jobCreatedAt,
  jobName,
  jobTeam,
  storeWorkflows,
} from "../test/support/stored_workflows.ts";
import { startRedisServer } from "../test/support/redis_server.ts";
import {
  heapAfterCollection,
  residentMib,
  WITH_HEAP_PROBE,
} from "../test/support/server_memory.ts";
import { type ServerProcess, startServer } from "../test/support/server_process.ts";
import { quantile } from "../test/support/quantile.ts";
import { processorMs } from "../test/support/used_processor.ts";

const FEW = 1_000;
const STORED = Number(process.env["STORED"] ?? 100_000);
const REQUESTS = Number(process.env["REQUESTS"] ?? 40);
const ONLY = process.env["QUERY"];
const LIMIT = 50;
const LABELS = "workflows.argoproj.io/";
const START = Date.UTC(2026, 0, 1);
const MIB = 2 ** 20;
/** A greater ratio between the stores, or more additional heap, is a failure. */
const MAX_RATIO = 2;
const MAX_HEAP_MIB = 16;

/** A store with this many workflows. */
interface Setting {
  stored: number;
  server: ServerProcess;
  /** Process of the backend, if it has one. */
  backend?: number;
  stop(): Promise<void>;
}

const ADAPTERS: Record<string, (stored: number) => Promise<Setting>> = {
  async redis(stored) {
    const redis = await startRedisServer();
    await fillWith(await openRedisStore({ url: redis.url, timeoutMs: 60_000 }), stored);
    const server = await startServer([`--store=${redis.url}`, "--log-level=info"], WITH_HEAP_PROBE);
    const stop = async () => {
      await server.stop();
      await redis.stop();
    };
    return { stored, server, backend: redis.pid(), stop };
  },
  async sqlite(stored) {
    const folder = mkdtempSync(join(tmpdir(), "sluice-lists-"));
    await fillWith(await openSqliteStore({ folder, durability: "everysec" }), stored);
    const server = await startServer(
      [`--store=sqlite:${folder}`, "--log-level=info"],
      WITH_HEAP_PROBE,
    );
    const stop = async () => {
      await server.stop();
      rmSync(folder, { recursive: true });
    };
    return { stored, server, stop };
  },
};

/** Writes workflows, then closes the store. */
async function fillWith(store: Store, count: number): Promise<void> {
  const startedAt = performance.now();
  await storeWorkflows(store, count, (i) => finishedJob(i));
  await store.close();
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`stored ${count} workflows in ${seconds.toFixed(1)} s`);
}

interface Query {
  name: string;
  text: string;
  /** Which workflows it selects. */
  selects: (i: number) => boolean;
  /** No index covers it: a page reads entries up to the server's bound, so it may be shorter. */
  isScan?: true;
}

const selector = (text: string) => `&listOptions.labelSelector=${encodeURIComponent(text)}`;
const nameFilter = (how: string, name: string) =>
  `&nameFilter=${how}&listOptions.fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
const WITHOUT_NODES = "fields=-items.status.nodes";
const all = () => true;
const QUERIES: Query[] = [
  { name: "all", text: "", selects: all },
  { name: "without nodes", text: WITHOUT_NODES, selects: all },
  { name: "names only", text: "fields=metadata,items.metadata.name", selects: all },
  { name: "completed=true", text: selector(`${LABELS}completed=true`), selects: all },
  { name: "completed!=true", text: selector(`${LABELS}completed!=true`), selects: () => false },
  { name: "phase in (…)", text: selector(`${LABELS}phase in (Succeeded,Failed)`), selects: all },
  { name: "phase=Failed", text: selector(`${LABELS}phase=Failed`), selects: () => false },
  { name: "team=t7", text: selector("team=t7"), selects: (i) => jobTeam(i) === "t7" },
  {
    name: "completed=true,team=t7",
    text: selector(`${LABELS}completed=true,team=t7`),
    selects: (i) => jobTeam(i) === "t7",
  },
  { name: "team!=t7", text: selector("team!=t7"), selects: (i) => jobTeam(i) !== "t7" },
  {
    name: "created after",
    text: "createdAfter=2026-01-01T00:00:40Z",
    selects: (i) => jobCreatedAt(i) >= START + 40_000,
  },
  {
    name: "finished before",
    text: "finishedBefore=2026-01-01T00:01:04Z",
    selects: (i) => jobCreatedAt(i) <= START + 4_000,
  },
  {
    name: "name prefix",
    text: nameFilter("Prefix", "async-job-1"),
    selects: (i) => String(i).startsWith("1"),
    isScan: true,
  },
  {
    name: "name contains, none",
    text: nameFilter("Contains", "x"),
    selects: () => false,
    isScan: true,
  },
];

/** Tokens of the first and of the last full page. */
function tokensOf({ selects }: Query, stored: number): [which: string, token: string][] {
  const places = Array.from({ length: stored }, (_, i) => i).filter(selects)
    .map((i) => ({ createdAt: jobCreatedAt(i), id: `wf/bench/${jobName(i)}` }))
    .sort(comparePositions);
  const before = places.at(-LIMIT - 1);
  if (before === undefined) return [["only", ""]];
  return [["first", ""], ["last", continueToken(continueAfter(before))]];
}

async function ask({ server }: Setting, text: string, token: string): Promise<number> {
  const url = `${server.url}/api/v1/workflows/bench?${text}&listOptions.limit=${LIMIT}` +
    `&listOptions.continue=${token}`;
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${text}: ${answer.status} ${await answer.text()}`);
  const { items } = await answer.json() as { items: unknown[] | null };
  return items?.length ?? 0;
}

interface Cost {
  items: number;
  serverMs: number;
  backendMs: number;
  medianMs: number;
}

async function measure(setting: Setting, text: string, token: string): Promise<Cost> {
  const { server, backend } = setting;
  const used = () => [processorMs(server.pid), backend === undefined ? 0 : processorMs(backend)];
  const [serverBefore = 0, backendBefore = 0] = used();
  const times: number[] = [];
  let items = 0;
  for (let i = 0; i < REQUESTS; i++) {
    const startedAt = performance.now();
    items = await ask(setting, text, token);
    times.push(performance.now() - startedAt);
  }
  const [serverAfter = 0, backendAfter = 0] = used();
  return {
    items,
    serverMs: (serverAfter - serverBefore) / REQUESTS,
    backendMs: (backendAfter - backendBefore) / REQUESTS,
    medianMs: quantile(times, 0.5),
  };
}

const digits = (value: number) => value.toFixed(1).padStart(5);
const textOf = ({ items, serverMs, backendMs, medianMs }: Cost) =>
  `${String(items).padStart(2)} items, ${digits(serverMs)} + ${digits(backendMs)} ms, ${
    digits(medianMs)
  } ms`;

const failures: string[] = [];

async function compare(adapter: string, small: Setting, large: Setting): Promise<void> {
  const settings = [small, large];
  for (const setting of settings) {
    for (let i = 0; i < 100; i++) await ask(setting, QUERIES[i % 8]?.text ?? "", "");
  }
  console.log(
    `\n${adapter}: items, server + backend processor time, median time of a page; ` +
      `${small.stored} stored | ${large.stored} stored | ratio of both times`,
  );
  for (const query of QUERIES) {
    if (ONLY !== undefined && !query.name.includes(ONLY)) continue;
    const tokens = settings.map(({ stored }) => tokensOf(query, stored));
    for (const at of [0, 1]) {
      const places = tokens.map((some) => some[at] ?? some[0] ?? ["", ""]);
      if (at === 1 && places.every(([which]) => which === "only")) continue;
      for (const [i, setting] of settings.entries()) {
        for (let n = 0; n < 5; n++) await ask(setting, query.text, places[i]?.[1] ?? "");
      }
      const costs: Cost[] = [];
      for (const [i, setting] of settings.entries()) {
        costs.push(await measure(setting, query.text, places[i]?.[1] ?? ""));
      }
      const [a, b] = costs;
      if (a === undefined || b === undefined) continue;
      // Ticks are coarse: one more millisecond is no meaningful ratio.
      const processor = (b.serverMs + b.backendMs + 1) / (a.serverMs + a.backendMs + 1);
      const median = (b.medianMs + 1) / (a.medianMs + 1);
      const name = `${query.name}, ${places[1]?.[0]} page`;
      console.log(
        `${name.padEnd(34)} ${textOf(a)} | ${textOf(b)} | ${processor.toFixed(2)} ${
          median.toFixed(2)
        }`,
      );
      const isMore = Math.max(processor, median) > MAX_RATIO;
      if (isMore && query.isScan !== true) failures.push(`${adapter}: ${name}`);
    }
  }
  const heaps: number[] = [];
  for (const { stored, server } of settings) {
    const heap = await heapAfterCollection(server) / MIB;
    heaps.push(heap);
    console.log(
      `${adapter} with ${stored}: heap ${heap.toFixed(1)} MiB after a collection, ` +
        `${residentMib(server).toFixed(0)} MiB resident`,
    );
  }
  if ((heaps[1] ?? 0) > (heaps[0] ?? 0) + MAX_HEAP_MIB) failures.push(`${adapter}: memory`);
}

const names = process.argv.slice(2);
for (const [name, open] of Object.entries(ADAPTERS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const small = await open(FEW);
  const large = await open(STORED);
  await compare(name, small, large);
  await Promise.all([small.stop(), large.stop()]);
}
console.log(
  failures.length === 0 ? "\nall within their bounds" : `\nbeyond: ${failures.join("; ")}`,
);
process.exit(failures.length === 0 ? 0 : 1);
