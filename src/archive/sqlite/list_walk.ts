/**
 * How a list finds its rows in the SQLite file: it walks the index, or what is filed under the terms, that seems to have
 * the fewest rows ahead, newest first.
 */
import type { SQLInputValue } from "node:sqlite";
import { inPortions, type Row, type SqliteFile } from "../../platform/sqlite/sqlite_file.ts";
import { Turns } from "../../platform/turns.ts";
import type { ArchivedEntry, ArchivePosition, ArchiveQuery } from "../port.ts";
import { comparePositions, matchesEntry, positionOf } from "../query.ts";
import { ENTRY_COLUMNS, entryOf, type Term } from "./rows.ts";

/** Most rows that are examined before others get their turn; a walk begins with fewer. */
const MAX_SLICE = 500;
/** How many rows ahead the choice of a way looks. */
const LOOK_AHEAD = 100;
/** Up to this many rows whose names begin alike are sorted; more are looked for in the order of lists. */
const MAX_SORTED = 2_000;

/** The order of lists, all descending. */
const ORDER = ["created_at", "place", "uid"];

/** A source of rows in the order of lists. */
interface Source {
  table: "archived" | "filed";
  where: string;
  values: SQLInputValue[];
}

/** Rows that were examined one after the other, selected or not. */
export interface Slice {
  found: { row: Row; entry: ArchivedEntry }[];
  examined: number;
  /** The last one that was examined. */
  last: ArchivePosition | undefined;
}

export class ListWalk {
  readonly #file: SqliteFile;
  readonly #query: ArchiveQuery;

  constructor(file: SqliteFile, query: ArchiveQuery) {
    this.#file = file;
    this.#query = query;
  }

  /** The rows after a position; others get their turn between slices. */
  async *slices(after: ArchivePosition): AsyncGenerator<Slice> {
    const sorted = this.#sortedByName(after);
    if (sorted !== undefined) {
      yield sorted;
      return;
    }
    const sources = this.#choose(after);
    let left = this.#query.maxScan ?? Infinity;
    let next = Math.min(MAX_SLICE, this.#query.limit + 1);
    const turns = new Turns();
    for (let position = after;;) {
      const rows: Row[] = [];
      const size = Math.min(next, left);
      for (const row of this.#rowsAfter(sources, position, size)) {
        rows.push(row);
        if (rows.length === size) break;
      }
      const slice = this.#sliceOf(rows);
      yield slice;
      if (slice.last === undefined || rows.length < size) return;
      position = slice.last;
      next = Math.min(MAX_SLICE, 2 * next);
      left = Math.max(1, left - rows.length);
      await turns.pause();
    }
  }

  #sliceOf(rows: Row[]): Slice {
    const entries = rows.map((row) => ({ row, entry: entryOf(row) }));
    const last = entries.at(-1)?.entry;
    return {
      found: entries.filter(({ entry }) => matchesEntry(entry, this.#query)),
      examined: rows.length,
      last: last && positionOf(last),
    };
  }

  /** All rows of a name's beginning after a position, if they are few. */
  #sortedByName(after: ArchivePosition): Slice | undefined {
    const { name } = this.#query;
    if (name?.match !== "prefix") return undefined;
    const rows = this.#file.all(
      `SELECT ${ENTRY_COLUMNS} FROM archived WHERE name >= ? AND name < ? || char(1114111) LIMIT ?`,
      name.value,
      name.value,
      MAX_SORTED + 1,
    );
    if (rows.length > MAX_SORTED) return undefined;
    const slice = this.#sliceOf(rows);
    const found = slice.found
      .filter(({ entry }) => comparePositions(positionOf(entry), after) > 0)
      .sort((a, b) => comparePositions(positionOf(a.entry), positionOf(b.entry)));
    return { ...slice, found, last: undefined };
  }

  /** @param wanted how many of the rows will be read, about */
  #rowsAfter(
    sources: readonly Source[],
    after: ArchivePosition,
    wanted: number,
  ): Iterable<Row> {
    const size = Math.ceil(wanted / Math.max(1, sources.length));
    const walks = sources.map((source) =>
      inPortions(size, (last) => {
        const { createdAt, place, uid } = last === undefined ? after : positionOf(entryOf(last));
        return this.#file.all(
          `SELECT ${ENTRY_COLUMNS.replace(/\w+/g, "a.$&")}
         FROM ${
            source.table === "filed" ? "filed o JOIN archived a ON a.uid = o.uid" : "archived a"
          }
         WHERE ${source.where} AND ${isAfter(source)} AND ${prefixOf(source)}created_at >= ?
         ORDER BY ${orderOf(source)} LIMIT ?`,
          ...source.values,
          createdAt,
          place,
          uid,
          this.#query.createdAfter ?? -8.64e15,
          size,
        );
      })
    );
    const [only] = walks;
    return walks.length === 1 && only !== undefined ? only : mergeWalks(walks);
  }

  /** The way that seems to have the fewest rows ahead; of equal ones the first. */
  #choose(after: ArchivePosition): Source[] {
    const ways = this.#ways();
    let [best, earliest] = [ways[0] ?? [], Infinity];
    if (ways.length === 1) return best;
    for (const way of ways) {
      // -Infinity for a way that is nearly at its end, and for one without sources.
      const reach = way.reduce(
        (time, one) => Math.max(time, this.#lookAhead(one, after)),
        -Infinity,
      );
      if (reach < earliest) [best, earliest] = [way, reach];
    }
    return best;
  }

  #lookAhead(source: Source, after: ArchivePosition): number {
    const row = this.#file.get(
      `SELECT created_at FROM ${source.table} ${source.table === "filed" ? "o" : "a"}
       WHERE ${source.where} AND ${isAfter(source)}
       ORDER BY ${orderOf(source)} LIMIT 1 OFFSET ?`,
      ...source.values,
      after.createdAt,
      after.place,
      after.uid,
      LOOK_AHEAD,
    );
    return Number(row?.["created_at"] ?? -Infinity);
  }

  /** Ways to find all rows that the query selects: sources that together have every one of them, none of them twice. */
  #ways(): Source[][] {
    const { labels = [], parameter, name, phases, namespace } = this.#query;
    // Hardly any workflows share a name, so there is nothing to choose.
    if (name?.match === "exact") return [[indexed("name", name.value)]];
    const ways: Source[][] = [];
    for (const { key, operator, values } of labels) {
      if (operator !== "=" && operator !== "in") continue;
      ways.push(this.#filed([...new Set(values)].map((value) => ({ kind: "l", key, value }))));
    }
    if (parameter !== undefined) {
      ways.push(this.#filed([{ kind: "p", key: parameter.name, value: parameter.value }]));
    }
    if (phases !== undefined) ways.push([...new Set(phases)].map((one) => indexed("phase", one)));
    if (namespace !== undefined) ways.push([indexed("namespace", namespace)]);
    return [...ways, [{ table: "archived", where: "true", values: [] }]];
  }

  /** Sources of terms; a term that no row has is left out. */
  #filed(terms: readonly Omit<Term, "namespace">[]): Source[] {
    return terms.flatMap(({ kind, key, value }) => {
      const sql = "SELECT id FROM term WHERE kind = ? AND namespace = '' AND key = ? AND value = ?";
      const id = this.#file.get(sql, kind, key, value)?.["id"];
      return id === undefined ? [] : [{ table: "filed", where: "o.term = ?", values: [id] }];
    });
  }
}

function indexed(column: "name" | "phase" | "namespace", value: string): Source {
  return { table: "archived", where: `a.${column} = ?`, values: [value] };
}

/** Of two tables, the one with the order: its own index is walked. */
function prefixOf({ table }: Source): string {
  return table === "filed" ? "o." : "a.";
}

function orderOf(source: Source): string {
  return ORDER.map((column) => `${prefixOf(source)}${column} DESC`).join(", ");
}

/** SQL for what comes after a position in lists. */
function isAfter(source: Source): string {
  return `(${ORDER.map((column) => prefixOf(source) + column).join(", ")}) < (?, ?, ?)`;
}

/** Several walks as one, in the order of lists. */
function* mergeWalks(walks: Generator<Row>[]): Generator<Row> {
  const next = (walk: Generator<Row> | undefined) => {
    const row = walk?.next().value as Row | undefined;
    return row && { row, position: positionOf(entryOf(row)) };
  };
  const heads = walks.map(next);
  while (true) {
    let first = -1;
    heads.forEach((head, index) => {
      const best = heads[first];
      if (head === undefined) return;
      if (best === undefined || comparePositions(head.position, best.position) < 0) first = index;
    });
    const head = heads[first];
    if (head === undefined) return;
    yield head.row;
    heads[first] = next(walks[first]);
  }
}
