/**
 * The change feed of the SQLite adapter: a table whose oldest rows are trimmed. A change is one line of JSON that says what
 * follows, then the texts of the parts as they are: they are JSON themselves, and quoting them again would cost time
 * and space.
 */
import type { PartText } from "../../base/part_text.ts";
import type { Change } from "../port.ts";
import { isLargeCreation, isNode, sizeOfNodes } from "../large_creation.ts";
import { VersionTooOld } from "../port.ts";
import type { changeReader } from "../unreadable_change.ts";
import { BEHIND_SIZE } from "../watch_feed.ts";
import type { Row, SqliteDatabase } from "./database.ts";
import { parseEntry } from "./index_entry.ts";

type ReadChange = ReturnType<typeof changeReader>;

/** What the feed keeps at most. */
export interface FeedBounds {
  /** Changes. */
  feedLength: number;
  /** Characters of changes. */
  feedSize: number;
}

/** A change on its way into the feed. */
export interface NewChange extends Pick<Change, "type" | "id" | "drop"> {
  put: readonly PartText[];
  version: number;
  /** Earlier texts of the parts. */
  before: Record<string, string>;
  /** The index entry as it is stored; null for none. */
  entry: string | null;
}

/**
 * Keys and lengths in UTF-16 units of what was put, keys that were dropped, keys and lengths of the earlier texts; and the
 * characters of nodes that were put and are not in it.
 */
type Header = [string[], number[], string[], string[], number[], number?];

/** The feed is trimmed each time this many changes were added. */
const TRIM_EVERY = 64;

/** Adds a change inside a write. */
export function publishChange(
  database: SqliteDatabase,
  { type, id, version, put, drop, before, entry }: NewChange,
  bounds: FeedBounds,
): void {
  const isLarge = isLargeCreation({ create: type === "ADDED", put });
  const shown = isLarge ? put.filter((part) => !isNode(part)) : put;
  const putTexts = shown.map(({ text }) => text);
  const beforeTexts = Object.values(before);
  const header: Header = [
    shown.map(({ key }) => key),
    putTexts.map(lengthOf),
    drop,
    Object.keys(before),
    beforeTexts.map(lengthOf),
  ];
  if (isLarge) header.push(sizeOfNodes(put));
  const change = `${JSON.stringify(header)}\n${putTexts.join("")}${beforeTexts.join("")}`;
  const end = database.counter("feed") + change.length;
  database.setCounter("feed", end);
  const sql = "INSERT INTO feed VALUES (?, ?, ?, ?, ?, ?)";
  database.run(sql, version, type, id, end, entry, change);
  if (version % TRIM_EVERY === 0) trimFeed(database, version, end, bounds);
}

function lengthOf(text: string): number {
  return text.length;
}

/** Removes the oldest changes that are beyond the bounds. */
function trimFeed(
  database: SqliteDatabase,
  version: number,
  end: number,
  { feedLength, feedSize }: FeedBounds,
): void {
  // Only rows that are removed are read.
  const sql = 'SELECT version FROM feed WHERE version > ? AND "end" > ? ORDER BY version LIMIT 1';
  const first = database.get(sql, version - feedLength, end - feedSize)?.["version"];
  if (typeof first !== "number") return;
  if (database.run("DELETE FROM feed WHERE version < ?", first) === 0) return;
  database.setCounter("floor", first - 1);
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

/** The same for a watch that is behind: fewer if they are large, and at least one. @throws {VersionTooOld} */
export function readBehind(
  database: SqliteDatabase,
  readChange: ReadChange,
  after: number,
  max: number,
): Change[] {
  assertKept(database, after);
  const first = database.get(
    'SELECT "end" FROM feed WHERE version > ? ORDER BY version LIMIT 1',
    after,
  );
  const until = Number(first?.["end"] ?? 0) + BEHIND_SIZE;
  const sql = 'SELECT * FROM feed WHERE version > ? AND "end" <= ? ORDER BY version LIMIT ?';
  return database.all(sql, after, until, max).map((row) => changeOf(row, readChange));
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

function changeOf({ version, type, id, change, index_entry }: Row, readChange: ReadChange): Change {
  const place = { type: type as Change["type"], id: String(id), version: String(version) };
  return readChange(place, () => {
    const index = parseEntry(index_entry);
    return { ...place, ...decodeChange(String(change)), ...(index !== undefined && { index }) };
  });
}

function decodeChange(
  change: string,
): Pick<Change, "put" | "drop" | "before" | "mustLoad" | "nodesSize"> {
  const start = change.indexOf("\n") + 1;
  const header = JSON.parse(change.slice(0, start)) as Header;
  if (!Array.isArray(header) || header.length < 5 || !header.slice(0, 5).every(Array.isArray)) {
    throw new Error("A change does not begin as changes do");
  }
  const [putKeys, putLengths, drop, beforeKeys, beforeLengths, nodesSize] = header;
  const middle = start + sum(putLengths);
  if (change.length !== middle + sum(beforeLengths)) {
    throw new Error("A change is longer or shorter than it says");
  }
  const put = takeTexts(putKeys, putLengths, change.slice(start, middle));
  const before = takeTexts(beforeKeys, beforeLengths, change.slice(middle));
  return {
    put,
    drop,
    ...(beforeKeys.length > 0 && { before }),
    ...(nodesSize !== undefined && { mustLoad: true, nodesSize }),
  };
}

function sum(lengths: number[]): number {
  return lengths.reduce((total, length) => total + length, 0);
}

function takeTexts(keys: string[], lengths: number[], texts: string): Record<string, string> {
  const taken: Record<string, string> = {};
  let at = 0;
  keys.forEach((key, index) => {
    const length = lengths[index] ?? 0;
    taken[key] = texts.slice(at, at + length);
    at += length;
  });
  return taken;
}
