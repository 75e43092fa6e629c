/**
 * Lists and watches of the SQLite adapter. A list walks the term with the fewest entries that covers the query, newest
 * first, and looks at each entry until the page is full.
 */
import {
  ALL_TERM,
  comparePositions,
  continueAfter,
  drivingTerms,
  exactId,
  isWholeQuery,
  type ListPosition,
  matchesEntry,
  matchesId,
  parseContinue,
  wantsPart,
} from "./list_query.ts";
import type { IndexEntry, ListPage, ListQuery, QueryStore } from "./port.ts";
import { NODE_PART_PREFIX } from "./port.ts";
import type { Row, SqliteDatabase } from "./sqlite_database.ts";
import { readFeed } from "./sqlite_feed.ts";
import { parseEntry } from "./sqlite_shards.ts";
import type { Wakeups } from "./wakeups.ts";
import { watchFeed } from "./watch_feed.ts";

/** Entries that are looked at before others get their turn. */
const SLICE = 250;
/** Terms with more entries than this are all the same to the choice. */
const COUNT_UP_TO = 1_000;
const LATEST: ListPosition = { createdAt: Number.MAX_SAFE_INTEGER, id: "" };
const EARLIEST_MS = -8.64e15;

export function createSqliteQuery(database: SqliteDatabase, wakeups: Wakeups): QueryStore {
  function countUpTo(term: string): number {
    const sql = "SELECT count(*) AS n FROM (SELECT 1 FROM term WHERE term = ? LIMIT ?)";
    return Number(database.get(sql, term, COUNT_UP_TO)?.["n"]);
  }

  function chooseWay(query: ListQuery): string[] {
    const counted = drivingTerms(query).map((way) => ({
      way,
      count: way.reduce((sum, term) => sum + countUpTo(term), 0),
    }));
    counted.sort((a, b) => a.count - b.count);
    return counted[0]?.way ?? [ALL_TERM];
  }

  function walk(way: string[], after: ListPosition, query: ListQuery): Iterable<Row> {
    const exact = exactId(query);
    if (exact !== undefined) {
      const sql = "SELECT row, id, version, index_entry FROM actor WHERE id = ?";
      return database.all(sql, exact)
        .map((row) => ({ ...row, created_at: parseEntry(row["index_entry"])?.createdAt ?? 0 }))
        .filter(({ created_at }) =>
          comparePositions({ createdAt: created_at, id: exact }, after) > 0
        );
    }
    const walks = way.map((term) =>
      database.iterate(
        `SELECT t.created_at, a.row, a.id, a.version, a.index_entry
         FROM term t JOIN actor a ON a.id = t.id
         WHERE t.term = ? AND (t.created_at, t.id) < (?, ?) AND t.created_at >= ?
         ORDER BY t.created_at DESC, t.id DESC`,
        term,
        after.createdAt,
        after.id,
        query.createdAfter ?? EARLIEST_MS,
      )
    );
    return walks.length === 1 && walks[0] !== undefined ? walks[0] : mergeWalks(walks);
  }

  function loadParts(actor: Row, query: ListQuery): Record<string, string> {
    const all = "SELECT key, text FROM part WHERE actor = ?1";
    const end = NODE_PART_PREFIX.slice(0, -1) +
      String.fromCharCode(NODE_PART_PREFIX.charCodeAt(NODE_PART_PREFIX.length - 1) + 1);
    const rows = query.withoutNodes === true
      ? database.all(
        `${all} AND key < ?2 UNION ALL ${all} AND key >= ?3`,
        actor["row"] ?? null,
        NODE_PART_PREFIX,
        end,
      )
      : database.all(all, actor["row"] ?? null);
    const wanted = rows.filter(({ key }) => wantsPart(String(key), query));
    return Object.fromEntries(wanted.map(({ key, text }) => [key, String(text)]));
  }

  function itemOf(row: Row, query: ListQuery): ListPage["items"][number] {
    return {
      id: String(row["id"]),
      version: String(row["version"]),
      parts: loadParts(row, query),
      index: parseEntry(row["index_entry"]) as IndexEntry,
    };
  }

  /** The rows after a position, selected or not, in slices: others work between them. */
  async function* slices(
    way: string[],
    after: ListPosition,
    query: ListQuery,
  ): AsyncGenerator<Row[]> {
    const size = query.limit > 0 ? Math.min(SLICE, query.limit + 1) : SLICE;
    for (let position = after; !database.isClosed;) {
      const rows: Row[] = [];
      for (const row of walk(way, position, query)) {
        rows.push(row);
        if (rows.length === size) break;
      }
      yield rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < size) return;
      position = positionOf(last);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }

  async function remainingAfter(
    way: string[],
    after: ListPosition,
    query: ListQuery,
  ): Promise<number> {
    if (!isWholeQuery(way, query)) {
      let remaining = 0;
      for await (const rows of slices(way, after, { ...query, limit: 0 })) {
        for (const row of rows) if (isSelected(row, query)) remaining++;
      }
      return remaining;
    }
    const sql = "SELECT count(*) AS n FROM term WHERE term = ? AND (created_at, id) < (?, ?)";
    return way.reduce(
      (sum, term) => sum + Number(database.get(sql, term, after.createdAt, after.id)?.["n"]),
      0,
    );
  }

  return {
    async list(query) {
      const after = parseContinue(query.continue) ?? LATEST;
      const version = String(database.counter("version"));
      const way = exactId(query) === undefined ? chooseWay(query) : [ALL_TERM];
      const items: ListPage["items"] = [];
      let last: ListPosition | undefined;
      let hasMore = false;
      let scanned = 0;
      page: for await (const rows of slices(way, after, query)) {
        for (const row of rows) {
          if (!isSelected(row, query)) continue;
          if (query.limit > 0 && items.length === query.limit) {
            hasMore = true;
            break page;
          }
          last = positionOf(row);
          items.push(itemOf(row, query));
        }
        scanned += rows.length;
        const end = rows.at(-1);
        if (end !== undefined && scanned >= (query.maxScan ?? Infinity)) {
          last = positionOf(end);
          hasMore = true;
          break;
        }
      }
      return {
        items,
        ...(hasMore && last !== undefined && { continue: continueAfter(last) }),
        ...(query.count === true &&
          { remaining: hasMore && last ? await remainingAfter(way, last, query) : 0 }),
        version,
      };
    },

    // deno-lint-ignore require-await -- so that trouble is a rejection
    async findByUid(uid) {
      const row = database.get("SELECT id FROM actor WHERE uid = ?", uid);
      return row && String(row["id"]);
    },

    version: () => Promise.resolve(String(database.counter("version"))),

    watch(after, signal) {
      const feed = {
        read: (at: number, max: number) => readFeed(database, at, max),
        isClosed: () => database.isClosed,
        wakeups,
      };
      return watchFeed(feed, after ?? String(database.counter("version")), signal);
    },
  };
}

function isSelected(row: Row, query: ListQuery): boolean {
  if (!matchesId(String(row["id"]), query)) return false;
  const entry = parseEntry(row["index_entry"]);
  return entry !== undefined && matchesEntry(entry, query);
}

function positionOf(row: Row): ListPosition {
  return { createdAt: Number(row["created_at"]), id: String(row["id"]) };
}

function* mergeWalks(walks: Generator<Row>[]): Generator<Row> {
  try {
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
  } finally {
    // A statement that is left open would keep the log from being emptied.
    for (const walk of walks) walk.return(undefined);
  }
}
