/**
 * Three replicas on one Redis while random ones are killed, frozen or told to stop, and come back. Verdict from the ledger
 * alone.
 *
 * SLUICE_FAULTS: number of faults (default 6), SLUICE_KILL_WORKFLOWS: workflows (default 200).
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { emptyLedger, runJob } from "../support/async_jobs.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { seededFraction } from "../support/seeded_ids.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const FAULTS = Number(process.env["SLUICE_FAULTS"] ?? 6);
const WORKFLOWS = Number(process.env["SLUICE_KILL_WORKFLOWS"] ?? 200);
const SEED = Number(process.env["SLUICE_SEED"] ?? Date.now() % 1_000_000);
const CLIENTS = 20;
const TTL_MS = 1_000;

const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("replicas that die, freeze or leave lose and repeat nothing", async () => {
  const random = seededFraction(SEED);
  const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "always"]);
  cleanUp.push(() => redis.stop());
  const servers: ServerProcess[] = [];
  // One machine, one folder: processes of a dead replica are found again by the others.
  const folder = await mkdtemp(join(tmpdir(), "sluice-replica-"));
  cleanUp.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const start = async (index: number, port = 0) => {
    const flags = [`--store=${redis.url}`, `--work-dir=${folder}`, `--lease-ttl=${TTL_MS}ms`];
    servers[index] = await startServer([...flags, `--port=${port}`]);
  };
  await Promise.all([0, 1, 2].map((index) => start(index)));
  cleanUp.push(() => Promise.all(servers.map((server) => server.kill())));

  const ledger = emptyLedger();
  let next = 0;
  let faults = 0;
  const isAllowed = () => next < WORKFLOWS * (faults + 1) / (FAULTS + 1);
  const anyUrl = () => servers[Math.floor(random() * servers.length)]?.url ?? "";
  const client = async () => {
    while (next < WORKFLOWS) {
      if (isAllowed()) await runJob(anyUrl, `job-${next++}`, ledger);
      else await wait(20);
    }
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, client));
  for (; faults < FAULTS; faults++) {
    await wait(100 + random() * 900);
    const index = Math.floor(random() * servers.length);
    const victim = servers[index];
    if (!victim) continue;
    const fault = random();
    if (fault < 0.4) {
      await victim.kill();
      await start(index, victim.port);
    } else if (fault < 0.7) {
      expect(await victim.stop(), "exit status after SIGTERM").toBe(0);
      await start(index, victim.port);
    } else {
      victim.signal("SIGSTOP");
      await wait(TTL_MS * 3);
      victim.signal("SIGCONT");
    }
  }
  await clients;
  expect(ledger.violations, `seed ${SEED}`).toEqual([]);
  expect(ledger.resumed.size).toBeGreaterThan(WORKFLOWS / 2);
}, 240_000);
