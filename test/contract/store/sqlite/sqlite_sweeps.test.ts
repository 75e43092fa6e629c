/** What has expired in the embedded store goes a little at a time, and faster than new of it comes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Answer } from "../../../../src/store/port.ts";
import { SqliteDatabase } from "../../../../src/store/sqlite/database.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/store.ts";
import { acquired, commitOf } from "../store_setting.ts";

const COUNT = 5_000;
const TTL_MS = 1_000;

let folder: string;
let database: SqliteDatabase;
let now = 1_000_000;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-sweeps-"));
  database = new SqliteDatabase({ folder, durability: "everysec" });
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = () => openSqliteStore({ folder, database, now: () => now });
const rowsOf = (table: string) => Number(database.get(`SELECT count(*) AS n FROM ${table}`)?.["n"]);

function answersOf(name: string, count: number): Answer[] {
  return Array.from({ length: count }, (_, at) => ({
    key: `${name}-${at}`,
    fingerprint: "f",
    answer: null,
    expiresAt: now + TTL_MS,
  }));
}

test("thousands of answers that have expired don't hold up one commit", async () => {
  const store = await open();
  const epoch = await acquired(store, 1);
  await store.shards.commit(commitOf(1, epoch, { answers: answersOf("old", COUNT) }));
  now += 2 * TTL_MS;
  await store.shards.commit(commitOf(1, epoch));
  await store.shards.commit(commitOf(1, epoch, { answers: answersOf("new", 100) }));
  expect(rowsOf("answer")).toBeGreaterThan(COUNT / 2);
  expect(await store.shards.findAnswers(1, ["old-0", "new-0"])).toHaveProperty("new-0");
  expect(await store.shards.findAnswers(1, ["old-4999"])).toEqual({});
  for (let at = 0; at < 100; at++) {
    await store.shards.commit(commitOf(1, epoch, { answers: answersOf(`more${at}`, 100) }));
  }
  expect(rowsOf("answer")).toBe(101 * 100);
  await store.close();
});

test("thousands of keys of events that have expired don't hold up one event", async () => {
  const store = await open();
  const offer = (id: string) =>
    store.events.offer(
      { id, namespace: "ns", discriminator: "", text: "{}", receivedAt: now },
      1_000_000,
      { key: id, fingerprint: "f", expiresAt: now + TTL_MS },
    );
  for (let at = 0; at < COUNT; at++) void offer(`old${at}`);
  await offer("last");
  now += 2 * TTL_MS;
  for (let at = 0; at < 600; at++) await offer(`new${at}`);
  expect(rowsOf("dedupe")).toBeGreaterThan(COUNT / 2);
  for (let at = 0; at < COUNT; at++) void offer(`more${at}`);
  await offer("end");
  expect(rowsOf("dedupe")).toBe(600 + COUNT + 1);
  await store.close();
});

test("thousands of delivery records too many are removed in several writes, in each namespace", async () => {
  const store = await open();
  const sql = "INSERT INTO delivery VALUES (?, ?, ?, 'done', '{}')";
  await database.write(() => {
    for (let at = 0; at < COUNT; at++) database.run(sql, `d${at}`, `ns${at % 2}`, now + at);
  });
  let turns = 0;
  const turn = setInterval(() => turns++, 0);
  await store.events.trimDeliveries(100, 60_000);
  clearInterval(turn);
  expect(turns).toBeGreaterThan(1);
  const left = database.all(
    "SELECT namespace, count(*) AS n, min(received_at) AS first FROM delivery GROUP BY 1",
  );
  expect(left).toEqual([
    { namespace: "ns0", n: 100, first: now + COUNT - 200 },
    { namespace: "ns1", n: 100, first: now + COUNT - 199 },
  ]);
  now += COUNT + 60_000;
  await store.events.trimDeliveries(100, 60_000);
  expect(rowsOf("delivery")).toBe(0);
  await store.close();
});
