/** How the SQLite adapter finds what a list shows: it walks the terms of the query, newest first. */
import {
  ALL_TERM,
  comparePositions,
  drivingTerms,
  endOf,
  exactId,
  isWholeQuery,
  type ListPosition,
  matchesEntry,
  matchesId,
  unreadableEntry,
} from "../list_query.ts";
import { Turns } from "../../platform/turns.ts";
import type { IndexEntry, ListQuery } from "../port.ts";
import { inPortions } from "../../platform/sqlite/sqlite_file.ts";
import type { Row, SqliteDatabase } from "./database.ts";
import { parseEntry } from "./index_entry.ts";

/** Most entries that are examined before others get their turn; a walk begins with fewer. */
const MAX_SLICE = 500;
/** How many entries ahead the choice of terms looks. */
const LOOK_AHEAD = 100;

/** A walk over entries that include all those of a query. */
export class ListWalk {
  readonly #database: SqliteDatabase;
  readonly #query: ListQuery;
  readonly #terms: readonly string[];

  /**
   * @param after where the list begins; the terms are chosen by the entries after it
   * @param completedLabel the label that says whether a workflow has ended
   */
  constructor(
    database: SqliteDatabase,
    query: ListQuery,
    after: ListPosition,
    completedLabel: string,
  ) {
    this.#database = database;
    this.#query = query;
    this.#terms = exactId(query) === undefined
      ? chooseTerms(database, drivingTerms(query, completedLabel), after)
      : [ALL_TERM];
  }

  /**
   * The rows after a position, selected or not, in slices; others get their turn between slices.
   * @param limit items of the page, 0 for all
   */
  async *slices(after: ListPosition, limit: number): AsyncGenerator<Row[]> {
    let size = limit > 0 ? Math.min(MAX_SLICE, limit + 1) : MAX_SLICE;
    const turns = new Turns();
    for (let position = after; !this.#database.isClosed;) {
      const rows: Row[] = [];
      for (const row of this.#rowsAfter(position, size)) {
        rows.push(row);
        if (rows.length === size) break;
      }
      yield rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < size) return;
      position = positionOf(last);
      size = Math.min(MAX_SLICE, 2 * size);
      await turns.pause();
    }
  }

  /** Number of selected entries after a position. */
  async countAfter(after: ListPosition): Promise<number> {
    let count = 0;
    if (isWholeQuery(this.#terms, this.#query)) {
      const sql = "SELECT count(*) AS n FROM term WHERE term = ? AND (created_at, id) < (?, ?)";
      for (const term of this.#terms) {
        count += Number(this.#database.get(sql, term, after.createdAt, after.id)?.["n"]);
      }
      return count;
    }
    for await (const rows of this.slices(after, 0)) {
      for (const row of rows) if (this.isSelected(row)) count++;
    }
    return count;
  }

  /** Tells whether the list shows a row. */
  isSelected(row: Row): boolean {
    return matchesId(String(row["id"]), this.#query) && row["index_entry"] !== null &&
      matchesEntry(entryOf(row), this.#query);
  }

  /** @param wanted how many of the rows will be read, about */
  #rowsAfter(after: ListPosition, wanted: number): Iterable<Row> {
    const exact = exactId(this.#query);
    if (exact !== undefined) return this.#exactRow(exact, after);
    const size = Math.ceil(wanted / this.#terms.length);
    const sql = `SELECT t.created_at, a.row, a.id, a.version, a.index_entry
      FROM term t JOIN actor a ON a.id = t.id
      WHERE t.term = ? AND (t.created_at, t.id) < (?, ?) AND t.created_at >= ?
      ORDER BY t.created_at DESC, t.id DESC LIMIT ?`;
    const walks = this.#terms.map((term) =>
      inPortions(size, (last) => {
        const { createdAt, id } = last === undefined ? after : positionOf(last);
        return this.#database.all(sql, term, createdAt, id, endOf(this.#query), size);
      })
    );
    return walks.length === 1 && walks[0] !== undefined ? walks[0] : mergeWalks(walks);
  }

  #exactRow(id: string, after: ListPosition): Row[] {
    const sql = "SELECT row, id, version, index_entry FROM actor WHERE id = ?";
    return this.#database.all(sql, id)
      .map((row) => ({ ...row, created_at: entryOf(row).createdAt }))
      .filter(({ created_at }) => comparePositions({ createdAt: created_at, id }, after) > 0);
  }
}

/** The way that seems to have the fewest entries after this position; of equal ones the first. */
function chooseTerms(
  database: SqliteDatabase,
  ways: readonly string[][],
  after: ListPosition,
): string[] {
  let [best, earliest] = [ways[0] ?? [ALL_TERM], Infinity];
  if (ways.length === 1) return best;
  for (const way of ways) {
    // -Infinity for a way that is nearly at its end, and for one without terms.
    const reach = way.reduce(
      (time, term) => Math.max(time, lookAhead(database, term, after)),
      -Infinity,
    );
    if (reach < earliest) [best, earliest] = [way, reach];
  }
  return best;
}

/** Time of the entry LOOK_AHEAD entries ahead: the earlier it is, the fewer entries there are. */
function lookAhead(database: SqliteDatabase, term: string, after: ListPosition): number {
  const sql = `SELECT created_at FROM term WHERE term = ? AND (created_at, id) < (?, ?)
    ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ?`;
  const row = database.get(sql, term, after.createdAt, after.id, LOOK_AHEAD);
  return Number(row?.["created_at"] ?? -Infinity);
}

/** The entry of a listed actor, or a stand-in if it can't be read. */
export function entryOf(row: Row): IndexEntry {
  return parseEntry(row["index_entry"]) ?? unreadableEntry(positionOf(row));
}

/** The place of a row in the order of lists. */
export function positionOf(row: Row): ListPosition {
  return { createdAt: Number(row["created_at"] ?? 0), id: String(row["id"]) };
}

/** Several walks as one, in the order of lists. */
function* mergeWalks(walks: Generator<Row>[]): Generator<Row> {
  const heads: (Row | undefined)[] = walks.map((walk) => walk.next().value as Row | undefined);
  while (true) {
    let first = -1;
    heads.forEach((row, index) => {
      const best = heads[first];
      if (row === undefined) return;
      if (best === undefined || comparePositions(positionOf(row), positionOf(best)) < 0) {
        first = index;
      }
    });
    const row = heads[first];
    if (row === undefined) return;
    yield row;
    heads[first] = walks[first]?.next().value as Row | undefined;
  }
}
