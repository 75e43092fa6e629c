/**
 * Parts of new actors that are too many for one transaction, which would block the event loop. They are written ahead, some at a
 * time, under a name that nobody reads. The commit then gives them the name of their actor.
 */
import { sortSteps } from "../../base/steps.ts";
import { Turns } from "../../platform/turns.ts";
import { isLargeCreation } from "../large_creation.ts";
import type { ActorChange, ActorId, ShardCommit } from "../port.ts";
import type { SqliteDatabase } from "./database.ts";
import { type ActorRow, byKey, dropRemains, putParts, REMAINS_PREFIX } from "./parts.ts";

/** Parts in one transaction. */
const PORTION = 2_000;
/** Begins the names of such parts among those that are dropped with `dropRemains`. */
const STAGED = "+";

/** Rows of parts that were written ahead, by their actors. */
export type StagedParts = ReadonlyMap<ActorId, ActorRow>;

/** Names have to differ: a worker that has lost its shard may still be at work on the same actor as the next one. */
let count = 0;

/** Whether a commit has parts that have to be written ahead. */
export function hasManyParts({ actors }: ShardCommit): boolean {
  return actors.some(isLargeCreation);
}

/**
 * Writes a commit whose parts are too many for one transaction.
 * @param write of the commit itself; whoever reads sees the actors from then on
 */
export async function writeStaged<T>(
  database: SqliteDatabase,
  { actors }: ShardCommit,
  write: (staged: StagedParts) => T,
): Promise<T> {
  const names: string[] = [];
  const staged = new Map<ActorId, ActorRow>();
  try {
    for (const change of actors.filter(isLargeCreation)) {
      const name = `${STAGED}${count++}/${change.id}`;
      names.push(name);
      staged.set(change.id, await stage(database, name, change));
    }
    return await database.write(() => write(staged));
  } catch (error) {
    // What stays is dropped at the next start.
    for (const name of names) await dropRemains(database, name).catch(() => {});
    throw error;
  }
}

async function stage(
  database: SqliteDatabase,
  name: string,
  { put }: ActorChange,
): Promise<ActorRow> {
  const turns = new Turns();
  const ordered = await turns.run(sortSteps(put, byKey));
  const row = await database.write(() => {
    // Exports pass over actors of version 0, which are not complete.
    const sql = "INSERT INTO actor (id, version) VALUES (?, 0) RETURNING row";
    return database.get(sql, `${REMAINS_PREFIX}${name}`)?.["row"] ?? null;
  });
  for (let at = 0; at < ordered.length; at += PORTION) {
    await turns.pause();
    await database.write(() => putParts(database, row, ordered.slice(at, at + PORTION)));
  }
  return row;
}

/** Drops what a process that was killed has left. */
export async function dropStaged(database: SqliteDatabase): Promise<void> {
  const sql =
    "SELECT substr(id, ?) AS name FROM actor WHERE id BETWEEN ?2 AND ?2 || char(0x10ffff)";
  const first = REMAINS_PREFIX.length + 1;
  for (const { name } of database.all(sql, first, REMAINS_PREFIX + STAGED)) {
    await dropRemains(database, String(name));
  }
}
