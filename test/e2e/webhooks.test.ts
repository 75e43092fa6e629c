/**
 * Webhooks from real servers to real receivers: every change of every workflow arrives at least once and in order,
 * whatever is killed and however the receivers behave; those that are well notice nothing of the others.
 *
 * SLUICE_WEBHOOK_WORKFLOWS: workflows of each ledger (default 24).
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { call } from "../support/event_ledger.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import {
  firstOf,
  type Receiver,
  startReceiver,
  type Trouble,
} from "../support/webhook_receivers.ts";

const WORKFLOWS = Number(process.env["SLUICE_WEBHOOK_WORKFLOWS"] ?? 24);
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

/** Two steps that wait a little: four changes. */
const CHANGES = [
  "workflow.started",
  "node.suspended first",
  "node.suspended second",
  "workflow.succeeded",
];
const SPEC = {
  entrypoint: "main",
  templates: [
    {
      name: "main",
      steps: [[{ name: "first", template: "wait" }], [{ name: "second", template: "wait" }]],
    },
    { name: "wait", suspend: { duration: "1" } },
  ],
};

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "sluice-webhooks-"));
  cleanUp.push(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

async function receivers(troubles: readonly Trouble[]): Promise<Receiver[]> {
  const made: Receiver[] = [];
  for (const [index, trouble] of troubles.entries()) {
    const receiver = await startReceiver(`${trouble}-${index}`, trouble, SECRET);
    cleanUp.push(() => receiver.close());
    made.push(receiver);
  }
  return made;
}

/** A folder with the secret and a subscription for each receiver. */
async function manifests(all: readonly Receiver[]): Promise<string> {
  const dir = join(await folder(), "manifests");
  await mkdir(dir);
  const objects: object[] = [
    { apiVersion: "v1", kind: "Secret", metadata: { name: "hooks" }, stringData: { key: SECRET } },
    ...all.map(({ name, url }) => ({
      kind: "Subscription",
      metadata: { name },
      spec: { url, secret: { name: "hooks", key: "key" }, timeout: "1s" },
    })),
  ];
  await writeFile(join(dir, "all.yaml"), objects.map((one) => JSON.stringify(one)).join("\n---\n"));
  return dir;
}

async function started(flags: string[]): Promise<ServerProcess> {
  const server = await startServer([
    "--lease-ttl=1s",
    "--executor=none",
    "--webhook-allow=127.0.0.0/8",
    ...flags,
  ]);
  cleanUp.push(() => server.kill());
  return server;
}

/** Submits until it was answered; a name that exists was submitted by an earlier try. */
async function submit(url: () => string, name: string): Promise<void> {
  for (;;) {
    const workflow = { metadata: { name }, spec: SPEC };
    const answer = await call(url(), "POST", "/api/v1/workflows/default", { workflow })
      .catch(() => undefined);
    if (answer?.status === 200 || answer?.status === 409) return;
    await sleep(100);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Names of workflows whose changes a receiver has not, or not in order. */
function missing(receiver: Receiver, names: readonly string[]): string[] {
  return names.filter((name) => firstOf(receiver, name).join() !== CHANGES.join())
    .map((name) => `${name}: ${firstOf(receiver, name).join()}`);
}

async function expectAll(all: readonly Receiver[], names: readonly string[]): Promise<void> {
  await expect.poll(
    () => Object.fromEntries(all.map((one) => [one.name, missing(one, names)])),
    { timeout: 120_000, interval: 250 },
  ).toEqual(Object.fromEntries(all.map(({ name }) => [name, []])));
  expect(all.map(({ forged }) => forged)).toEqual(all.map(() => 0));
}

/** How long a request that needs nothing takes at most meanwhile, ms: a busy machine delays everything. */
function watchStalls(url: string): () => Promise<number> {
  let [most, isOver] = [0, false];
  const watching = (async () => {
    while (!isOver) {
      const started = performance.now();
      await fetch(url).then((answer) => answer.body?.cancel());
      most = Math.max(most, performance.now() - started);
      await sleep(50);
    }
  })();
  return async () => {
    isOver = true;
    await watching;
    return most;
  };
}

function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `w${index}`);
}

test("every change arrives, in order, whatever replicas and receivers do (redis)", async () => {
  const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "always"]);
  cleanUp.push(() => redis.stop());
  const well = await receivers(["none", "none"]);
  const ill = await receivers(["down", "slow", "fails", "redirects", "mute", "silent"]);
  const flags = [
    `--store=${redis.url}`,
    `--work-dir=${await folder()}`,
    `--manifests=${await manifests([...well, ...ill])}`,
  ];
  const [first] = await Promise.all([started(flags), started(flags)]);
  let last = await started(flags);
  // Until all replicas know the subscriptions.
  await sleep(1_500);
  const stalls = watchStalls(`${first.url}/healthz`);
  const names = namesOf(WORKFLOWS);
  const kills: number[] = [];
  const half = Math.floor(WORKFLOWS / 2);
  for (const name of names.slice(0, half)) await submit(() => first.url, name);
  // So long nothing is killed.
  await expect.poll(() => well.flatMap((one) => missing(one, names.slice(0, half))), {
    timeout: 30_000,
  }).toEqual([]);
  await sleep(1_000);
  for (const [index, name] of names.slice(half).entries()) {
    await submit(() => first.url, name);
    await sleep(50);
    if (index !== 2 && index !== half - 1) continue;
    await last.kill();
    kills.push(Date.now());
    if (index === 2) last = await started(flags);
  }
  await expectAll(well, names);
  for (const one of ill) await one.heal();
  await expectAll(ill, names);
  expect(kills).toHaveLength(2);
  // The others see nothing of it: 1 s, and 5 s at a take-over.
  // What a take-over delivers again is no delay.
  const lags = well.flatMap(({ received }) =>
    received.filter(({ id }, index) => received.findIndex((one) => one.id === id) === index)
  );
  const calm = lags.filter(({ at, lagMs }) => at - lagMs < (kills[0] ?? 0) - 1_000)
    .map(({ lagMs }) => lagMs);
  const figures = {
    received: lags.length,
    calm: calm.length,
    calmMax: Math.max(0, ...calm),
    max: Math.max(...lags.map(({ lagMs }) => lagMs)),
  };
  process.stderr.write(`${JSON.stringify(figures)}\n`);
  expect(figures.calm).toBeGreaterThan(0);
  const slowest = await stalls();
  // A machine on which an empty request takes long takes over late, too.
  expect(figures.calmMax).toBeLessThan(1_000 + 2 * slowest);
  expect(figures.max).toBeLessThan(5_000 + 10 * slowest);
}, 300_000);

test(
  "every change arrives, in order, although the server is killed and started again (sqlite)",
  async () => {
    const all = await receivers(["none", "fails", "down"]);
    const flags = [`--store=sqlite:${await folder()}`, `--manifests=${await manifests(all)}`];
    let server = await started(flags);
    const again = [...flags, `--port=${server.port}`];
    const names = namesOf(Math.ceil(WORKFLOWS / 2));
    let kills = 0;
    for (const [index, name] of names.entries()) {
      await submit(() => server.url, name);
      if (index % 5 !== 3) continue;
      await sleep(kills * 400);
      await server.kill();
      kills++;
      server = await started(again);
    }
    for (const one of all) await one.heal();
    await expectAll(all, names);
    expect(kills).toBeGreaterThan(1);
  },
  300_000,
);
