/**
 * Lists and watches of the SQLite adapter. A list walks the term that covers the query with the fewest entries thereabouts,
 * newest first, and looks at each entry until the page is full.
 */
import type { ReportUnreadable } from "../platform/unreadable.ts";
import {
  ALL_TERM,
  beginningOf,
  comparePositions,
  continueAfter,
  drivingTerms,
  exactId,
  isWholeQuery,
  type ListPosition,
  matchesEntry,
  matchesId,
  sizeOfParts,
  unreadableEntry,
} from "./list_query.ts";
import type { IndexEntry, ListPage, ListQuery, QueryStore } from "./port.ts";
import type { Row, SqliteDatabase } from "./sqlite_database.ts";
import { readFeed, readHistory } from "./sqlite_feed.ts";
import {
  readParts,
  readPartsWithoutNodes,
  readWholeActor,
  type WholeActor,
} from "./sqlite_parts.ts";
import { parseEntry } from "./sqlite_shards.ts";
import { changeReader } from "./unreadable_change.ts";
import type { Wakeups } from "./wakeups.ts";
import { FEED_BATCH, parseVersion, watchFeed } from "./watch_feed.ts";

/** Entries that are looked at before others get their turn: more and more, while few are selected. */
const MAX_SLICE = 500;
/** How many entries of a term the choice looks ahead. */
const LOOK_AHEAD = 100;
const LATEST: ListPosition = { createdAt: Number.MAX_SAFE_INTEGER, id: "" };
const EARLIEST_MS = -8.64e15;

export function createSqliteQuery(
  database: SqliteDatabase,
  wakeups: Wakeups,
  completedLabel: string,
  onUnreadable: ReportUnreadable,
): QueryStore {
  const readChange = changeReader(onUnreadable);

  /** Time of the entry that is so many ahead; the further back it is, the fewer entries are thereabouts. */
  function lookAhead(term: string, after: ListPosition): number {
    const sql = `SELECT created_at FROM term WHERE term = ? AND (created_at, id) < (?, ?)
      ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ?`;
    const row = database.get(sql, term, after.createdAt, after.id, LOOK_AHEAD);
    return Number(row?.["created_at"] ?? -Infinity);
  }

  /** The way with the fewest entries after this position, as far as one sees; of equal ones the first. */
  function chooseWay(query: ListQuery, after: ListPosition): string[] {
    const ways = drivingTerms(query, completedLabel);
    let [best, earliest] = [ways[0] ?? [ALL_TERM], Infinity];
    if (ways.length === 1) return best;
    for (const way of ways) {
      // -Infinity for a way that is nearly at its end, also for one without terms.
      const reach = way.reduce((time, term) => Math.max(time, lookAhead(term, after)), -Infinity);
      if (reach < earliest) [best, earliest] = [way, reach];
    }
    return best;
  }

  function walk(way: string[], after: ListPosition, query: ListQuery): Iterable<Row> {
    const exact = exactId(query);
    if (exact !== undefined) {
      const sql = "SELECT row, id, version, index_entry FROM actor WHERE id = ?";
      return database.all(sql, exact)
        .map((row) => ({ ...row, created_at: entryOf(row).createdAt }))
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

  /** The item of a row; undefined when it has gone meanwhile. */
  async function load(row: Row, query: ListQuery, isFresh: boolean): Promise<Loaded | undefined> {
    const id = String(row["id"]);
    const item = { id, version: String(row["version"]), index: entryOf(row) };
    if (query.parts === undefined && query.withoutNodes !== true) {
      const whole = await readWholeActor(database, id, isFresh ? row : undefined);
      return whole && { ...whole, item: { ...item, version: whole.version, parts: whole.parts } };
    }
    const actor = row["row"] ?? null;
    const parts = query.parts === undefined
      ? readPartsWithoutNodes(database, actor)
      : readParts(database, actor, query.parts);
    return { item: { ...item, parts }, parts, hasPaused: false };
  }

  /** The rows after a position, selected or not, in slices: others work between them. */
  async function* slices(
    way: string[],
    after: ListPosition,
    query: ListQuery,
  ): AsyncGenerator<Row[]> {
    let size = query.limit > 0 ? Math.min(MAX_SLICE, query.limit + 1) : MAX_SLICE;
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
      size = Math.min(MAX_SLICE, 2 * size);
      await new Promise((resolve) => setImmediate(resolve));
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
      const after = beginningOf(query) ?? LATEST;
      const version = String(database.counter("version"));
      const way = exactId(query) === undefined ? chooseWay(query, after) : [ALL_TERM];
      const items: ListPage["items"] = [];
      let last: ListPosition | undefined;
      let hasMore = false;
      let scanned = 0;
      let size = 0;
      page: for await (const rows of slices(way, after, query)) {
        let isFresh = true;
        for (const row of rows) {
          if (!isSelected(row, query)) continue;
          const isFull = items.length > 0 && size >= (query.maxSize ?? Infinity);
          if (isFull || (query.limit > 0 && items.length === query.limit)) {
            hasMore = true;
            break page;
          }
          last = positionOf(row);
          const loaded = await load(row, query, isFresh);
          if (loaded === undefined) continue;
          if (loaded.hasPaused) isFresh = false;
          items.push(loaded.item);
          if (query.maxSize !== undefined) size += sizeOfParts(loaded.parts);
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
        read: (at: number, max: number) => readFeed(database, readChange, at, max),
        isClosed: () => database.isClosed,
        wakeups,
      };
      return watchFeed(feed, after ?? String(database.counter("version")), signal);
    },

    // deno-lint-ignore require-await -- so that trouble is a rejection
    async changes(after) {
      return readFeed(database, readChange, parseVersion(after), FEED_BATCH);
    },

    // deno-lint-ignore require-await -- so that trouble is a rejection
    async history(_shard, id, after) {
      return readHistory(database, readChange, parseVersion(after), id);
    },
  };
}

/** An item that was loaded. */
type Loaded = Omit<WholeActor, "version"> & { item: ListPage["items"][number] };

function isSelected(row: Row, query: ListQuery): boolean {
  return matchesId(String(row["id"]), query) && row["index_entry"] !== null &&
    matchesEntry(entryOf(row), query);
}

/** The entry of a listed actor; what stands for it when it cannot be read. */
function entryOf(row: Row): IndexEntry {
  return parseEntry(row["index_entry"]) ?? unreadableEntry(positionOf(row));
}

function positionOf(row: Row): ListPosition {
  return { createdAt: Number(row["created_at"] ?? 0), id: String(row["id"]) };
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
