/** The records of a store on SQLite. */
import { createHash } from "node:crypto";
import { parseOrUndefined } from "../../../base/json_text.ts";
import { defined } from "../../../base/defined.ts";
import type { Json } from "../../../base/json.ts";
import { partSlices, type SourceFacts, type StoreRecord } from "../../dump.ts";
import { blobRecords, readDeliveries, readManifests, readShards } from "../../dump_common.ts";
import { unreadableEntry } from "../../list_query.ts";
import type { IndexEntry, Store } from "../../port.ts";
import { eventProblem, unreadableDelivery, unreadableEvent } from "../../queued_event.ts";
import { inPortions } from "../../../platform/sqlite/sqlite_file.ts";
import type { Row, SqliteDatabase } from "../database.ts";
import { parseEntry } from "../index_entry.ts";
import { partRows, REMAINS_PREFIX } from "../parts.ts";

/** Rows that are read at once. */
const PORTION = 500;

/** @returns the facts; without shards there is no store */
export function sqliteFacts(database: SqliteDatabase): SourceFacts {
  const state = createHash("sha256");
  for (const name of ["version", "seq", "shards"] as const) {
    state.update(`${database.counter(name)} `);
  }
  for (const { shard, epoch, cursor } of database.all("SELECT * FROM shard ORDER BY shard")) {
    state.update(`${shard} ${epoch} ${cursor} `);
  }
  const sql = "SELECT count(*) AS n FROM actor WHERE version > 0 AND substr(id, 1, 1) <> ?";
  return {
    shards: database.counter("shards"),
    version: String(database.counter("version")),
    state: state.digest("hex"),
    actors: Number(database.get(sql, REMAINS_PREFIX)?.["n"]),
  };
}

export async function* readSqlite(
  database: SqliteDatabase,
  store: Store,
  now: () => number,
): AsyncGenerator<StoreRecord> {
  yield* readManifests(store);
  yield* readBlobs(database);
  yield* readActors(database);
  yield* readShards(store, database.counter("shards"));
  yield* readAnswers(database, now());
  const broken = new Set<string>();
  for (const record of readEvents(database)) {
    if (record.type === "delivery") broken.add(record.delivery.id);
    yield record;
  }
  const sql = "SELECT * FROM dedupe WHERE key > ? AND expires_at > ? ORDER BY key LIMIT ?";
  const known = inPortions(
    PORTION,
    (last) => database.all(sql, last?.["key"] ?? "", now(), PORTION),
  );
  for (const row of known) {
    yield {
      type: "dedupe",
      key: String(row["key"]),
      id: String(row["id"]),
      fingerprint: String(row["fingerprint"]),
      expiresAt: Number(row["expires_at"]),
    };
  }
  yield* readDeliveries(store, broken);
}

function* readBlobs(database: SqliteDatabase): Generator<StoreRecord> {
  const sql = "SELECT DISTINCT key FROM blob WHERE key > ? ORDER BY key LIMIT ?";
  const keys = inPortions(PORTION, (last) => database.all(sql, last?.["key"] ?? "", PORTION));
  for (const { key } of keys) yield* blobRecords(String(key), piecesOf(database, String(key)));
}

function* piecesOf(database: SqliteDatabase, key: string): Generator<Uint8Array> {
  const sql = "SELECT start, piece FROM blob WHERE key = ? AND start > ? ORDER BY start LIMIT 1";
  const rows = inPortions(1, (last) => database.all(sql, key, last?.["start"] ?? -1));
  for (const { piece } of rows) if (piece instanceof Uint8Array) yield piece;
}

/** Actors, each after those of its parts that its own record has no room for; and what removals have left. */
function* readActors(database: SqliteDatabase): Generator<StoreRecord> {
  const sql = "SELECT * FROM actor WHERE id > ? AND version > 0 ORDER BY id LIMIT ?";
  for (let after = "", rows: Row[] = [{}]; rows.length > 0; after = String(rows.at(-1)?.["id"])) {
    rows = database.all(sql, after, PORTION);
    for (const row of rows) yield* readActor(database, row);
  }
}

function* readActor(database: SqliteDatabase, actor: Row): Generator<StoreRecord> {
  const id = String(actor["id"]);
  let last: Record<string, string> | undefined;
  for (const parts of partSlices(textsOf(partRows(database, actor["row"] ?? null)))) {
    if (id.startsWith(REMAINS_PREFIX)) {
      yield { type: "remains", name: id.slice(REMAINS_PREFIX.length), parts };
      continue;
    }
    if (last !== undefined) yield { type: "parts", actor: id, parts: last };
    last = parts;
  }
  if (last === undefined) return;
  const index = entryOf(database, id, actor["index_entry"] ?? null);
  const version = String(actor["version"]);
  yield { type: "actor", actor: id, version, ...defined({ index }), parts: last };
}

function* textsOf(rows: Iterable<Row>): Generator<[string, string]> {
  for (const { key, text } of rows) yield [String(key), String(text)];
}

/** The index entry; of one that can't be read, what lists show in its place. */
function entryOf(database: SqliteDatabase, id: string, text: Row[string]): IndexEntry | undefined {
  if (text === null || text === undefined) return undefined;
  const sql = "SELECT created_at FROM term WHERE term = '*' AND id = ?";
  return parseEntry(text) ??
    unreadableEntry({ id, createdAt: Number(database.get(sql, id)?.["created_at"] ?? 0) });
}

function* readAnswers(database: SqliteDatabase, now: number): Generator<StoreRecord> {
  const sql = `SELECT * FROM answer WHERE (shard, key) > (?, ?) AND expires_at > ?
    ORDER BY shard, key LIMIT ?`;
  const rows = inPortions(
    PORTION,
    (last) => database.all(sql, last?.["shard"] ?? -1, last?.["key"] ?? "", now, PORTION),
  );
  for (const row of rows) {
    yield {
      type: "answer",
      key: String(row["key"]),
      fingerprint: String(row["fingerprint"]),
      answer: (parseOrUndefined(String(row["answer"])) ?? null) as Json,
      expiresAt: Number(row["expires_at"]),
      ...(typeof row["version"] === "string" && { version: row["version"] }),
    };
  }
}

/** Events of the queue; of those that can't be read, the dead letters. */
function* readEvents(database: SqliteDatabase): Generator<StoreRecord> {
  const sql = "SELECT * FROM event WHERE seq > ? ORDER BY seq LIMIT ?";
  const rows = inPortions(
    PORTION,
    (last) => database.all(sql, last?.["seq"] ?? -1, PORTION),
  );
  for (const row of rows) {
    const { id, namespace, discriminator, text, received_at: receivedAt, size } = row;
    const facts = { id, namespace, discriminator, text, receivedAt };
    const known = { ...facts, ...(size !== null && { size }) };
    const reason = eventProblem(known);
    const attempts = Number(row["attempts"]) || 0;
    if (reason !== undefined) {
      const raw = Buffer.from(String(text ?? ""));
      const place = String(row["seq"]);
      const event = unreadableEvent({ reason, raw, place, facts: known, receivedAt: 0, attempts });
      yield { type: "delivery", delivery: unreadableDelivery(event) };
      continue;
    }
    const retryAt = typeof row["at"] === "number" ? row["at"] : undefined;
    const event = { ...known, attempts } as Extract<StoreRecord, { type: "event" }>["event"];
    yield { type: "event", event, ...defined({ retryAt }) };
  }
}
