/**
 * Lists and watches of the Redis adapter. Each shard has an ordered set for every term; a list walks the sets of the
 * term with the fewest entries in all shards at the same time, merges them newest first, and loads what it shows. A
 * list costs what it returns, as long as the query names a namespace, a phase or a label value. On one server a page
 * takes three or four calls, however many shards there are; on a cluster, as many for each shard.
 */
import { beginningOf, continueAfter, countWaits, type ListPosition } from "../list_query.ts";
import type { ListQuery, QueryStore } from "../port.ts";
import type { RedisContext } from "./context.ts";
import { SHARD_KEY } from "./keys.ts";
import { type Item, loadItems, selectCandidates } from "./list_items.ts";
import { FIND } from "./list_scripts.ts";
import { type Candidate, countEntries, ListWalk } from "./list_walk.ts";
import { askShards } from "./shard_calls.ts";
import { readVersion } from "./version.ts";
import { RedisWatch } from "./feed/watch.ts";

/** Candidates that are examined together: few at first, more if few of them are selected. */
const [MIN_BATCH, MAX_BATCH] = [64, 1_000];
/** Items that are loaded together. */
const MAX_LOAD = 250;

/** A page, and the position after which the next one begins, if there is one. */
interface Page {
  items: Item[];
  next: ListPosition | undefined;
}

/** The methods are properties, so that a wrapper can replace some of them. */
export class RedisQuery implements QueryStore {
  readonly #context: RedisContext;
  readonly #watch: RedisWatch;

  constructor(context: RedisContext) {
    this.#context = context;
    this.#watch = new RedisWatch(context);
  }

  readonly list: QueryStore["list"] = async (query) => {
    const after = beginningOf(query);
    const reading = readVersion(this.#context);
    reading.catch(() => {});
    const wanted = query.limit > 0 ? query.limit + 1 : Infinity;
    const walk = await ListWalk.begin(this.#context, query, after, wanted);
    const { items, next } = await this.#page(walk, query, wanted);
    const remaining = next === undefined || query.count !== true
      ? 0
      : await walk.countAfter(next, (candidates) => this.#select(candidates, query));
    return {
      items,
      ...(next !== undefined && { continue: continueAfter(next) }),
      ...(query.count === true && { remaining }),
      version: await reading,
    };
  };

  readonly count: QueryStore["count"] = (of, bounds) =>
    of.waiting === true
      ? countWaits(bounds, (places) => countEntries(this.#context, of, places))
      : countEntries(this.#context, of, bounds);

  /** @param wanted one item more than the page may have, to find out whether there is a next page */
  async #page(walk: ListWalk, query: ListQuery, wanted: number): Promise<Page> {
    const items: Item[] = [];
    let last: ListPosition | undefined;
    let scanned = 0;
    let batch = MIN_BATCH;
    let room = query.maxSize ?? Infinity;
    for (;;) {
      const missing = Math.min(MAX_LOAD, wanted - items.length);
      const candidates = await walk.take(walk.isWhole ? missing : Math.max(missing, batch));
      if (candidates.length === 0) return { items, next: undefined };
      const selected = walk.isWhole ? candidates : await this.#select(candidates, query);
      const shown = selected.slice(0, Math.max(0, wanted - 1 - items.length));
      const loaded = await loadItems(this.#context, shown, query, room);
      for (const item of loaded.items) items.push(item);
      room -= loaded.size;
      last = shown[loaded.count - 1] ?? last;
      if (selected.length > loaded.count) return { items, next: last };
      scanned += candidates.length;
      if (scanned >= (query.maxScan ?? Infinity)) return { items, next: candidates.at(-1) };
      batch = Math.min(MAX_BATCH, 2 * batch);
    }
  }

  #select(candidates: Candidate[], query: ListQuery): Promise<Candidate[]> {
    return selectCandidates(this.#context, candidates, query);
  }

  readonly findByUid: QueryStore["findByUid"] = async (uid) => {
    const shards = await this.#context.shardCount();
    const sets = Array.from({ length: shards }, (_, shard) => ({
      shard,
      key: this.#context.keys.shard(shard) + SHARD_KEY.uids,
    }));
    const found = await askShards(this.#context, FIND, ["HGET", uid], sets, ({ key }) => [key]);
    return found.find((id) => typeof id === "string");
  };

  readonly version: QueryStore["version"] = () => readVersion(this.#context);

  readonly watch: QueryStore["watch"] = (after, signal) => this.#watch.watch(after, signal);

  readonly changes: QueryStore["changes"] = (after) => this.#watch.changes(after);

  readonly history: QueryStore["history"] = (shard, id, after) =>
    this.#watch.history(shard, id, after);
}
