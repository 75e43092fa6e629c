// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What workflows cost that only wait, on this machine:
 *
 *   WAITING=100000 deno run -A bench/waiting.ts
 *
 * Starts Redis (everysec) and one replica, suspends WAITING workflows over HTTP and prints the replica's memory before and
 * after, bytes of Redis for each, and the time of a resume with 100 suspended and with all of them; then starts the replica
 * again and prints how long it takes and what it needs. DURATION=1 gives every suspension a time limit, so that a timer
 * waits with it. It runs the server on the runtime that runs it.
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { createClient } from "redis";
import { startRedisServer } from "../test/support/redis_server.ts";
import { type ServerProcess, startServer } from "../test/support/server_process.ts";

const COUNT = Number(process.env["WAITING"] ?? 2_000);
const HAS_TIMER = process.env["DURATION"] === "1";
const FLAGS = (process.env["FLAGS"] ?? "").split(" ").filter((flag) => flag !== "");
/** Requests at a time. */
const WIDTH = 16;

function manifest(name: string): object {
  return {
    metadata: { name },
    spec: {
      entrypoint: "wait",
      arguments: { parameters: [{ name: "uuid", value: name }] },
      templates: [{
        name: "wait",
        inputs: { parameters: [{ name: "uuid" }] },
        suspend: HAS_TIMER ? { duration: "240h" } : {},
      }],
    },
  };
}

async function ask(url: string, method: string, body: unknown): Promise<void> {
  const response = await fetch(url, {
    method,
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
}

async function inFlight(names: string[], width: number, act: (name: string) => Promise<unknown>) {
  const left = names.values();
  await Promise.all(Array.from({ length: width }, async () => {
    for (const name of left) await act(name);
  }));
}

const root = (server: ServerProcess) => `${server.url}/api/v1/workflows/bench`;

function submit(server: ServerProcess, names: string[]): Promise<void> {
  return inFlight(names, WIDTH, (name) => ask(root(server), "POST", { workflow: manifest(name) }));
}

/** Resumes these, and tells the median and the 99th percentile of the time it took, in ms. */
async function resume(server: ServerProcess, names: string[]): Promise<[number, number]> {
  const times: number[] = [];
  await inFlight(names, 4, async (name) => {
    const startedAt = performance.now();
    await ask(`${root(server)}/${name}/resume`, "PUT", {
      nodeFieldSelector: `inputs.parameters.uuid.value=${name}`,
    });
    times.push(performance.now() - startedAt);
  });
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(share * (times.length - 1))] ?? 0;
  return [at(0.5), at(0.99)];
}

const names = (group: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${group}-${i}`);

/** Every so many of a list. */
const spread = (list: string[], count: number) =>
  list.filter((_, i) => i % Math.max(1, Math.floor(list.length / count)) === 0).slice(0, count);

/** Resident memory, MiB. */
function residentMib(server: ServerProcess): number {
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 3_000));

const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "everysec"]);
const client = await createClient({ url: redis.url }).connect();
const usedMemory = async () => Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
const flags = [`--store=${redis.url}`, "--durability=everysec", "--log-level=warn", ...FLAGS];
let startedAt = performance.now();
let server = await startServer([...flags, "--log-level=info"]);
console.log(`start of an empty replica: ${Math.round(performance.now() - startedAt)} ms`);
await settled();
const idle = residentMib(server);
console.log(`idle: ${idle.toFixed(0)} MiB resident`);

// The first ones warm the replica up, and leave.
for (let round = 0; round < 5; round++) {
  const few = names(`few-${round}`, 100);
  await submit(server, few);
  const [p50, p99] = await resume(server, few);
  if (round > 2) {
    console.log(`resume with 100 suspended: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
  }
}
await settled();
console.log(`after the first 500: ${residentMib(server).toFixed(0)} MiB resident`);

const before = await usedMemory();
const all = names("many", COUNT);
startedAt = performance.now();
await submit(server, all);
const seconds = (performance.now() - startedAt) / 1000;
console.log(`suspended ${COUNT} in ${seconds.toFixed(0)} s`);
await settled();
const after = residentMib(server);
console.log(
  `with ${COUNT} suspended: ${after.toFixed(0)} MiB resident, ` +
    `${(after - idle).toFixed(0)} MiB more than idle`,
);
const bytes = (await usedMemory() - before) / COUNT;
console.log(`Redis: ${Math.round(bytes)} bytes for each, its feed included`);
for (const _ of [1, 2]) {
  const some = spread(all, 200);
  const [p50, p99] = await resume(server, some);
  console.log(
    `resume with ${all.length} suspended: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
  );
  const gone = new Set(some);
  all.splice(0, all.length, ...all.filter((name) => !gone.has(name)));
}
await server.stop();

startedAt = performance.now();
server = await startServer([...flags, "--log-level=info"]);
console.log(`start with ${all.length} suspended: ${Math.round(performance.now() - startedAt)} ms`);
await settled();
console.log(
  `idle with ${all.length} suspended: ${(residentMib(server) - idle).toFixed(0)} MiB more`,
);
const [p50, p99] = await resume(server, spread(all, 200));
console.log(`resume after the start: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
if (process.env["HOLD"] === "1") {
  console.log(`server ${server.url} pid ${server.pid}, redis ${redis.url}`);
  await new Promise((resolve) => process.once("SIGINT", resolve));
}
console.log(`at the end ${residentMib(server).toFixed(0)} MiB resident`);
await server.stop();
client.destroy();
await redis.stop();
