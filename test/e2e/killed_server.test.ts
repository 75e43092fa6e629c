/**
 * A server on Redis that is killed and started again on the same machine does not wait for its own leases, and finds its
 * steps again although a server elsewhere has their workflows by then.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

/** Longer than this test may take. */
const LEASE_S = 300;

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

function send({ url }: ServerProcess, method: string, path: string, body: object) {
  return fetch(`${url}/api/v1/workflows/default${path}`, { method, body: JSON.stringify(body) });
}

test.skipIf(process.platform !== "linux")(
  "a job that waits is resumed right after the restart",
  async () => {
    const redis = await startRedisServer();
    cleanUp.push(() => redis.stop());
    const flags = [`--store=${redis.url}`, `--lease-ttl=${LEASE_S}s`];
    const first = await startServer(flags);
    cleanUp.push(() => first.kill());
    const spec = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
    const made = await send(first, "POST", "", { workflow: { metadata: { name: "job" }, spec } });
    expect(made.status).toBe(200);

    await first.kill();
    const second = await startServer(flags);
    cleanUp.push(() => second.kill());
    const resumed = await send(second, "PUT", "/job/resume", {});
    expect(resumed.status).toBe(200);
  },
);

/** Steps that run as processes of this server. */
const STEPS = 6;

async function phasesOf({ url }: ServerProcess): Promise<string[]> {
  const response = await fetch(`${url}/api/v1/workflows/default`);
  const { items } = await response.json() as { items: { status: { phase: string } }[] };
  return items.map(({ status }) => status.phase);
}

test(
  "steps go on when their server comes back, though another machine has their workflows",
  async () => {
    const redis = await startRedisServer();
    cleanUp.push(() => redis.stop());
    const folder = mkdtempSync(join(tmpdir(), "sluice-killed-"));
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
    const begin = async (place: string) => {
      const work = `--work-dir=${join(folder, place)}`;
      const server = await startServer([`--store=${redis.url}`, "--lease-ttl=1s", work]);
      cleanUp.push(() => server.kill());
      return server;
    };
    const first = await begin("first");
    const marks = join(folder, "marks");
    const source = `echo {{workflow.name}} >> ${marks}; sleep 8`;
    const script = { image: "sh", command: ["sh"], source };
    const spec = { entrypoint: "main", templates: [{ name: "main", script }] };
    for (let step = 0; step < STEPS; step++) {
      await send(first, "POST", "", { workflow: { metadata: { name: `job-${step}` }, spec } });
    }
    const started = () => readFileSync(marks, "utf8").trim().split("\n").length;
    await expect.poll(started, { timeout: 5_000 }).toBe(STEPS);

    await first.kill();
    const other = await begin("other");
    // By then it has all shards, and has seen that the first server is gone.
    await expect.poll(async () => (await send(other, "PUT", "/job-0/resume", {})).status, {
      timeout: 10_000,
    }).toBe(200);
    expect(await phasesOf(other)).toEqual(Array(STEPS).fill("Running"));
    await begin("first");
    await expect.poll(() => phasesOf(other), { timeout: 30_000, interval: 200 })
      .toEqual(Array(STEPS).fill("Succeeded"));
    expect(started()).toBe(STEPS);
  },
  90_000,
);
