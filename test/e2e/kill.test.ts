/**
 * The server is killed again and again while workflows of the async-job kind run. Verdict from a ledger alone: every
 * accepted workflow completes, no finished node ever changes, no step is resumed twice.
 *
 * SLUICE_KILLS: kills per store (default 5; the full run has 25), SLUICE_KILL_WORKFLOWS: workflows (default 200).
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { emptyLedger, runJob } from "../support/async_jobs.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { seededFraction } from "../support/seeded_ids.ts";

const KILLS = Number(process.env["SLUICE_KILLS"] ?? 5);
const WORKFLOWS = Number(process.env["SLUICE_KILL_WORKFLOWS"] ?? 200);
const SEED = Number(process.env["SLUICE_SEED"] ?? Date.now() % 1_000_000);
const CLIENTS = 20;
const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

async function killAndCheck(flags: string[]): Promise<void> {
  const random = seededFraction(SEED);
  let server: ServerProcess = await startServer([...flags, "--lease-ttl=1s", "--log-level=info"]);
  cleanUp.push(() => server.kill());
  const { port, url } = server;
  const ledger = emptyLedger();
  let next = 0;
  let kills = 0;
  let isDone = false;
  // Workflows are spread over the kills, so that some run at every one.
  const isAllowed = () => next < WORKFLOWS * (kills + 1) / (KILLS + 1);
  const client = async () => {
    while (next < WORKFLOWS) {
      if (isAllowed()) await runJob(() => url, `job-${next++}`, ledger);
      else await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client)).then(() => isDone = true);
  while (kills < KILLS && !isDone) {
    await new Promise((resolve) => setTimeout(resolve, 50 + random() * 900));
    await server.kill();
    kills++;
    server = await startServer([...flags, `--port=${port}`, "--lease-ttl=1s", "--log-level=info"]);
  }
  await clients;
  expect(ledger.violations, `seed ${SEED}`).toEqual([]);
  expect(ledger.resumed.size).toBeGreaterThan(WORKFLOWS / 2);
  expect(kills, "kills while workflows ran").toBe(KILLS);
}

test("SIGKILL at random moments loses and repeats nothing (sqlite)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-kill-"));
  cleanUp.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  await killAndCheck([`--store=sqlite:${folder}`]);
}, 600_000);

test("SIGKILL at random moments loses and repeats nothing (redis)", async () => {
  const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "always"]);
  cleanUp.push(() => redis.stop());
  const folder = await mkdtemp(join(tmpdir(), "sluice-kill-"));
  cleanUp.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  await killAndCheck([`--store=${redis.url}`, `--work-dir=${folder}`]);
}, 600_000);
