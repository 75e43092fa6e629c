// deno-lint-ignore-file require-await -- so that trouble and refusals are rejections
/**
 * Lists and watches of the SQLite adapter. A list walks the terms that cover the query with the fewest entries near its
 * beginning, newest first, and examines entries until the page is full.
 */
import type { ReportUnreadable } from "../../platform/unreadable.ts";
import type { CountedEntries, EntryCounts } from "../entry_counts.ts";
import {
  beginningOf,
  continueAfter,
  countedQuery,
  countWaits,
  drivingTerms,
  type ListPosition,
  sizeOfParts,
} from "../list_query.ts";
import type { ListPage, ListQuery, QueryStore } from "../port.ts";
import { changeReader } from "../unreadable_change.ts";
import type { Wakeups } from "../wakeups.ts";
import { FEED_BATCH, parseVersion, type WatchedFeed, watchFeed } from "../watch_feed.ts";
import type { Row, SqliteDatabase } from "./database.ts";
import { readBehind, readFeed, readHistory } from "./feed.ts";
import { countSpan, oldestOf } from "./list_count.ts";
import { entryOf, ListWalk, positionOf } from "./list_walk.ts";
import { readParts, readPartsWithoutNodes, readWholeActor, type WholeActor } from "./parts.ts";

const LATEST: ListPosition = { createdAt: Number.MAX_SAFE_INTEGER, id: "" };

type Item = ListPage["items"][number];

/** An item that was loaded. */
type Loaded = Omit<WholeActor, "version"> & { item: Item };

/** A page, and the position after which the next one begins, if there is one. */
interface Page {
  items: Item[];
  next?: ListPosition | undefined;
}

/** The methods are properties, so that a wrapper can replace some of them. */
export class SqliteQuery implements QueryStore {
  readonly #database: SqliteDatabase;
  readonly #completedLabel: string;
  readonly #readChange: ReturnType<typeof changeReader>;
  readonly #feed: WatchedFeed;

  /** @param completedLabel the label that says whether a workflow has ended */
  constructor(
    database: SqliteDatabase,
    wakeups: Wakeups,
    completedLabel: string,
    onUnreadable: ReportUnreadable,
  ) {
    this.#database = database;
    this.#completedLabel = completedLabel;
    this.#readChange = changeReader(onUnreadable);
    this.#feed = {
      settled: () => database.unsettled,
      read: (after, max) => readFeed(database, this.#readChange, after, max),
      isClosed: () => database.isClosed,
      wakeups,
    };
  }

  readonly list: QueryStore["list"] = async (query) => {
    const version = this.#latestVersion();
    const after = beginningOf(query) ?? LATEST;
    const walk = new ListWalk(this.#database, query, after, this.#completedLabel);
    const { items, next } = await this.#page(walk, after, query);
    const remaining = next === undefined || query.count !== true ? 0 : await walk.countAfter(next);
    return {
      items,
      ...(next !== undefined && { continue: continueAfter(next) }),
      ...(query.count === true && { remaining }),
      version,
    };
  };

  readonly count: QueryStore["count"] = (of, bounds) =>
    of.waiting === true
      ? countWaits(bounds, (places) => this.#count(of, places))
      : this.#count(of, bounds);

  async #count(of: CountedEntries, bounds: readonly number[]): Promise<EntryCounts> {
    const [terms = []] = drivingTerms(countedQuery(of), this.#completedLabel);
    const counts: number[] = [];
    for (const [at, end] of bounds.slice(1).entries()) {
      let count = 0;
      for (const term of terms) {
        count += await countSpan(this.#database, term, bounds[at] ?? end, end);
      }
      counts.push(count);
    }
    const oldest = terms.flatMap((term) => oldestOf(this.#database, term) ?? []);
    return { oldest: oldest.length === 0 ? undefined : Math.min(...oldest), counts };
  }

  async #page(walk: ListWalk, after: ListPosition, query: ListQuery): Promise<Page> {
    const items: Item[] = [];
    let last: ListPosition | undefined;
    let [scanned, size] = [0, 0];
    for await (const rows of walk.slices(after, query.limit)) {
      let isFresh = true;
      for (const row of rows) {
        if (!walk.isSelected(row)) continue;
        const isFull = items.length > 0 && size >= (query.maxSize ?? Infinity);
        if (isFull || (query.limit > 0 && items.length === query.limit)) {
          return { items, next: last };
        }
        last = positionOf(row);
        const loaded = await this.#load(row, query, isFresh);
        if (loaded === undefined) continue;
        if (loaded.hasPaused) isFresh = false;
        items.push(loaded.item);
        if (query.maxSize !== undefined) size += sizeOfParts(loaded.parts);
      }
      scanned += rows.length;
      const end = rows.at(-1);
      if (end !== undefined && scanned >= (query.maxScan ?? Infinity)) {
        return { items, next: positionOf(end) };
      }
    }
    return { items };
  }

  /**
   * The item of a row; undefined if it has been removed meanwhile.
   * @param isFresh the row was read in this very turn
   */
  async #load(row: Row, query: ListQuery, isFresh: boolean): Promise<Loaded | undefined> {
    const id = String(row["id"]);
    const item = { id, version: String(row["version"]), index: entryOf(row) };
    if (query.parts === undefined && query.withoutNodes !== true) {
      const whole = await readWholeActor(this.#database, id, isFresh ? row : undefined);
      return whole && { ...whole, item: { ...item, version: whole.version, parts: whole.parts } };
    }
    const actor = row["row"] ?? null;
    const parts = query.parts === undefined
      ? readPartsWithoutNodes(this.#database, actor)
      : readParts(this.#database, actor, query.parts);
    return { item: { ...item, parts }, parts, hasPaused: false };
  }

  #latestVersion(): string {
    return String(this.#database.counter("version"));
  }

  readonly findByUid: QueryStore["findByUid"] = async (uid) => {
    const row = this.#database.get("SELECT id FROM actor WHERE uid = ?", uid);
    return row && String(row["id"]);
  };

  readonly version: QueryStore["version"] = () => Promise.resolve(this.#latestVersion());

  readonly watch: QueryStore["watch"] = (after, signal) =>
    watchFeed(this.#feed, after ?? this.#latestVersion(), signal);

  readonly changes: QueryStore["changes"] = async (after) =>
    readBehind(this.#database, this.#readChange, parseVersion(after), FEED_BATCH);

  readonly history: QueryStore["history"] = async (_shard, id, after) =>
    readHistory(this.#database, this.#readChange, parseVersion(after), id);
}
