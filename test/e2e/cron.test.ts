/** Cron workflows on two replicas, one of which dies: each due time runs once, and none is missed. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { call } from "../support/event_ledger.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

/** Enough for each replica to own some of them, whatever the replicas are called. */
const CRONS = 16;
const EVERY_MS = 2_000;
const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

/** `cron due` of every run that a server has started. */
function runsOf(server: ServerProcess): string[] {
  return server.log.flatMap((line) => {
    if (!line.includes('"decision":"submit"')) return [];
    const { cron, due } = JSON.parse(line) as { cron: string; due: string };
    return [`${cron} ${due}`];
  });
}

test("each due time runs once, also when the replica that owns it is killed", async () => {
  const redis = await startRedisServer(["--appendonly", "yes"]);
  cleanUp.push(() => redis.stop());
  const start = async () => {
    const dir = await mkdtemp(join(tmpdir(), "sluice-cron-"));
    cleanUp.push(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
    const server = await startServer([
      `--store=${redis.url}`,
      `--work-dir=${dir}`,
      "--lease-ttl=1s",
      "--log-level=info",
    ]);
    cleanUp.push(() => server.kill());
    return server;
  };
  const [first, second] = [await start(), await start()];
  for (let i = 0; i < CRONS; i++) {
    const cronWorkflow = {
      metadata: { name: `tick-${i}` },
      spec: {
        schedules: [`@every ${EVERY_MS}ms`],
        successfulJobsHistoryLimit: 1_000,
        workflowSpec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
      },
    };
    const { status } = await call(first.url, "POST", "/api/v1/cron-workflows/default", {
      cronWorkflow,
    });
    expect(status).toBe(200);
  }
  await expect.poll(() => [first, second].every((server) => runsOf(server).length > 3), {
    timeout: 60_000,
  }).toBe(true);
  await first.kill();
  // By the number of each cron workflow, the due times of its workflows.
  const made = async () => {
    const query = "listOptions.labelSelector=workflows.argoproj.io/cron-workflow";
    const { body } = await call(second.url, "GET", `/api/v1/workflows/default?${query}`);
    const names = (body["items"] as { metadata: { name: string } }[])
      .map(({ metadata }) => metadata.name);
    return Array.from(
      { length: CRONS },
      (_, i) =>
        names.filter((name) => name.startsWith(`tick-${i}-`))
          .map((name) => Number(name.split("-")[2])).sort((a, b) => a - b),
    );
  };
  // A run is in the log before its workflow is in the list.
  const counts = (all: number[][]) => all.map((times) => times.length);
  const before = Math.max(...counts(await made()));
  await expect.poll(async () => Math.min(...counts(await made())), { timeout: 60_000 })
    .toBeGreaterThan(before + 3);
  for (const [i, times] of (await made()).entries()) {
    const gaps = new Set(times.slice(1).map((time, index) => time - (times[index] ?? 0)));
    expect([...gaps], `tick-${i}: ${times}`).toEqual([EVERY_MS / 1_000]);
  }
  // What the killed replica had just started is started again: the gaps above show that it made one workflow.
  const timeOf = (run: string) => run.split(" ")[1] ?? "";
  const last = runsOf(first).map(timeOf).sort().at(-1);
  const runs = [...runsOf(first), ...runsOf(second)];
  const repeated = runs.filter((run, index) => runs.indexOf(run) !== index);
  expect(repeated.filter((run) => timeOf(run) !== last)).toEqual([]);
}, 240_000);
