/**
 * A store that refuses writes while reads go on: `/readyz` stays 200 and says so, a metric shows it, and both return to
 * normal afterwards.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { openMemoryStore } from "../../../src/store/memory/store.ts";
import { Problem, ProblemCode, unavailable } from "../../../src/base/problem.ts";
import { createLogger } from "../../../src/platform/log.ts";
import { createMetrics } from "../../../src/platform/metrics.ts";
import type { Store } from "../../../src/store/port.ts";
import { watchWrites } from "../../../src/store/write_watch.ts";
import { ManualClock } from "../../support/manual_clock.ts";
import { ask } from "../../support/redis_cluster.ts";
import { startRedisServer } from "../../support/redis_server.ts";
import { smallDisk } from "../../support/small_disk.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";
import { until } from "../../support/until.ts";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

/** What a server says about itself. */
async function toldBy({ url }: ServerProcess) {
  const ready = await fetch(`${url}/readyz`);
  const body = await ready.json() as { status: string; writes?: string; reason?: string };
  const page = await (await fetch(`${url}/metrics`)).text();
  return {
    ...body,
    http: ready.status,
    gauge: /^sluice_store_writes_refused (\S+)$/m.exec(page)?.[1],
  };
}

async function start(store: string): Promise<ServerProcess> {
  const server = await startServer([`--store=${store}`, "--executor=none", "--shards=2"]);
  cleanUp.push(() => server.kill());
  return server;
}

const FINE = { http: 200, status: "ok", gauge: "0" };
const eventually = (server: ServerProcess) =>
  expect.poll(() => toldBy(server), { timeout: 30_000, interval: 100 });

async function statusOf(server: ServerProcess, method: "GET" | "POST"): Promise<number> {
  const answer = await fetch(
    `${server.url}/api/v1/${method === "GET" ? "workflows/n" : "events/n/"}`,
    {
      method,
      ...(method === "POST" && { body: "{}" }),
    },
  );
  await answer.body?.cancel();
  return answer.status;
}

describe("Redis", () => {
  test.each([
    [
      "out of memory",
      /^refused: Redis is out of memory: maxmemory is reached; raise it$/,
      ["CONFIG", "SET", "maxmemory", "1"],
      ["CONFIG", "SET", "maxmemory", "0"],
    ],
    [
      "a read-only replica",
      /^refused: Redis is read-only/,
      ["REPLICAOF", "127.0.0.1", "1"],
      ["REPLICAOF", "NO", "ONE"],
    ],
  ])("%s", async (_name, text, begin, end) => {
    const redis = await startRedisServer();
    cleanUp.push(() => redis.stop());
    const server = await start(redis.url);
    await eventually(server).toMatchObject(FINE);
    await ask(redis.url, begin);
    // Nobody sends a request: the replica notices by itself.
    await eventually(server).toEqual({
      ...FINE,
      writes: expect.stringMatching(text),
      gauge: "1",
    });
    expect(await statusOf(server, "GET")).toBe(200);
    expect(await statusOf(server, "POST")).toBe(503);
    await ask(redis.url, end);
    await eventually(server).toEqual(FINE);
    await expect.poll(() => statusOf(server, "POST"), { timeout: 20_000 }).toBe(200);
  });

  test("that can't save; and one that is gone is a 503", async () => {
    const redis = await startRedisServer();
    cleanUp.push(() => redis.stop());
    const server = await start(redis.url);
    await ask(redis.url, ["CONFIG", "SET", "save", "3600 1"]);
    rmSync(redis.folder, { recursive: true });
    await ask(redis.url, ["BGSAVE"]);
    await until(async () =>
      (await ask(redis.url, ["INFO", "persistence"])).includes("bgsave_status:err")
    );
    await eventually(server).toMatchObject({
      http: 200,
      writes: "refused: Redis refuses writes because it cannot save to its disk",
      gauge: "1",
    });
    await ask(redis.url, ["CONFIG", "SET", "save", ""]);
    await eventually(server).toEqual(FINE);
    mkdirSync(redis.folder, { recursive: true });
    await redis.kill("SIGKILL");
    await eventually(server).toMatchObject({ http: 503, reason: expect.stringMatching(/Redis/) });
  });
});

test("SQLite on a full disk", async (context) => {
  const disk = smallDisk(2);
  if (disk === undefined) return context.skip("no tmpfs can be mounted here");
  cleanUp.push(() => disk.remove());
  const server = await start(`sqlite:${join(disk.folder, "store")}`);
  await eventually(server).toMatchObject(FINE);
  disk.fill();
  // Lease renewals fit into the free space of the log; requests do not.
  await expect.poll(async () => {
    const body = JSON.stringify({ text: "x".repeat(100_000) });
    const answer = await fetch(`${server.url}/api/v1/events/n/`, { method: "POST", body });
    await answer.body?.cancel();
    return answer.status;
  }, { timeout: 20_000 }).toBe(503);
  await eventually(server).toEqual({
    ...FINE,
    writes: expect.stringMatching(/^refused: The store cannot be used: .*(full|I\/O)/),
    gauge: "1",
  });
  expect(await statusOf(server, "GET")).toBe(200);
  const spec = {
    entrypoint: "main",
    arguments: { parameters: [{ name: "p", value: "x".repeat(100_000) }] },
    templates: [{ name: "main", suspend: {} }],
  };
  const refused = await fetch(`${server.url}/api/v1/workflows/n`, {
    method: "POST",
    body: JSON.stringify({ workflow: { metadata: { name: "large" }, spec } }),
  });
  expect(await refused.json()).toMatchObject({
    code: 14,
    message: expect.stringMatching(
      /^The store cannot be used: .*(full|I\/O).*; the request may still be done$/,
    ),
  });
  disk.free();
  await eventually(server).toEqual(FINE);
});

describe("watchWrites()", () => {
  /** A store that refuses writes on demand, and counts its own small ones. */
  function watched(clock: ManualClock) {
    const inner = openMemoryStore();
    let failure: Problem | undefined;
    const probes: number[] = [];
    const refusing: Store = {
      ...inner,
      blobs: {
        ...inner.blobs,
        putBlob: (key, value) => {
          if (value.length > 0) probes.push(clock.now());
          return failure === undefined ? inner.blobs.putBlob(key, value) : Promise.reject(failure);
        },
      },
    };
    const told: string[] = [];
    const log = createLogger("info", { write: (line) => void told.push(JSON.parse(line).msg) });
    const watch = watchWrites(refusing, { clock, log, metrics: createMetrics() });
    cleanUp.push(watch.stop);
    return { watch, probes, told, refuse: (error: Problem | undefined) => failure = error };
  }

  const full = new Problem(ProblemCode.Unavailable, "full", { cause: new Error("disk") });

  test("looks once a minute, and every two seconds while writes are refused", async () => {
    const clock = new ManualClock();
    const { watch, probes, refuse } = watched(clock);
    await clock.advance(600_000);
    expect(probes.length).toBe(10);
    refuse(full);
    await clock.advance(60_000);
    expect(watch.refusal()).toBe("full");
    await clock.advance(20_000);
    expect(probes.length).toBeGreaterThan(18);
    expect(probes.length).toBeLessThan(50);
    refuse(undefined);
    await clock.advance(2_000);
    expect(watch.refusal()).toBeUndefined();
  });

  test("the log says once that writes are refused, and that they are taken when that lasts", async () => {
    const clock = new ManualClock();
    const { watch, told, refuse } = watched(clock);
    const write = () => watch.store.blobs.putBlob("x", new Uint8Array(1)).catch(() => {});
    for (let round = 0; round < 5; round++) {
      refuse(full);
      await write();
      refuse(undefined);
      await clock.advance(4_000);
      expect(watch.refusal()).toBeUndefined();
    }
    expect(told).toEqual(["the store refuses writes"]);
    await clock.advance(20_000);
    expect(told).toEqual(["the store refuses writes", "the store takes writes again"]);
    refuse(full);
    await write();
    expect(watch.refusal()).toBe("full");
  });

  test("what is refused for a reason of its own, or not known, says nothing about the store", async () => {
    const clock = new ManualClock();
    const { watch, refuse } = watched(clock);
    for (const error of [unavailable("try again"), new Problem(ProblemCode.Aborted, "no")]) {
      refuse(error);
      await watch.store.blobs.putBlob("x", new Uint8Array(1)).catch(() => {});
      expect(watch.refusal()).toBeUndefined();
    }
    refuse(full);
    await watch.store.blobs.putBlob("x", new Uint8Array(1)).catch(() => {});
    expect(watch.refusal()).toBe("full");
  });
});
