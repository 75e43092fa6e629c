// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What workflows cost that only wait, on this machine:
 *
 *   WAITING=100000 deno run -A bench/waiting.ts
 *
 * Starts two services, each with one replica and its own Redis (everysec), and warms both up in the same way. Then it
 * suspends 100 workflows in one and WAITING in the other. It prints the memory of both replicas, in use and after a
 * garbage collection, the bytes of Redis for each workflow, and the time of a resume in both services, alternating.
 * Then it restarts the replica with the many workflows and prints how long that takes and what it needs. DURATION=1
 * gives every suspension a time limit, so that a timer waits with it. The server runs on the runtime that runs this
 * program; FLAGS are added to its command line.
 */
import process from "node:process";
import { createClient } from "redis";
import { type RedisServer, startRedisServer } from "../test/support/redis_server.ts";
import {
  heapAfterCollection,
  residentMib,
  WITH_HEAP_PROBE,
} from "../test/support/server_memory.ts";
import { type ServerProcess, startServer } from "../test/support/server_process.ts";
import { quantile } from "../test/support/quantile.ts";

const COUNT = Number(process.env["WAITING"] ?? 2_000);
const HAS_TIMER = process.env["DURATION"] === "1";
const FLAGS = (process.env["FLAGS"] ?? "").split(" ").filter((flag) => flag !== "");
/** Suspended in the service that serves as the comparison. */
const FEW = 100;
/** Concurrent submits, and concurrent resumes. */
const SUBMITS = 16;
const RESUMES = 4;
/** Rounds over both services, and resumes in each round. */
const TURNS = 20;
const RESUMED = 50;

const MIB = 2 ** 20;

interface Service {
  redis: RedisServer;
  server: ServerProcess;
  flags: string[];
}

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

const root = ({ server }: Service) => `${server.url}/api/v1/workflows/bench`;

function submit(service: Service, names: string[]): Promise<void> {
  return inFlight(
    names,
    SUBMITS,
    (name) => ask(root(service), "POST", { workflow: manifest(name) }),
  );
}

/** Resumes these workflows; resolves with the time of each resume, ms. */
async function resume(service: Service, names: string[]): Promise<number[]> {
  const times: number[] = [];
  await inFlight(names, RESUMES, async (name) => {
    const startedAt = performance.now();
    await ask(`${root(service)}/${name}/resume`, "PUT", {
      nodeFieldSelector: `inputs.parameters.uuid.value=${name}`,
    });
    times.push(performance.now() - startedAt);
  });
  return times;
}

function quantiles(times: number[]): string {
  const at = (share: number) => quantile(times, share).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (${times.length})`;
}

const names = (group: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${group}-${i}`);

/** Takes some items of a list at even distances. */
function takeSpread(list: string[], count: number): string[] {
  const step = Math.max(1, Math.floor(list.length / count));
  const taken = list.filter((_, index) => index % step === 0).slice(0, count);
  const gone = new Set(taken);
  list.splice(0, list.length, ...list.filter((name) => !gone.has(name)));
  return taken;
}

const settled = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

async function startService(): Promise<Service> {
  const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "everysec"]);
  const flags = [`--store=${redis.url}`, "--durability=everysec", "--log-level=warn", ...FLAGS];
  const server = await startServer([...flags, "--log-level=info"], WITH_HEAP_PROBE);
  const service = { redis, server, flags };
  for (let round = 0; round < 5; round++) {
    const some = names(`first-${round}`, 200);
    await submit(service, some);
    await resume(service, some);
  }
  return service;
}

function tell(few: Service, many: Service, when: string): void {
  const [a, b] = [residentMib(few.server), residentMib(many.server)];
  console.log(
    `${when}: ${a.toFixed(0)} MiB resident with few, ${b.toFixed(0)} with many, ` +
      `${(b - a).toFixed(0)} more`,
  );
}

async function tellHeaps(few: Service, many: Service, count: number): Promise<void> {
  const [a, b] = [await heapAfterCollection(few.server), await heapAfterCollection(many.server)];
  console.log(
    `heap after a collection: ${(a / MIB).toFixed(1)} and ${(b / MIB).toFixed(1)} MiB, ` +
      `${((b - a) / count).toFixed(0)} bytes for each`,
  );
}

const few = await startService();
const many = await startService();
const client = await createClient({ url: many.redis.url }).connect();
const usedMemory = async () => Number(/used_memory:(\d+)/.exec(await client.info("memory"))?.[1]);
await settled(3);
tell(few, many, "warmed up, idle");

await submit(few, names("few", FEW));
const fewLeft = names("few", FEW);
const before = await usedMemory();
const manyLeft = names("many", COUNT);
const startedAt = performance.now();
await submit(many, manyLeft);
console.log(`suspended ${COUNT} in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
tell(few, many, "at once");
for (const seconds of [3, 12, 45]) {
  await settled(seconds);
  tell(few, many, `after ${seconds} s more`);
}
const bytes = (await usedMemory() - before) / COUNT;
console.log(`Redis: ${Math.round(bytes)} bytes for each, its feed included`);

const times: Record<"few" | "many", number[]> = { few: [], many: [] };
let refilled = FEW;
for (let turn = 0; turn < TURNS; turn++) {
  times.few.push(...await resume(few, takeSpread(fewLeft, RESUMED)));
  times.many.push(...await resume(many, takeSpread(manyLeft, RESUMED)));
  const more = Array.from({ length: RESUMED }, () => `few-${refilled++}`);
  await submit(few, more);
  fewLeft.push(...more);
}
console.log(`resume with ${FEW} suspended: ${quantiles(times.few)}`);
console.log(`resume with ${manyLeft.length} suspended: ${quantiles(times.many)}`);
tell(few, many, "after the resumes");
await tellHeaps(few, many, manyLeft.length);
tell(few, many, "after a collection");

await many.server.stop();
const restartedAt = performance.now();
many.server = await startServer([...many.flags, "--log-level=info"], WITH_HEAP_PROBE);
const ms = Math.round(performance.now() - restartedAt);
console.log(`start with ${manyLeft.length} suspended: ${ms} ms`);
await settled(3);
tell(few, many, "started anew");
console.log(`resume after the start: ${quantiles(await resume(many, takeSpread(manyLeft, 200)))}`);

client.destroy();
for (const { server, redis } of [few, many]) {
  await server.stop();
  await redis.stop();
}
