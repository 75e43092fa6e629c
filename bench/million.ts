// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * A store of very many workflows in Redis, a tenth of which are suspended, beside one of 1,000:
 *
 *   LIVE=1000000 deno run -A bench/million.ts
 *
 * The stores are filled directly with copies of two workflows that a server made. Then a server on each of them is asked for
 * pages of the list and resumes workflows that are suspended, in turns. Prints the times, what Redis holds, and the memory of
 * the servers.
 */
import process from "node:process";
import { createClient } from "redis";
import { placeIn } from "../src/actors/record_home.ts";
import type { StoreRecord } from "../src/store/dump.ts";
import { openSource, openTarget } from "../src/store/open_dump.ts";
import { startRedisServer } from "../test/support/redis_server.ts";
import { residentMib } from "../test/support/server_memory.ts";
import { type ServerProcess, startServer } from "../test/support/server_process.ts";
import { quantile } from "../test/support/quantile.ts";

const LIVE = Number(process.env["LIVE"] ?? 20_000);
const FEW = 1_000;
/** One of so many is suspended. */
const SUSPENDED = 10;
const SHARDS = 64;
const TURNS = 40;
const RESUMES = 10;
const PAGES = 25;
const PAGE = 50;
const BATCH = 500;
/** Names of the same length, so that one text can stand for the other. */
const name = (kind: "s" | "d", number: number) => `${kind}-${String(number).padStart(8, "0")}`;
const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

type ActorRecord = Extract<StoreRecord, { type: "actor" }>;

const redis = await startRedisServer([
  ...["--appendonly", "yes", "--appendfsync", "everysec"],
  ...["--auto-aof-rewrite-percentage", "0"],
]);
const addressOf = (prefix: string) => `${redis.url}?prefix=${prefix}:`;

async function call(
  server: ServerProcess,
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.url}/api/v1/workflows/bench${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer}`);
  return JSON.parse(answer) as Record<string, unknown>;
}

/** One suspended workflow and one that is done, as a server stores them. */
async function makePatterns(): Promise<{ suspended: ActorRecord; done: ActorRecord }> {
  const store = addressOf("patterns");
  const server = await startServer([`--store=${store}`, "--executor=none"]);
  const spec = {
    entrypoint: "wait",
    arguments: { parameters: [{ name: "uuid", value: "x" }] },
    templates: [{
      name: "wait",
      inputs: { parameters: [{ name: "uuid", value: "{{workflow.parameters.uuid}}" }] },
      suspend: {},
    }],
  };
  for (const kind of ["s", "d"] as const) {
    await call(server, "POST", "", { workflow: { metadata: { name: name(kind, 0) }, spec } });
  }
  await call(server, "PUT", `/${name("d", 0)}/resume`, {});
  await new Promise((done) => setTimeout(done, 500));
  await server.stop();
  const source = await openSource(store);
  const found: ActorRecord[] = [];
  await source.facts();
  for await (const batch of source.read()) {
    for (const record of batch) if (record.type === "actor") found.push(record);
  }
  await source.close();
  const [suspended, done] = (["s", "d"] as const).map((kind) =>
    found.find(({ actor }) => actor.endsWith(name(kind, 0)))
  );
  if (suspended === undefined || done === undefined) throw new Error("the server made no patterns");
  return { suspended, done };
}

function copyOf(pattern: ActorRecord, kind: "s" | "d", number: number): ActorRecord {
  const uid = uuid(kind === "s" ? number : number + 1e9);
  const { index } = pattern;
  if (index === undefined) throw new Error("a pattern is not listed");
  const renamed = (text: string) =>
    text.replaceAll(name(kind, 0), name(kind, number)).replaceAll(index.uid, uid);
  const parts = Object.fromEntries(
    Object.entries(pattern.parts).map(([key, text]) => [renamed(key), renamed(text)]),
  );
  const createdAt = index.createdAt - number * 100;
  return {
    ...pattern,
    actor: renamed(pattern.actor),
    index: { ...index, name: name(kind, number), uid, createdAt },
    parts,
  };
}

/** Fills a store. */
async function fill(
  prefix: string,
  count: number,
  patterns: Awaited<ReturnType<typeof makePatterns>>,
) {
  const target = await openTarget(addressOf(prefix));
  await target.begin({
    from: "bench",
    state: "bench",
    version: patterns.done.version,
    actors: count,
    shards: SHARDS,
    restart: false,
    shardOf: placeIn(SHARDS),
  });
  let writing: Promise<void> = Promise.resolve();
  for (let from = 0; from < count; from += BATCH) {
    const records = Array.from({ length: Math.min(BATCH, count - from) }, (_, at) => {
      const number = from + at;
      return number % SUSPENDED === 0
        ? copyOf(patterns.suspended, "s", number)
        : copyOf(patterns.done, "d", number);
    });
    await writing;
    writing = target.write(records);
  }
  await writing;
  await target.finish();
  await target.close();
}

interface Side {
  server: ServerProcess;
  /** Numbers of suspended workflows that are still to be resumed, spread over all. */
  left: number[];
  pages: number[];
  labelled: number[];
  resumes: number[];
}

async function openSide(prefix: string, count: number): Promise<Side> {
  const startedAt = performance.now();
  const server = await startServer([`--store=${addressOf(prefix)}`, "--executor=none"]);
  console.log(
    `a server on ${count} is ready after ${Math.round(performance.now() - startedAt)} ms`,
  );
  const all = Math.floor(count / SUSPENDED);
  const wanted = Math.min(all, TURNS * RESUMES);
  const left = Array.from({ length: wanted }, (_, at) => Math.floor(at * all / wanted) * SUSPENDED);
  return { server, left, pages: [], labelled: [], resumes: [] };
}

async function timed(times: number[], work: () => Promise<unknown>): Promise<unknown> {
  const startedAt = performance.now();
  const result = await work();
  times.push(performance.now() - startedAt);
  return result;
}

/** Pages one after the other, with and without a filter. */
async function page(side: Side, from: string): Promise<string> {
  const fields = "fields=metadata,items.metadata.name,items.status.phase";
  const query = `?listOptions.limit=${PAGE}&${fields}`;
  let token = from;
  for (let at = 0; at < PAGES; at++) {
    const path = `${query}&listOptions.continue=${encodeURIComponent(token)}`;
    const answer = await timed(side.pages, () => call(side.server, "GET", path));
    const { metadata } = answer as { metadata: { continue?: string } };
    token = metadata.continue ?? "";
  }
  const running = encodeURIComponent("workflows.argoproj.io/phase=Running");
  const path = `${query}&listOptions.labelSelector=${running}`;
  for (let at = 0; at < 5; at++) await timed(side.labelled, () => call(side.server, "GET", path));
  return token;
}

function quantiles(times: number[]): string {
  const at = (share: number) => quantile(times, share).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (${times.length})`;
}

const client = await createClient({ url: redis.url }).connect();
const used = async () => Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
try {
  const patterns = await makePatterns();
  await fill("few", FEW, patterns);
  const before = await used();
  const startedAt = performance.now();
  await fill("many", LIVE, patterns);
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`filled with ${LIVE} in ${seconds.toFixed(0)} s`);
  const bytes = await used() - before;
  console.log(
    `Redis: ${(bytes / 2 ** 20).toFixed(0)} MiB, ${Math.round(bytes / LIVE)} bytes for each`,
  );

  const few = await openSide("few", FEW);
  const many = await openSide("many", LIVE);
  const sides = { [FEW]: few, [LIVE]: many };
  const tokens: Record<string, string> = {};
  for (let turn = 0; turn < TURNS; turn++) {
    for (const [count, side] of Object.entries(sides)) {
      tokens[count] = await page(side, tokens[count] ?? "");
      for (const number of side.left.splice(0, RESUMES)) {
        await timed(
          side.resumes,
          () => call(side.server, "PUT", `/${name("s", number)}/resume`, {}),
        );
      }
    }
  }
  for (const [count, side] of Object.entries(sides)) {
    console.log(`among ${count}: page of ${PAGE} ${quantiles(side.pages)}`);
    console.log(`  first page with a label ${quantiles(side.labelled)}`);
    console.log(`  resume ${quantiles(side.resumes)}`);
    console.log(`  resident memory of the server ${residentMib(side.server).toFixed(0)} MiB`);
  }
  for (const { server } of Object.values(sides)) await server.stop();
} finally {
  client.destroy();
  await redis.stop();
}
