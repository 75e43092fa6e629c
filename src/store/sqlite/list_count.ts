/** Counts entries of a term by the time of their creation. */
import { Turns } from "../../platform/turns.ts";
import type { ListPosition } from "../list_query.ts";
import type { SqliteDatabase } from "./database.ts";
import { positionOf } from "./list_walk.ts";

/** Entries that are counted before others get their turn. */
const SLICE = 20_000;

/** Number of entries that were created from a time on, and before another. */
export async function countSpan(
  database: SqliteDatabase,
  term: string,
  from: number,
  to: number,
): Promise<number> {
  const turns = new Turns();
  let count = 0;
  for (let after: ListPosition = { createdAt: to, id: "" }; !database.isClosed;) {
    const span = [term, after.createdAt, after.id, from] as const;
    const last = database.get(
      `SELECT created_at, id ${SPAN} ${ORDER} LIMIT 1 OFFSET ?`,
      ...span,
      SLICE - 1,
    );
    if (last === undefined) {
      return count + Number(database.get(`SELECT count(*) AS n ${SPAN}`, ...span)?.["n"]);
    }
    count += SLICE;
    after = positionOf(last);
    await turns.pause();
  }
  return count;
}

const SPAN = "FROM term WHERE term = ? AND (created_at, id) < (?, ?) AND created_at >= ?";
const ORDER = "ORDER BY created_at DESC, id DESC";

/** When the oldest entry of a term was created; undefined when it has none. */
export function oldestOf(database: SqliteDatabase, term: string): number | undefined {
  const sql = "SELECT created_at FROM term WHERE term = ? ORDER BY created_at, id LIMIT 1";
  const row = database.get(sql, term);
  return row === undefined ? undefined : Number(row["created_at"]);
}
