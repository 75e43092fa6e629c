/** The nodes of a very large new actor come in several calls, but it is there at once or not at all. */
import { createClient } from "redis";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NODE_PART_PREFIX, StaleEpoch, type Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { startRedisServer } from "../../../support/redis_server.ts";
import { acquired, changeOf, commitOf, entryOf, LONG_MS } from "../store_setting.ts";

const ID = "wf/ns/large";
const NODES = 30_001;

let redis: Awaited<ReturnType<typeof startRedisServer>>;
let client: ReturnType<typeof createClient>;
let store: Store;
let epoch: number;

beforeEach(async () => {
  redis = await startRedisServer();
  client = createClient({ url: redis.url });
  await client.connect();
  store = await openRedisStore({ url: redis.url });
  await store.membership.shardCount(1);
  epoch = await acquired(store, 0);
});
afterEach(async () => {
  await store.close();
  client.destroy();
  await redis.stop();
});

function creation(shardEpoch = epoch) {
  const nodes = Array.from({ length: NODES }, (_, at) => ({
    key: `${NODE_PART_PREFIX}${at}`,
    // The halves of a character do not belong together.
    text: JSON.stringify(at) + (at % 2 === 0 ? "ä\ud83d" : "\ude42"),
  }));
  const others = [{ key: "h", text: "header\ud83d" }, { key: "s", text: "\ude42spec" }];
  const put = [...others, { key: "q", text: "other" }, ...nodes];
  const actor = changeOf(ID, { put, create: true, index: entryOf(ID) });
  const parts = Object.fromEntries(put.map(({ key, text }) => [key, text.toWellFormed()]));
  return { commit: commitOf(0, shardEpoch, { actors: [actor] }), parts };
}

const stagedKeys = () => client.keys("*}:n:*");

/** Waits until some of the nodes are written. @returns their key */
async function begun(): Promise<string> {
  for (const end = performance.now() + LONG_MS; performance.now() < end;) {
    const [key] = await stagedKeys();
    if (key !== undefined) return key;
  }
  throw new Error("Nothing is written");
}

test("nobody sees it until it is whole, and nothing is left of the time before", async () => {
  const from = await store.query.version();
  const { commit, parts } = creation();
  const writing = store.shards.commit(commit);
  const key = await begun();
  expect(await store.shards.loadActor(0, ID)).toBeUndefined();
  expect((await store.query.list({ kind: "wf", limit: 0 })).items).toEqual([]);
  const { versions } = await writing;
  expect(await store.shards.loadActor(0, ID)).toEqual({ id: ID, version: versions[ID], parts });
  expect((await store.query.list({ kind: "wf", limit: 0 })).items.map(({ id }) => id)).toEqual([
    ID,
  ]);
  expect(await client.exists(key)).toBe(0);
  for (const one of await client.keys("*")) {
    if (one.includes(ID)) expect(await client.ttl(one)).toBe(-1);
  }
  const [fed] = await store.query.changes(from);
  const { h, s, q } = parts;
  expect(fed).toMatchObject({ type: "ADDED", id: ID, mustLoad: true, put: { h, s, q } });
});

test("its nodes expire from the first moment", async () => {
  const lines: string[] = [];
  const watcher = client.duplicate();
  await watcher.connect();
  await watcher.monitor((line) => void lines.push(String(line).slice(0, 200)));
  await store.shards.commit(creation().commit);
  // What a script does is one step. Whoever dies leaves all of it or nothing.
  const inScript = () => lines.filter((line) => / \[0 lua\] /.test(line));
  await expect.poll(() => inScript().some((line) => line.includes('"RENAME"'))).toBe(true);
  watcher.destroy();
  const writes = lines.flatMap((line, at) => /"HSET" "[^"]*\}:n:/i.test(line) ? [at] : []);
  expect(writes.length).toBeGreaterThan(1);
  for (const at of writes) {
    expect(lines[at]).toContain("[0 lua]");
    expect(lines[at + 1]).toMatch(/ \[0 lua\] "PEXPIRE" /);
  }
});

test("a refused one leaves nothing", async () => {
  await store.shards.commit(creation().commit);
  const before = await client.dbSize();
  await expect(store.shards.commit(creation().commit)).rejects.toThrow("exists");
  await expect(store.shards.commit(creation(epoch - 1).commit)).rejects.toThrow(StaleEpoch);
  await expect.poll(stagedKeys, { timeout: LONG_MS }).toEqual([]);
  expect(await client.dbSize()).toBe(before);
});

test.each(["one node", "all nodes"])("it is refused if Redis loses %s meanwhile", async (lost) => {
  const { commit, parts } = creation();
  const writing = store.shards.commit(commit);
  writing.catch(() => {});
  const key = await begun();
  expect(await client.ttl(key)).toBeGreaterThan(0);
  if (lost === "all nodes") await client.del(key);
  else {
    const [field = ""] = await client.hKeys(key);
    await client.hDel(key, field);
  }
  await expect(writing).rejects.toThrow("lost");
  expect(await store.shards.loadActor(0, ID)).toBeUndefined();
  await store.shards.commit(creation().commit);
  expect((await store.shards.loadActor(0, ID))?.parts).toEqual(parts);
});
