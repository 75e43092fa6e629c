// deno-lint-ignore-file require-await -- so that trouble and refusals are rejections
/** Lists and watches of the memory adapter. */
import {
  comparePositions,
  continueAfter,
  countedQuery,
  type ListPosition,
  matchesEntry,
  parseContinue,
  placeOf,
  sizeOfParts,
  wantsPart,
} from "../list_query.ts";
import type { IndexEntry, ListPage, ListQuery, QueryStore } from "../port.ts";
import { FEED_BATCH, parseVersion, type WatchedFeed, watchFeed } from "../watch_feed.ts";
import { type MemoryState, readFeed } from "./state.ts";

/** An actor that may be listed, and its position. */
interface Listed extends ListPosition {
  index: IndexEntry;
}

/** The methods are properties, so that a wrapper can replace some of them. */
export class MemoryQuery implements QueryStore {
  readonly #state: MemoryState;
  readonly #feed: WatchedFeed;

  constructor(state: MemoryState) {
    this.#state = state;
    this.#feed = {
      read: (after, max) => readFeed(state, after, max),
      isClosed: () => state.closed,
      wakeups: state.wakeups,
    };
  }

  readonly list: QueryStore["list"] = async (query) => {
    const all = this.#listedAfter(parseContinue(query.continue), query);
    const found = all.filter(({ index }) => matchesEntry(index, query));
    const { page, isFull } = this.#pageOf(found, query);
    const end = query.limit > 0 ? all[(query.maxScan ?? Infinity) - 1] : undefined;
    const isCut = end !== undefined &&
      (!isFull || comparePositions(end, page.at(-1) ?? end) < 0);
    const shown = isCut ? page.filter((one) => comparePositions(one, end) <= 0) : page;
    const last = isCut ? end : shown.at(-1);
    const remaining = found.length - shown.length;
    return {
      items: shown.map((one) => this.#itemOf(one, query)),
      ...(last !== undefined && (isCut || remaining > 0) && { continue: continueAfter(last) }),
      ...(query.count === true && { remaining }),
      version: String(this.#state.version),
    };
  };

  readonly count: QueryStore["count"] = async (of, bounds) => {
    const query = countedQuery(of);
    const times = this.#listedAfter(undefined, query)
      .filter(({ index }) => matchesEntry(index, query))
      .map(({ createdAt }) => of.waiting === true ? -createdAt : createdAt);
    return {
      oldest: of.waiting === true ? undefined : times.at(-1),
      counts: bounds.slice(1).map((end, at) =>
        times.filter((time) => time >= (bounds[at] ?? 0) && time < end).length
      ),
    };
  };

  /** Actors that may be listed after a position, in the order of lists. */
  #listedAfter(after: ListPosition | undefined, query: ListQuery): Listed[] {
    const all: Listed[] = [];
    for (const [id, { index }] of this.#state.actors) {
      if (!id.startsWith(`${query.kind}/`) || !index) continue;
      const position = { id, createdAt: placeOf(index, query) };
      if (after === undefined || comparePositions(position, after) > 0) {
        all.push({ ...position, index });
      }
    }
    return all.sort(comparePositions);
  }

  /** As many as the limit and the size allow, and whether one of these ended the page. */
  #pageOf(found: readonly Listed[], query: ListQuery): { page: Listed[]; isFull: boolean } {
    const page: Listed[] = [];
    let size = 0;
    for (const one of found) {
      if (page.length > 0 && size >= (query.maxSize ?? Infinity)) return { page, isFull: true };
      page.push(one);
      size += sizeOfParts(this.#partsOf(one.id, query));
      if (query.limit > 0 && page.length === query.limit) return { page, isFull: true };
    }
    return { page, isFull: false };
  }

  #partsOf(id: string, query: ListQuery): Record<string, string> {
    const parts = [...this.#state.actors.get(id)?.parts ?? []];
    return Object.fromEntries(parts.filter(([key]) => wantsPart(key, query)));
  }

  #itemOf({ id, index }: Listed, query: ListQuery): ListPage["items"][number] {
    return {
      id,
      version: String(this.#state.actors.get(id)?.version),
      parts: this.#partsOf(id, query),
      index: structuredClone(index),
    };
  }

  readonly findByUid: QueryStore["findByUid"] = (uid) => {
    for (const [id, { index }] of this.#state.actors) {
      if (index?.uid === uid) return Promise.resolve(id);
    }
    return Promise.resolve(undefined);
  };

  readonly version: QueryStore["version"] = () => Promise.resolve(String(this.#state.version));

  readonly watch: QueryStore["watch"] = (after, signal) =>
    watchFeed(this.#feed, after ?? String(this.#state.version), signal);

  readonly changes: QueryStore["changes"] = async (after) =>
    readFeed(this.#state, parseVersion(after), FEED_BATCH);

  readonly history: QueryStore["history"] = async (_shard, id, after) =>
    readFeed(this.#state, parseVersion(after), Infinity).filter((change) => change.id === id);
}
