/** Writes that wait for replicas of Redis: what is answered is there too, and what is not confirmed is not answered. */
import { partTexts } from "../../../../src/base/part_text.ts";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Problem } from "../../../../src/base/problem.ts";
import type { Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { ask } from "../../../support/redis_cluster.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { until } from "../../../support/until.ts";
import { acquired, changeOf, commitOf, entryOf } from "../store_setting.ts";

const WAIT_MS = 1_000;

let master: RedisServer;
let replica: RedisServer;
let store: Store;
beforeEach(async () => {
  master = await startRedisServer(["--repl-diskless-sync-delay", "0"]);
  replica = await startRedisServer(["--replicaof", "127.0.0.1", String(master.port)]);
  await until(async () =>
    (await ask(replica.url, ["INFO", "replication"])).includes("link_status:up")
  );
  store = await open(1);
});
afterEach(async () => {
  await store.close();
  await Promise.all([replica.stop(), master.stop()]);
});

const open = (replicas: number) =>
  openRedisStore({ url: master.url, wait: { replicas, timeoutMs: WAIT_MS } });

const event = (id: string) => ({
  id,
  namespace: "a",
  discriminator: "d",
  text: "{}",
  receivedAt: 1,
});

/** The problem of a call that is expected to be refused. */
async function problemOf(call: Promise<unknown>): Promise<Problem> {
  const problem = await call.then(() => undefined, (error) => error as unknown);
  expect(problem).toBeInstanceOf(Problem);
  return problem as Problem;
}

test("what is answered, the replica has", async () => {
  const epoch = await acquired(store, 0);
  for (let at = 0; at < 50; at++) {
    const id = `wf/a/${at}`;
    await store.shards.commit(commitOf(0, epoch, {
      actors: [changeOf(id, { create: true, put: partTexts({ h: "1" }), index: entryOf(id) })],
    }));
    expect(await ask(replica.url, ["HGET", `sluice:{s0}:a:${id}`, "h"])).toBe("1");
  }
  await store.events.offer(event("e"), 10);
  expect(await ask(replica.url, ["HEXISTS", "sluice:{events}:places", "e"])).toBe("1");
});

test("while the replica is silent, writes are uncertain and reads go on; then the owner goes on", async () => {
  const epoch = await acquired(store, 0);
  const put = commitOf(0, epoch, { outboxPut: { "!": "one" } });
  await store.shards.commit(put);
  process.kill(replica.pid(), "SIGSTOP");
  const lost = store.shards.commit(commitOf(0, epoch, {
    outboxPut: { "!": "two" },
    follows: { row: "!", text: "one" },
  }));
  const problem = problemOf(lost);
  const startedAt = performance.now();
  await store.events.depth();
  await store.query.list({ kind: "wf", limit: 1 });
  expect(performance.now() - startedAt).toBeLessThan(WAIT_MS);
  expect(await problem).toMatchObject({
    message: `Only 0 of 1 replicas of Redis had the write within ${WAIT_MS} ms`,
    mayBeDone: true,
    status: 503,
  });
  // What was written is told only when it is safe: until then nobody can load the shard to find out.
  expect((await problemOf(store.shards.loadShard(0))).message).toContain("Only 0 of 1");
  expect((await problemOf(store.events.offer(event("e"), 10))).mayBeDone).toBe(true);
  process.kill(replica.pid(), "SIGCONT");
  await expect.poll(() => store.shards.loadShard(0).catch(() => undefined), { timeout: 5_000 })
    .toMatchObject({ outbox: { "!": "two" } });
  expect(await store.events.offer(event("e"), 10)).toMatchObject({ result: "duplicate" });
});

test("an event that no replica has is not given to a worker: it may be lost, and sent again", async () => {
  const other = await open(1);
  const take = (claimAfterMs: number) =>
    other.events.take("w", 10, claimAfterMs, 0, new AbortController().signal);
  try {
    process.kill(replica.pid(), "SIGSTOP");
    const offer = store.events.offer(event("e"), 10);
    const refused = problemOf(offer);
    await expect.poll(() => other.events.depth()).toBe(1);
    expect((await problemOf(take(60_000))).message).toContain("Only 0 of 1");
    await refused;
    process.kill(replica.pid(), "SIGCONT");
    await expect.poll(async () => (await take(1).catch(() => [])).map(({ id }) => id)).toEqual([
      "e",
    ]);
  } finally {
    await other.close();
  }
});

test("a repeat is no duplicate for sure until the replica has the first one", async () => {
  const other = await open(1);
  const keyed = { key: "k", fingerprint: "f", expiresAt: Date.now() + 60_000 };
  try {
    process.kill(replica.pid(), "SIGSTOP");
    const first = problemOf(store.events.offer(event("e"), 10, keyed));
    await expect.poll(() => other.events.depth()).toBe(1);
    const repeat = () => other.events.offer(event("f"), 10, keyed);
    expect((await problemOf(repeat())).mayBeDone).toBe(true);
    await first;
    process.kill(replica.pid(), "SIGCONT");
    await expect.poll(() => repeat().catch(() => undefined), { timeout: 5_000 })
      .toEqual({ result: "duplicate", id: "e" });
  } finally {
    await other.close();
  }
});

test("more replicas than there are: every write says so", async () => {
  const other = await open(2);
  try {
    const refused = other.events.offer(event("e"), 10);
    expect((await problemOf(refused)).message).toContain("Only 1 of 2 replicas");
  } finally {
    await other.close();
  }
});

test("a promoted replica has all that was answered before the master was killed", async () => {
  const answered: string[] = [];
  const load = (async () => {
    for (let at = 0;; at++) {
      const offers = Array.from({ length: 8 }, (_, one) => `e${at}-${one}`);
      const done = await Promise.allSettled(
        offers.map((id) => store.events.offer(event(id), 1e6)),
      );
      offers.forEach((id, one) => {
        if (done[one]?.status === "fulfilled") answered.push(id);
      });
      if (done.some(({ status }) => status === "rejected")) return;
    }
  })();
  await expect.poll(() => answered.length, { timeout: 10_000 }).toBeGreaterThan(100);
  await master.kill("SIGKILL");
  await load;
  await ask(replica.url, ["REPLICAOF", "NO", "ONE"]);
  const there = (await ask(replica.url, ["HKEYS", "sluice:{events}:places"])).split(",");
  expect(answered.filter((id) => !there.includes(id))).toEqual([]);
});
