/**
 * Events against real servers: nothing that was answered with 200 is lost or done twice, whatever is killed in between;
 * an error in one binding or event affects no other; the bound and the time of the answer hold.
 *
 * SLUICE_LEDGER_EVENTS: events per store that must be accepted (default 2,000; the full run has 20,000).
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import {
  call,
  countWorkflows,
  postEvents,
  prepare,
  queueEmpty,
  submits,
} from "../support/event_ledger.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { seededFraction } from "../support/seeded_ids.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const EVENTS = Number(process.env["SLUICE_LEDGER_EVENTS"] ?? 2_000);
const SEED = Number(process.env["SLUICE_SEED"] ?? Date.now() % 1_000_000);
const CLIENTS = 16;
/** Needs a field that no event has, so it is always an error of its own. */
const BROKEN = submits('int(payload.word) > 0 || payload.word == "x"');
const DELIVERIES = "/api/v1/event-deliveries/default";
const EVENT = "/api/v1/events/default/";
const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "sluice-events-"));
  cleanUp.push(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

async function started(flags: string[]): Promise<ServerProcess> {
  const server = await startServer(["--lease-ttl=1s", ...flags]);
  cleanUp.push(() => server.kill());
  return server;
}

async function ledger(flags: string[]): Promise<void> {
  const random = seededFraction(SEED);
  const all = [...flags, "--event-operation-queue-size=500", `--delivery-count=${4 * EVENTS}`];
  let server = await started(all);
  const { url, port } = server;
  await prepare(url, {
    every: submits("true"),
    even: submits("int(payload.n) % 2 == 0"),
    broken: BROKEN,
    missing: submits("int(payload.n) % 10 == 3", "nowhere"),
  });
  let isPosted = false;
  const posting = postEvents(() => url, EVENTS, CLIENTS).finally(() => isPosted = true);
  let kills = 0;
  while (!isPosted) {
    await new Promise((resolve) => setTimeout(resolve, 500 + random() * 2_500));
    if (isPosted && kills > 0) break;
    await server.kill();
    kills++;
    server = await started([...all, `--port=${port}`]);
  }
  const told = await posting;
  await queueEmpty(url, 240_000);
  const counts = await countWorkflows(url);
  const wrong: string[] = [];
  for (const [n, status] of told) {
    for (const binding of ["every", "even"]) {
      const count = counts.get(`${binding} ${n}`) ?? 0;
      const isMatch = binding === "every" || n % 2 === 0;
      const isRight = !isMatch ? count === 0 : status === 200 ? count === 1 : count <= 1;
      if (!isRight) wrong.push(`${binding} ${n}: answered ${status}, ${count} workflows`);
    }
  }
  const known = [...told.values()].filter((status) => status === 200).length;
  expect(wrong, `seed ${SEED}`).toEqual([]);
  expect(known).toBeGreaterThanOrEqual(EVENTS);
  expect(kills).toBeGreaterThan(0);
  expect([...counts.keys()].every((key) => /^(every|even) \d+$/.test(key))).toBe(true);
  if (process.env["SLUICE_LEDGER_EVENTS"] !== undefined) {
    const figures = { accepted: known, posted: told.size, kills, workflows: counts.size };
    process.stderr.write(`${JSON.stringify(figures)}\n`);
  }
}

test("the ledger of events and workflows holds under SIGKILL (sqlite)", async () => {
  await ledger([`--store=sqlite:${await folder()}`]);
}, 3_600_000);

test("the ledger of events and workflows holds under SIGKILL (redis)", async () => {
  const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "always"]);
  cleanUp.push(() => redis.stop());
  await ledger([`--store=${redis.url}`, `--work-dir=${await folder()}`]);
}, 3_600_000);

test("poison events and broken bindings harm no other event or binding", async () => {
  const server = await started([`--store=sqlite:${await folder()}`]);
  await prepare(server.url, {
    broken: BROKEN,
    costly: submits("len(filter(1..900000, # % 2 == 0)) == 1"),
    every: submits("payload.n != nil"),
    missing: submits("true", "nowhere"),
  });
  const post = async (body: string | Uint8Array<ArrayBuffer>) => {
    const response = await fetch(server.url + EVENT, { method: "POST", body });
    await response.body?.cancel();
    return response.status;
  };
  const deep = (levels: number) => `{"n":1,"deep":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  expect(await post(deep(400))).toBe(200);
  expect(await post(deep(10_000))).toBe(400);
  expect(await post(deep(100_000))).toBe(413);
  expect(await post(`{"n":2,"text":"${"x".repeat(1_000_000)}"}`)).toBe(200);
  expect(await post(`{"n":3,"text":"${"x".repeat(1_100_000)}"}`)).toBe(413);
  expect(await post('{"n":4,"__proto__":{"word":"x"},"constructor":{"prototype":1}}')).toBe(200);
  const invalid = new Uint8Array([0x7b, 0x22, 0x6e, 0x22, 0x3a, 0x22, 0xff, 0xfe, 0x22, 0x7d]);
  expect(await post(invalid)).toBe(200);
  expect(await post("")).toBe(200);
  expect(await post("17")).toBe(200);
  for (let n = 10; n < 20; n++) expect(await post(JSON.stringify({ n }))).toBe(200);
  await queueEmpty(server.url, 60_000);
  const counts = await countWorkflows(server.url);
  const wanted = [
    "1",
    "2",
    "4",
    "\ufffd\ufffd",
    ...Array.from({ length: 10 }, (_, i) => `${i + 10}`),
  ];
  expect([...counts.keys()].sort()).toEqual(wanted.map((n) => `every ${n}`).sort());
  expect([...counts.values()].every((count) => count === 1)).toBe(true);
  const { body } = await call(server.url, "GET", `${DELIVERIES}?limit=1`);
  const [last] = body["items"] as { state: string; bindings: Record<string, string>[] }[];
  expect(last?.state).toBe("dead");
  const outcome = (name: string) => last?.bindings.find(({ binding }) => binding === name);
  expect(outcome("every")).toMatchObject({ outcome: "submitted" });
  expect(outcome("missing")?.["message"]).toContain('"nowhere" not found');
  expect(outcome("broken")?.["message"]).toMatch(/\(1:\d+\)/);
}, 120_000);

test("503 comes exactly at the bound and goes away by itself", async () => {
  const flags = [`--store=sqlite:${await folder()}`, "--event-operation-queue-size=7"];
  const stalled = await started([...flags, "--event-worker-count=0"]);
  await prepare(stalled.url, { every: submits("true") });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => call(stalled.url, "POST", EVENT, { n })),
  );
  expect(answers.filter(({ status }) => status === 200).length).toBe(7);
  const full = answers.filter(({ status }) => status !== 200);
  for (const { status, body, headers } of full) {
    expect({ status, body }).toEqual({
      status: 503,
      body: { code: 14, message: "operation queue full" },
    });
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  }
  await stalled.stop();
  const working = await started(flags);
  await queueEmpty(working.url, 30_000);
  expect((await call(working.url, "POST", EVENT, { n: 100 })).status).toBe(200);
  await queueEmpty(working.url, 30_000);
  expect((await countWorkflows(working.url)).size).toBe(8);
}, 120_000);

test("the endpoint answers in under 10 seconds when Redis hangs", async () => {
  const redis = await startRedisServer(["--appendonly", "yes"]);
  cleanUp.push(() => redis.stop());
  const server = await started([`--store=${redis.url}`, `--work-dir=${await folder()}`]);
  await prepare(server.url, { every: submits("true") });
  process.kill(redis.pid(), "SIGSTOP");
  const startedAt = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => call(server.url, "POST", EVENT, { n })),
  );
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect([...new Set(answers.map(({ status }) => status))]).toEqual([503]);
  process.kill(redis.pid(), "SIGCONT");
  await expect.poll(
    async () => (await call(server.url, "POST", EVENT, { n: 100 })).status,
    { timeout: 30_000, interval: 500 },
  ).toBe(200);
  await queueEmpty(server.url, 60_000);
  const counts = await countWorkflows(server.url);
  expect(counts.get("every 100")).toBeGreaterThanOrEqual(1);
  for (let n = 0; n < 20; n++) expect(counts.get(`every ${n}`) ?? 0).toBeLessThanOrEqual(1);
}, 120_000);

test(
  "a Redis that is gone is told of in a few lines, however long and often it is tried",
  async () => {
    const redis = await startRedisServer();
    cleanUp.push(() => redis.stop());
    const server = await started([`--store=${redis.url}`, `--work-dir=${await folder()}`]);
    const warnings = () =>
      server.log.filter((line) => /"level":"(warn|error)"/.test(line)).map((line) => {
        const { msg, worker, trouble, err } = JSON.parse(line);
        return [msg, worker, trouble, err?.message].join(" ");
      });
    const before = warnings().length;
    await redis.kill("SIGKILL");
    await expect.poll(() => warnings().length, { timeout: 30_000 }).toBeGreaterThan(before + 5);
    // Everything is tried several times in this time, and would be logged each time.
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    const told = warnings();
    expect(told).toEqual([...new Set(told)]);
    expect(told.length).toBeLessThan(40);
    await redis.start();
    await expect.poll(
      async () => (await call(server.url, "POST", EVENT, { n: 1 })).status,
      { timeout: 30_000, interval: 500 },
    ).toBe(200);
  },
  120_000,
);
