/** A new actor of very many parts is written in several transactions, but is there at once or not at all. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Change, NODE_PART_PREFIX, type Store } from "../../../../src/store/port.ts";
import { SqliteDatabase } from "../../../../src/store/sqlite/database.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/store.ts";
import { acquired, changeOf, commitOf, entryOf, LONG_MS, never } from "../store_setting.ts";

const ID = "wf/ns/large";
const NODES = 30_001;

let folder: string;
let database: SqliteDatabase;
let store: Store;
let epoch: number;

async function open(): Promise<void> {
  database = new SqliteDatabase({ folder, durability: "everysec" });
  store = await openSqliteStore({ folder, database });
  epoch = await acquired(store, 1);
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-staged-"));
  await open();
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const rowsOf = (table: string) => Number(database.get(`SELECT count(*) AS n FROM ${table}`)?.["n"]);

function creation(shardEpoch = epoch) {
  const nodes = Array.from({ length: NODES }, (_, at) => ({
    // Their order is not the one of the table.
    key: `${NODE_PART_PREFIX}${(at * 7_919) % NODES}`,
    text: JSON.stringify(String(at)),
  }));
  const put = [{ key: "h", text: "header" }, { key: "s", text: "spec" }, ...nodes];
  const actor = changeOf(ID, { put, create: true, index: entryOf(ID) });
  const parts = Object.fromEntries(put.map(({ key, text }) => [key, text]));
  return { commit: commitOf(1, shardEpoch, { actors: [actor] }), parts };
}

/** Waits until some of the parts are written. */
async function begun(): Promise<void> {
  for (const end = performance.now() + LONG_MS; rowsOf("part") < 4_000;) {
    if (performance.now() > end) throw new Error("Nothing is written");
    await new Promise((done) => setTimeout(done, 1));
  }
}

test("nobody sees it until it is whole, and others write meanwhile", async () => {
  const { commit, parts } = creation();
  const writing = store.shards.commit(commit);
  await begun();
  const epochOfOthers = await acquired(store, 2);
  const other = changeOf("wf/ns/other", { put: [{ key: "h", text: "x" }], create: true });
  await store.shards.commit(commitOf(2, epochOfOthers, { actors: [other] }));
  expect(rowsOf("part")).toBeLessThan(NODES);
  expect(await store.shards.loadActor(1, ID)).toBeUndefined();
  expect((await store.query.list({ kind: "wf", limit: 0 })).items).toEqual([]);
  expect(await store.query.findByUid("uid-ns-large")).toBeUndefined();
  const { versions } = await writing;
  expect(await store.shards.loadActor(1, ID)).toEqual({ id: ID, version: versions[ID], parts });
  expect((await store.query.list({ kind: "wf", limit: 0 })).items.map(({ id }) => id)).toEqual([
    ID,
  ]);
  expect(await store.query.findByUid("uid-ns-large")).toBe(ID);
  expect(rowsOf("actor")).toBe(2);
});

test("a refused one leaves nothing", async () => {
  const { commit } = creation();
  await store.shards.commit(commit);
  const written = [rowsOf("actor"), rowsOf("part")];
  await expect(store.shards.commit(creation().commit)).rejects.toThrow("exists");
  await expect(store.shards.commit(creation(epoch - 1).commit)).rejects.toThrow();
  expect([rowsOf("actor"), rowsOf("part")]).toEqual(written);
});

test("what a server that ended in the middle has left is gone when the store is opened again", async () => {
  const before = [rowsOf("actor"), rowsOf("part"), rowsOf("shared")];
  const writing = store.shards.commit(creation().commit);
  writing.catch(() => {});
  await begun();
  await store.close();
  await expect(writing).rejects.toThrow();
  await open();
  expect([rowsOf("actor"), rowsOf("part"), rowsOf("shared")]).toEqual(before);
  const { commit, parts } = creation();
  await store.shards.commit(commit);
  expect((await store.shards.loadActor(1, ID))?.parts).toEqual(parts);
  const first = await store.query.watch("0", never)[Symbol.asyncIterator]().next();
  expect(first.value?.map(({ id }: Change) => id)).toEqual([ID]);
});
