/** The change feed of the SQLite adapter: a table that is trimmed from its beginning. */
import { isJsonObject, type Json } from "../base/json.ts";
import type { Change, IndexEntry } from "./port.ts";
import { VersionTooOld } from "./port.ts";
import type { changeReader } from "./unreadable_change.ts";
import type { Row, SqliteDatabase } from "./sqlite_database.ts";

type ReadChange = ReturnType<typeof changeReader>;

/** Every so many changes the feed is trimmed to its length. */
const TRIM_EVERY = 64;

/** Adds a change inside a write. */
export function publishChange(
  database: SqliteDatabase,
  { type, id, version, put, drop, before, index }: Omit<Change, "version" | "index"> & {
    version: number;
    index: IndexEntry | undefined;
  },
  feedLength: number,
): void {
  const change = JSON.stringify({ put, drop, before, index });
  database.run("INSERT INTO feed VALUES (?, ?, ?, ?)", version, type, id, change);
  if (version % TRIM_EVERY !== 0) return;
  const floor = database.get(
    "SELECT version FROM feed ORDER BY version DESC LIMIT 1 OFFSET ?",
    feedLength,
  )?.["version"];
  if (typeof floor !== "number") return;
  database.run("DELETE FROM feed WHERE version <= ?", floor);
  database.setCounter("floor", floor);
}

/** Changes after a version, oldest first, at most `max`. @throws {VersionTooOld} when some of them are gone */
export function readFeed(
  database: SqliteDatabase,
  readChange: ReadChange,
  after: number,
  max: number,
): Change[] {
  assertKept(database, after);
  const sql = "SELECT * FROM feed WHERE version > ? ORDER BY version LIMIT ?";
  return database.all(sql, after, max).map((row) => changeOf(row, readChange));
}

/** Changes of one actor after a version, oldest first. @throws {VersionTooOld} when some of them are gone */
export function readHistory(
  database: SqliteDatabase,
  readChange: ReadChange,
  after: number,
  id: string,
): Change[] {
  assertKept(database, after);
  const sql = "SELECT * FROM feed WHERE version > ? AND id = ? ORDER BY version";
  return database.all(sql, after, id).map((row) => changeOf(row, readChange));
}

function assertKept(database: SqliteDatabase, after: number): void {
  if (after < database.counter("floor")) throw new VersionTooOld(String(after));
}

function changeOf({ version, type, id, change }: Row, readChange: ReadChange): Change {
  const place = { type: type as Change["type"], id: String(id), version: String(version) };
  return readChange(place, () => {
    const body = JSON.parse(String(change)) as Json;
    if (!isJsonObject(body) || !isJsonObject(body["put"]) || !Array.isArray(body["drop"])) {
      throw new Error("A change does not say what it wrote");
    }
    return { ...place, ...body as unknown as Pick<Change, "put" | "drop" | "before" | "index"> };
  });
}
