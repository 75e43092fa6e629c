/** Parts of actors in the SQLite adapter: read whole, in slices, or without nodes; and what a removal has left of them. */
import { type LoadBounds, NODE_PART_PREFIX } from "./port.ts";
import type { Row, SqliteDatabase } from "./sqlite_database.ts";

/** Number of the row of an actor. */
type ActorRow = Row[string] | null;

/** Parts that are read or dropped in one go. */
const SLICE = 1_000;
/** Reads of an actor that changes meanwhile; the last one is not interrupted. */
const MAX_ATTEMPTS = 4;
/** Parts that an actor may have besides its nodes, in a rough count. */
const OTHER_PARTS = 8;

const ALL = "SELECT key, text FROM part WHERE actor = ?1";
const NODES_END = NODE_PART_PREFIX.slice(0, -1) +
  String.fromCharCode(NODE_PART_PREFIX.charCodeAt(NODE_PART_PREFIX.length - 1) + 1);

function textsOf(rows: Row[]): Record<string, string> {
  return Object.fromEntries(rows.map(({ key, text }) => [String(key), String(text)]));
}

/** The parts as they are now, all in one go. */
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

/** The parts that are no nodes. */
export function readPartsWithoutNodes(
  database: SqliteDatabase,
  actor: ActorRow,
): Record<string, string> {
  const sql = `${ALL} AND key < ?2 UNION ALL ${ALL} AND key >= ?3`;
  return textsOf(database.all(sql, actor, NODE_PART_PREFIX, NODES_END));
}

/** Tells whether an actor has more than what is wanted. Costs no more than the bounds. */
export function isBeyond(
  database: SqliteDatabase,
  actor: ActorRow,
  { maxNodes, maxSize }: LoadBounds,
): boolean {
  const most = maxNodes + OTHER_PARTS;
  const found = database.get(
    `SELECT count(*) AS parts, sum(octet_length(text)) AS size
     FROM (SELECT text FROM part WHERE actor = ? LIMIT ?)`,
    actor,
    most + 1,
  );
  return Number(found?.["parts"]) > most || Number(found?.["size"] ?? 0) > maxSize;
}

/** An actor as it is at one moment. */
export interface WholeActor {
  version: string;
  parts: Record<string, string>;
  /** Others had their turn while it was read. */
  hasPaused: boolean;
}

/**
 * Reads all parts of an actor. Others get their turn while many are read; when the actor has changed in between, it is read
 * again.
 *
 * @param known its row and version, found in this very turn
 */
export async function readWholeActor(
  database: SqliteDatabase,
  id: string,
  known?: Row,
): Promise<WholeActor | undefined> {
  const find = () => database.get("SELECT row, version FROM actor WHERE id = ?", id);
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
      await new Promise((resolve) => setImmediate(resolve));
      actor = find();
      if (actor?.["row"] !== row || actor["version"] !== version) break;
    }
  }
  return undefined;
}

/** Id of the row that stands for the remains of an actor: no actor has such a one. */
function remainsId(name: string): string {
  return `~${name}`;
}

/** Takes an actor out of sight inside a write; its parts stay. */
export function leaveRemains(database: SqliteDatabase, actor: ActorRow, name: string): void {
  const sql = "UPDATE actor SET id = ?, uid = NULL, index_entry = NULL WHERE row = ?";
  database.run(sql, remainsId(name), actor);
}

function remainsRow(database: SqliteDatabase, name: string): ActorRow | undefined {
  return database.get("SELECT row FROM actor WHERE id = ?", remainsId(name))?.["row"];
}

/** Parts of what is left under a name, after a key. */
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

/** Drops what is left under a name, in one write for each piece. */
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
