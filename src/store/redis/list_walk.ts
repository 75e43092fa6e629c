/** How the Redis adapter finds what a list shows: it walks ordered sets of all shards at the same time, newest first. */
import {
  ALL_TERM,
  comparePositions,
  countedQuery,
  endOf,
  exactId,
  isWholeQuery,
  type ListPosition,
} from "../list_query.ts";
import type { CountedEntries, EntryCounts } from "../entry_counts.ts";
import type { ListQuery } from "../port.ts";
import type { RedisContext } from "./context.ts";
import { SHARD_KEY } from "./keys.ts";
import { COUNT_ENTRIES, COUNT_SPANS, FIND, SCAN_DOWN } from "./list_scripts.ts";
import { listOf, pairsOf } from "./replies.ts";
import { askShards } from "./shard_calls.ts";

/** An actor that a list may show. */
export interface Candidate extends ListPosition {
  shard: number;
}

/**
 * A walk down ordered sets of one shard, merged. They are read in one step and up to the same place: an entry that moves
 * from one to another between two reads is seen once.
 */
interface ShardWalk {
  shard: number;
  keys: string[];
  after: ListPosition | undefined;
  /** Fetched and not yet merged. */
  fetched: Candidate[];
  isAtEnd: boolean;
  /** How many entries to fetch next time. */
  next: number;
}

const MAX_FETCH = 1_000;
/** How many entries each set gives first if the page has no limit. */
const FIRST_FETCH = 250;

/** The walks of a query, merged. */
export class ListWalk {
  /** Every entry of the walk is selected. */
  readonly isWhole: boolean;
  readonly #context: RedisContext;
  readonly #query: ListQuery;
  readonly #walks: ShardWalk[];
  /** Merged and not yet taken. */
  readonly #ready: Candidate[];

  private constructor(
    context: RedisContext,
    query: ListQuery,
    { isWhole, walks, ready }: { isWhole: boolean; walks: ShardWalk[]; ready: Candidate[] },
  ) {
    this.#context = context;
    this.#query = query;
    this.isWhole = isWhole;
    this.#walks = walks;
    this.#ready = ready;
  }

  /**
   * Begins a walk.
   * @param after where the list begins
   * @param wanted number of candidates that a page needs
   */
  static async begin(
    context: RedisContext,
    query: ListQuery,
    after: ListPosition | undefined,
    wanted: number,
  ): Promise<ListWalk> {
    const shards = await context.shardCount();
    const exact = exactId(query);
    if (exact !== undefined) {
      const ready = await findOne(context, exact, after, shards);
      const isWhole = isWholeQuery([ALL_TERM], query);
      return new ListWalk(context, query, { isWhole, walks: [], ready });
    }
    const terms = await chooseTerms(context, query, shards);
    const each = wanted === Infinity ? FIRST_FETCH : 2 * wanted / shards + 2;
    const first = Math.ceil(Math.min(MAX_FETCH, each));
    const walks = Array.from({ length: shards }, (_, shard) => {
      const keys = terms.map((term) => setKey(context, shard, term));
      return walkDown({ shard, keys }, after, first);
    });
    return new ListWalk(context, query, { isWhole: isWholeQuery(terms, query), walks, ready: [] });
  }

  /** The next candidates, newest first: `count` of them, unless there are fewer. */
  async take(count: number): Promise<Candidate[]> {
    const ready = this.#ready;
    while (ready.length < count) {
      await this.#refill();
      const found = takeMerged(this.#walks);
      if (found.length === 0 && this.#walks.every(({ isAtEnd }) => isAtEnd)) break;
      for (const one of found) ready.push(one);
    }
    return ready.splice(0, count);
  }

  /**
   * Number of selected candidates after a position.
   * @param select returns the selected ones
   */
  async countAfter(
    last: ListPosition,
    select: (candidates: Candidate[]) => Promise<Candidate[]>,
  ): Promise<number> {
    const walks = this.#walks.map((walk) => walkDown(walk, last, MAX_FETCH));
    if (this.isWhole) {
      const counts = (await scan(this.#context, walks, () => 0)).flat();
      return counts.reduce<number>((sum, reply) => sum + Number(listOf(reply)[0]), 0);
    }
    const rest = new ListWalk(this.#context, this.#query, { isWhole: false, walks, ready: [] });
    let count = 0;
    for (;;) {
      const candidates = await rest.take(MAX_FETCH);
      if (candidates.length === 0) return count;
      count += (await select(candidates)).length;
    }
  }

  /** Fetches entries for the walks that have none left. */
  async #refill(): Promise<void> {
    const empty = this.#walks.filter(({ fetched, isAtEnd }) => fetched.length === 0 && !isAtEnd);
    const replies = await scan(this.#context, empty, ({ next }) => next);
    const end = endOf(this.#query);
    empty.forEach((walk, index) => {
      const found = mergeSets(walk, replies[index] ?? []);
      walk.isAtEnd = found.isAtEnd;
      for (const one of found.candidates) {
        if (one.createdAt < end) walk.isAtEnd = true;
        else walk.fetched.push(one);
      }
      walk.after = walk.fetched.at(-1) ?? walk.after;
      walk.next = Math.min(MAX_FETCH, walk.next * 2);
    });
  }
}

/** Entries of a walk's sets in order, as far as all of them were read. */
function mergeSets({ shard, next }: ShardWalk, replies: unknown[]) {
  let bound: ListPosition | undefined;
  const candidates: Candidate[] = [];
  for (const reply of replies) {
    const found = pairsOf(listOf(reply)[1]);
    for (const [id, score] of found) candidates.push({ id, createdAt: Number(score), shard });
    const last = candidates.at(-1);
    if (found.length < next || last === undefined) continue;
    if (bound === undefined || comparePositions(last, bound) < 0) bound = last;
  }
  if (replies.length > 1) candidates.sort(comparePositions);
  const end = bound;
  return {
    isAtEnd: end === undefined,
    candidates: end === undefined
      ? candidates
      : candidates.filter((one) => comparePositions(one, end) <= 0),
  };
}

function walkDown(
  { shard, keys }: Pick<ShardWalk, "shard" | "keys">,
  after: ListPosition | undefined,
  next: number,
): ShardWalk {
  return { shard, keys, after, fetched: [], isAtEnd: false, next };
}

function setKey({ keys }: RedisContext, shard: number, term: string): string {
  return keys.shard(shard) + SHARD_KEY.term + term;
}

/** The sets of some terms in all shards. */
function setsOf(context: RedisContext, terms: readonly string[], shards: number) {
  return terms.flatMap((term) =>
    Array.from({ length: shards }, (_, shard) => ({ shard, key: setKey(context, shard, term) }))
  );
}

/** The terms of the query with the fewest entries. */
async function chooseTerms(
  context: RedisContext,
  query: ListQuery,
  shards: number,
): Promise<string[]> {
  const ways = (await context.terms()).waysOf(query);
  if (ways.length === 1) return ways[0] ?? [];
  const sets = ways.map((way) => setsOf(context, way, shards));
  const counts = await askShards(
    context,
    COUNT_ENTRIES,
    ["ZCARD"],
    sets.flat(),
    ({ key }) => [key],
  );
  let [best, least, at] = [0, Infinity, 0];
  sets.forEach(({ length }, index) => {
    const count = counts.slice(at, at += length).reduce<number>((sum, n) => sum + Number(n), 0);
    if (count < least) [best, least] = [index, count];
  });
  return ways[best] ?? [];
}

/** As `QueryStore.count`. */
export async function countEntries(
  context: RedisContext,
  of: CountedEntries,
  bounds: readonly number[],
): Promise<EntryCounts> {
  const [terms = []] = (await context.terms()).waysOf(countedQuery(of));
  const sets = setsOf(context, terms, await context.shardCount());
  const first = [String(bounds.length), ...bounds.map(String)];
  const replies = await askShards(context, COUNT_SPANS, first, sets, ({ key }) => [key]);
  const counts = bounds.slice(1).map(() => 0);
  let oldest: number | undefined;
  for (const reply of replies) {
    const [lowest, ...numbers] = listOf(reply).map(Number);
    if (lowest === undefined) continue;
    oldest = Math.min(oldest ?? lowest, lowest);
    for (const [at, number] of numbers.entries()) counts[at] = (counts[at] ?? 0) + number;
  }
  return { oldest, counts };
}

/** The only entry that a query for one name can select, in whichever shard it is. */
async function findOne(
  context: RedisContext,
  id: string,
  after: ListPosition | undefined,
  shards: number,
): Promise<Candidate[]> {
  const sets = setsOf(context, [ALL_TERM], shards);
  const scores = await askShards(context, FIND, ["ZSCORE", id], sets, ({ key }) => [key]);
  return scores.flatMap((score, shard): Candidate[] => {
    const one = { id, createdAt: Number(score), shard };
    return score === null || (after && comparePositions(one, after) <= 0) ? [] : [one];
  });
}

/** For each walk the replies about its sets. */
async function scan(
  context: RedisContext,
  walks: ShardWalk[],
  countOf: (walk: ShardWalk) => number,
): Promise<unknown[][]> {
  const sets = walks.flatMap((walk) => walk.keys.map((key) => ({ key, walk, shard: walk.shard })));
  const replies = await askShards(context, SCAN_DOWN, [], sets, ({ key, walk }) => {
    const { after } = walk;
    const from = after === undefined ? ["", ""] : [String(after.createdAt), after.id];
    return [key, ...from, String(countOf(walk))];
  });
  let at = 0;
  return walks.map(({ keys }) => replies.slice(at, at += keys.length));
}

/** Takes the entries that come before everything not fetched yet, in order. */
function takeMerged(walks: ShardWalk[]): Candidate[] {
  let bound: ListPosition | undefined;
  for (const { fetched, isAtEnd } of walks) {
    const last = fetched.at(-1);
    if (isAtEnd || last === undefined) continue;
    if (bound === undefined || comparePositions(last, bound) < 0) bound = last;
  }
  const found: Candidate[] = [];
  for (const walk of walks) {
    let count = 0;
    for (const one of walk.fetched) {
      if (bound !== undefined && comparePositions(one, bound) > 0) break;
      found.push(one);
      count++;
    }
    walk.fetched.splice(0, count);
  }
  return found.sort(comparePositions);
}
