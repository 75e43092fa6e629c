/** The change feed of the SQLite adapter: a table that is trimmed from its beginning. */
import type { Change, IndexEntry } from "./port.ts";
import { VersionTooOld } from "./port.ts";
import type { SqliteDatabase } from "./sqlite_database.ts";

/** Every so many changes the feed is trimmed to its length. */
const TRIM_EVERY = 64;

/** Adds a change inside a write. */
export function publishChange(
  database: SqliteDatabase,
  { type, id, version, put, drop, index }: Omit<Change, "version" | "index"> & {
    version: number;
    index: IndexEntry | undefined;
  },
  feedLength: number,
): void {
  const change = JSON.stringify({ put, drop, index });
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
export function readFeed(database: SqliteDatabase, after: number, max: number): Change[] {
  if (after < database.counter("floor")) throw new VersionTooOld(String(after));
  const sql = "SELECT * FROM feed WHERE version > ? ORDER BY version LIMIT ?";
  return database.all(sql, after, max).map(({ version, type, id, change }) => ({
    type: type as Change["type"],
    id: String(id),
    version: String(version),
    ...JSON.parse(String(change)) as Pick<Change, "put" | "drop" | "index">,
  }));
}
