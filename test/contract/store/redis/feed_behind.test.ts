/** Many watches that are behind and read the feed at the same time, as when a server has ended and all its clients come back. */
import { createClient } from "redis";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Change, Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { openTcpGate, type TcpGate } from "../../../support/tcp_gate.ts";
import { acquired, changeOf, commitOf, entryOf } from "../store_setting.ts";

const SHARDS = 16;
const COMMITS = 20;
const WATCHES = 120;
/** Characters of a change. */
const SIZE = 5_000;
const TIMEOUT_MS = 1_000;

let server: RedisServer;
let gate: TcpGate;
let store: Store;
let client: ReturnType<typeof createClient>;
beforeEach(async () => {
  server = await startRedisServer();
  gate = await openTcpGate(server.port);
  store = await openRedisStore({ url: `redis://127.0.0.1:${gate.port}`, timeoutMs: TIMEOUT_MS });
  client = createClient({ url: server.url });
  await client.connect();
  await store.membership.shardCount(SHARDS);
});
afterEach(async () => {
  client.destroy();
  await store.close();
  await gate.close();
  await server.stop();
});

/** Writes to all shards in turns. @returns the versions of the store before the first, in between, and after the last */
async function write(): Promise<string[]> {
  const epochs = await Promise.all(
    Array.from({ length: SHARDS }, (_, shard) => acquired(store, shard)),
  );
  const versions = [await store.query.version()];
  for (let commit = 0; commit < COMMITS; commit++) {
    for (const [shard, epoch] of epochs.entries()) {
      const id = `wf/a/w${commit}-${shard}`;
      const put = [{ key: "h", text: "x".repeat(SIZE) }];
      await store.shards.commit(commitOf(shard, epoch, {
        actors: [changeOf(id, { create: true, put, index: entryOf(id, { uid: id }) })],
      }));
    }
    versions.push(await store.query.version());
  }
  return versions;
}

/** All changes after a version, and the characters of the largest portion of them. */
async function readAll(from: string) {
  const ids: string[] = [];
  let largest = 0;
  for (let at = from;;) {
    const changes: Change[] = await store.query.changes(at);
    const last = changes.at(-1);
    if (last === undefined) return { ids, largest };
    ids.push(...changes.map(({ id }) => id));
    largest = Math.max(largest, changes.length * SIZE);
    at = last.version;
  }
}

async function reads(): Promise<number> {
  return Number(/cmdstat_xread:calls=(\d+)/.exec(await client.info("commandstats"))?.[1] ?? 0);
}

test("they share what they read: each gets every change once, in portions, and Redis is asked seldom", async () => {
  const versions = await write();
  const before = await reads();
  const seen = await Promise.all(
    Array.from({ length: WATCHES }, (_, at) => readAll(versions[at % COMMITS] ?? "")),
  );
  const expected = Array.from(
    { length: COMMITS * SHARDS },
    (_, at) => `wf/a/w${Math.floor(at / SHARDS)}-${at % SHARDS}`,
  );
  for (const [at, { ids, largest }] of seen.entries()) {
    expect(ids).toEqual(expected.slice(at % COMMITS * SHARDS));
    expect(largest).toBeLessThan(200_000);
  }
  // The last read of each finds nothing.
  expect(await reads() - before).toBeLessThan(2 * WATCHES);
  // What comes later is read, although the end was read before.
  const { ids } = await readAll(versions[COMMITS - 1] ?? "");
  expect(ids).toHaveLength(SHARDS);
});

test("while Redis does not answer they are all told at once, not one after the other", async () => {
  const [first = ""] = await write();
  gate.silence();
  const asked = Array.from({ length: WATCHES }, () => store.query.changes(first));
  for (const { status } of await Promise.allSettled(asked)) expect(status).toBe("rejected");
  gate.heal();
  const count = () => readAll(first).then(({ ids }) => ids.length, () => 0);
  await expect.poll(count, { timeout: 10_000 }).toBe(COMMITS * SHARDS);
}, WATCHES * TIMEOUT_MS / 4);
