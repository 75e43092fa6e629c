/**
 * Parts of actors in the SQLite adapter: all of them, in slices, or without nodes; and what a removal has left behind. The
 * specs of workflows that come from one manifest are the same text, which is stored once.
 */
import type { PartText } from "../../base/part_text.ts";
import { crc32 } from "node:zlib";
import { Turns } from "../../platform/turns.ts";
import { type LoadBounds, NODE_PART_PREFIX } from "../port.ts";
import { inPortions } from "../../platform/sqlite/sqlite_file.ts";
import type { Row, SqliteDatabase } from "./database.ts";

/** Row number of an actor. */
export type ActorRow = Row[string] | null;

/** Parts that are read or dropped at once. */
const SLICE = 1_000;
/** The same where some may be long. */
const PORTION = 100;
/** How often an actor that keeps changing is read; the last read is not interrupted. */
const MAX_ATTEMPTS = 4;
/** Parts that an actor may have besides its nodes, roughly. */
const OTHER_PARTS = 8;

/** Key of the part that many actors have in common. */
const COMMON_KEY = "s";

const TEXT =
  "coalesce(text, (SELECT shared.text FROM shared WHERE shared.row = part.shared)) AS text";
const ALL = `SELECT key, ${TEXT} FROM part WHERE actor = ?1`;
const NODES_END = NODE_PART_PREFIX.slice(0, -1) +
  String.fromCharCode(NODE_PART_PREFIX.charCodeAt(NODE_PART_PREFIX.length - 1) + 1);

function textsOf(rows: Row[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ key, text }) => [String(key), String(text)]));
}

/** All parts, read at once. */
export function readAllParts(database: SqliteDatabase, actor: ActorRow): Record<string, string> {
  return textsOf(database.all(ALL, actor));
}

/** The parts with these keys. */
export function readParts(
  database: SqliteDatabase,
  actor: ActorRow,
  keys: readonly string[],
): Record<string, string> {
  return textsOf(keys.flatMap((key) => database.all(`${ALL} AND key = ?2`, actor, key)));
}

/** Writes parts inside a write. */
export function putParts(
  database: SqliteDatabase,
  actor: ActorRow,
  parts: readonly PartText[],
): void {
  // A replaced row would be deleted as far as triggers are concerned, and that costs a copy of each page.
  const sql = `INSERT INTO part VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET text = excluded.text, shared = excluded.shared`;
  // In the order of the table each page is touched once: ids of nodes come in any order.
  const ordered = parts.length > SLICE ? parts.toSorted(byKey) : parts;
  for (const { key, text } of ordered) {
    const shared = key === COMMON_KEY ? share(database, text) : null;
    if (key === COMMON_KEY) dropPart(database, actor, key);
    database.run(sql, actor, key, shared === null ? text : null, shared);
  }
}

/** The order of the table. */
export function byKey(a: PartText, b: PartText): number {
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}

/** Drops a part inside a write. */
export function dropPart(database: SqliteDatabase, actor: ActorRow, key: string): void {
  database.run("DELETE FROM part WHERE actor = ? AND key = ?", actor, key);
}

/**
 * The row in which a text is stored for all who use it, one of whom is the caller. Its number comes from the text; null if
 * another text has that number.
 */
function share(database: SqliteDatabase, text: string): ActorRow {
  const sql = `INSERT INTO shared VALUES (?, ?, 1)
    ON CONFLICT DO UPDATE SET uses = uses + 1 WHERE text = excluded.text RETURNING row`;
  return database.get(sql, crc32(text), text)?.["row"] ?? null;
}

/** The parts that are not nodes. */
export function readPartsWithoutNodes(
  database: SqliteDatabase,
  actor: ActorRow,
): Record<string, string> {
  const sql = `${ALL} AND key < ?2 UNION ALL ${ALL} AND key >= ?3`;
  return textsOf(database.all(sql, actor, NODE_PART_PREFIX, NODES_END));
}

/** Tells whether an actor is larger than the bounds. The cost depends only on the bounds. */
export function isBeyond(
  database: SqliteDatabase,
  actor: ActorRow,
  { maxNodes, maxSize }: LoadBounds,
): boolean {
  const most = maxNodes + OTHER_PARTS;
  // Asked for its length alone, a text is not read.
  const found = database.get(
    `SELECT count(*) AS parts, sum(coalesce(
       size, (SELECT octet_length(shared.text) FROM shared WHERE shared.row = some.shared)
     )) AS size
     FROM (SELECT octet_length(text) AS size, shared FROM part WHERE actor = ? LIMIT ?) AS some`,
    actor,
    most + 1,
  );
  return Number(found?.["parts"]) > most || Number(found?.["size"] ?? 0) > maxSize;
}

/** An actor as it was at one moment. */
export interface WholeActor {
  version: string;
  parts: Record<string, string>;
  /** Others had their turn during the read. */
  hasPaused: boolean;
}

/**
 * Reads all parts of an actor. Others get their turn while there are many; if the actor changes meanwhile, it is read
 * again.
 *
 * @param known its row and version, if they were read in this very turn
 */
export async function readWholeActor(
  database: SqliteDatabase,
  id: string,
  known?: Row,
): Promise<WholeActor | undefined> {
  const find = () => database.get("SELECT row, version FROM actor WHERE id = ?", id);
  const turns = new Turns();
  let actor = known ?? find();
  for (let attempt = 1; actor !== undefined; attempt++) {
    const { row = null, version }: Row = actor;
    const size = attempt === MAX_ATTEMPTS ? -1 : SLICE;
    const parts: Record<string, string> = {};
    let after: string | undefined;
    for (;;) {
      const rows: Row[] = after === undefined
        ? database.all(`${ALL} ORDER BY key LIMIT ?2`, row, size)
        : database.all(`${ALL} AND key > ?2 ORDER BY key LIMIT ?3`, row, after, size);
      for (const { key, text } of rows) parts[String(key)] = String(text);
      if (rows.length !== size) {
        return { version: String(version), parts, hasPaused: attempt > 1 || after !== undefined };
      }
      after = String(rows.at(-1)?.["key"]);
      await turns.pause();
      actor = find();
      if (actor?.["row"] !== row || actor["version"] !== version) break;
    }
  }
  return undefined;
}

/** Begins the id of a row for the remains of an actor; no actor has such an id. */
export const REMAINS_PREFIX = "~";

/** Key and text of each part, in the order of the keys. */
export function partRows(database: SqliteDatabase, actor: ActorRow): Generator<Row> {
  return inPortions(PORTION, (last) => {
    const isAfter = last === undefined ? ">=" : ">";
    const sql = `${ALL} AND key ${isAfter} ?2 ORDER BY key LIMIT ?3`;
    return database.all(sql, actor, last?.["key"] ?? "", PORTION);
  });
}

function remainsId(name: string): string {
  return `${REMAINS_PREFIX}${name}`;
}

/** Hides an actor, inside a write; its parts stay. */
export function leaveRemains(database: SqliteDatabase, actor: ActorRow, name: string): void {
  const sql = "UPDATE actor SET id = ?, uid = NULL, index_entry = NULL WHERE row = ?";
  database.run(sql, remainsId(name), actor);
}

function remainsRow(database: SqliteDatabase, name: string): ActorRow | undefined {
  return database.get("SELECT row FROM actor WHERE id = ?", remainsId(name))?.["row"];
}

/** Parts that were left under a name, after a key. */
export function readRemains(
  database: SqliteDatabase,
  name: string,
  after: string,
  max: number,
): { parts: Record<string, string>; next?: string } {
  const row = remainsRow(database, name);
  if (row === undefined) return { parts: {} };
  const rows = database.all(`${ALL} AND key > ?2 ORDER BY key LIMIT ?3`, row, after, max);
  const last = rows.length < max ? undefined : rows.at(-1)?.["key"];
  return { parts: textsOf(rows), ...(last !== undefined && { next: String(last) }) };
}

/** Drops what was left under a name, one write for each slice. */
export async function dropRemains(database: SqliteDatabase, name: string): Promise<void> {
  const sql = `DELETE FROM part WHERE actor = ?1
    AND key IN (SELECT key FROM part WHERE actor = ?1 ORDER BY key LIMIT ${SLICE})`;
  for (let dropped = SLICE; dropped === SLICE;) {
    dropped = await database.write(() => {
      const row = remainsRow(database, name);
      if (row === undefined) return 0;
      const count = database.run(sql, row);
      if (count < SLICE) database.run("DELETE FROM actor WHERE row = ?", row);
      return count;
    });
  }
}
