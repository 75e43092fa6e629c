// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What Redis holds after many workflows have ended and moved into the archive:
 *
 *   [JOBS=100000] [LIVE=2000] [IDLE=150] deno run -A bench/moved.ts
 *
 * A server with a SQLite archive (`--keep-finished 1s`) holds LIVE workflows that wait, so that the store is not empty. It is
 * warmed up with a tenth of JOBS, and then JOBS more are submitted, resumed and moved. Before and after, it waits until
 * everything that ended has left the store, and IDLE seconds more, because the store remembers a move for two minutes. Then
 * it prints what Redis holds. It fails if that has grown by more than 5 %, or if the archive has not exactly what ended.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createClient } from "redis";
import { startRedisServer } from "../test/support/redis_server.ts";
import { startServer } from "../test/support/server_process.ts";

const JOBS = Number(process.env["JOBS"] ?? 100_000);
const LIVE = Number(process.env["LIVE"] ?? 2_000);
const IDLE = Number(process.env["IDLE"] ?? 150);
const WARM_UP = Math.ceil(JOBS / 10);
const WIDTH = 16;
const MOST_GROWTH = 1.05;
const MIB = 2 ** 20;

const folder = mkdtempSync(join(tmpdir(), "sluice-moved-"));
const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "everysec"]);
const server = await startServer([
  ...[`--store=${redis.url}`, "--durability=everysec"],
  ...[`--archive-store=sqlite:${folder}/archive`, "--keep-finished=1s"],
]);
const client = await createClient({ url: redis.url }).connect();

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

async function ask(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${server.url}/api/v1/${path}`, {
    method,
    headers: { "content-type": "application/json", prefer: "return=minimal" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

async function each(group: string, count: number, act: (name: string) => Promise<unknown>) {
  const left = Array.from({ length: count }, (_, i) => `${group}-${i}`).values();
  await Promise.all(Array.from({ length: WIDTH }, async () => {
    for (const name of left) await act(name);
  }));
}

const submit = (name: string) =>
  ask("POST", "workflows/bench", {
    workflow: {
      metadata: { name },
      spec: {
        entrypoint: "wait",
        arguments: { parameters: [{ name: "uuid", value: name }] },
        templates: [{ name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} }],
      },
    },
  });

async function run(name: string): Promise<void> {
  await submit(name);
  await ask("PUT", `workflows/bench/${name}/resume`, {
    nodeFieldSelector: `inputs.parameters.uuid.value=${name}`,
  });
}

async function archived(): Promise<number> {
  const { items } = await ask("GET", "archived-workflows-counts?namespace=bench") as {
    items?: { count: number | string }[];
  };
  return (items ?? []).reduce((sum, { count }) => sum + Number(count), 0);
}

/** Resolves with the bytes that Redis uses once everything that ended has been moved. */
async function settled(ended: number): Promise<number> {
  while (await archived() < ended) {
    console.log(`moved ${await archived()} of ${ended}`);
    await pause(5);
  }
  await pause(IDLE);
  const keys = await client.dbSize();
  const used = Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
  console.log(
    `${ended} ended and moved: Redis holds ${(used / MIB).toFixed(2)} MiB in ${keys} keys`,
  );
  return used;
}

await each("live", LIVE, submit);
await each("first", WARM_UP, run);
const before = await settled(WARM_UP);
const startedAt = performance.now();
await each("job", JOBS, run);
console.log(`ran ${JOBS} in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`);
const after = await settled(WARM_UP + JOBS);
const growth = after / before;
console.log(`${growth.toFixed(3)} times as much as before`);
const exact = await archived() === WARM_UP + JOBS;

client.destroy();
await server.stop();
await redis.stop();
rmSync(folder, { recursive: true, force: true });
if (growth > MOST_GROWTH || !exact) process.exit(1);
