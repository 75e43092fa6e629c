/**
 * Lists of the Redis adapter. Each shard has an ordered set for every term; a list walks the sets of the term with the
 * fewest entries in all shards at the same time, merges them newest first, and loads what it shows. It costs what it
 * returns, as long as the query is about one namespace, phase or label value.
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
import type { ListPage, ListQuery, QueryStore } from "./port.ts";
import { forEachShard, type RedisContext } from "./redis_context.ts";
import { decodeIndex } from "./redis_index.ts";
import { ACTOR_FIELD, COMMON_PARTS, SHARD_KEY } from "./redis_keys.ts";
import { listOf, pairsOf, textsOf } from "./redis_replies.ts";
import { SCAN_DOWN } from "./redis_scripts.ts";
import { readVersion } from "./redis_version.ts";
import { createRedisWatch } from "./redis_watch.ts";

type Item = ListPage["items"][number];

interface Candidate extends ListPosition {
  shard: number;
}

/** A walk down the ordered set of one term in one shard. */
interface Walk {
  shard: number;
  key: string;
  after: ListPosition | undefined;
  fetched: Candidate[];
  isAtEnd: boolean;
  /** How many to fetch next time. */
  next: number;
}

const MAX_FETCH = 1_000;
const BATCH = 250;

export function createRedisQuery(context: RedisContext): QueryStore {
  const { link, keys } = context;

  async function chooseWay(query: ListQuery, shards: number): Promise<string[]> {
    const ways = drivingTerms(query);
    const counts = await Promise.all(
      ways.length === 1 ? [] : ways.map((way) => countEntries(way, shards)),
    );
    let best = 0;
    counts.forEach((count, index) => {
      if (count < (counts[best] ?? Infinity)) best = index;
    });
    return ways[best] ?? [];
  }

  async function countEntries(way: string[], shards: number): Promise<number> {
    const counts = await Promise.all(way.map((term) =>
      forEachShard(shards, async (shard) => {
        const key = termKey(shard, term);
        return Number(await link.send(key, ["ZCARD", key]));
      })
    ));
    return counts.flat().reduce((sum, count) => sum + count, 0);
  }

  function termKey(shard: number, term: string): string {
    return keys.shard(shard) + SHARD_KEY.term + term;
  }

  function scan(key: string, after: ListPosition | undefined, count: number): Promise<unknown> {
    const from = after === undefined ? ["", ""] : [String(after.createdAt), after.id];
    return link.run(SCAN_DOWN, key, [...from, String(count)]);
  }

  async function refill(walk: Walk, query: ListQuery): Promise<void> {
    const reply = await scan(walk.key, walk.after, walk.next);
    const found = pairsOf(listOf(reply)[1]);
    for (const [id, score] of found) {
      const createdAt = Number(score);
      if (query.createdAfter !== undefined && createdAt < query.createdAfter) walk.isAtEnd = true;
      else walk.fetched.push({ id, createdAt, shard: walk.shard });
    }
    if (found.length < walk.next) walk.isAtEnd = true;
    walk.after = walk.fetched.at(-1) ?? walk.after;
    walk.next = Math.min(MAX_FETCH, walk.next * 2);
  }

  /** The next candidates over all walks, newest first, at most `count`. */
  async function merge(walks: Walk[], query: ListQuery, count: number): Promise<Candidate[]> {
    const merged: Candidate[] = [];
    while (merged.length < count) {
      const empty = walks.filter((walk) => walk.fetched.length === 0 && !walk.isAtEnd);
      await Promise.all(empty.map((walk) => refill(walk, query)));
      const heap = walks.filter((walk) => walk.fetched.length > 0);
      if (heap.length === 0) break;
      while (merged.length < count) {
        const first = firstOf(heap);
        const candidate = first?.fetched.shift();
        if (first === undefined || candidate === undefined) break;
        merged.push(candidate);
        if (first.fetched.length > 0) continue;
        if (!first.isAtEnd) break;
        heap.splice(heap.indexOf(first), 1);
      }
    }
    return merged;
  }

  /** A walk over the only entry that can be meant, wherever it is. */
  async function walkTo(
    id: string,
    after: ListPosition | undefined,
    shards: number,
  ): Promise<Walk> {
    const found = await forEachShard(shards, async (shard): Promise<Candidate[]> => {
      const key = termKey(shard, ALL_TERM);
      const score = await link.send(key, ["ZSCORE", key, id]);
      return score === null ? [] : [{ id, createdAt: Number(score), shard }];
    });
    const fetched = found.flat()
      .filter((one) => after === undefined || comparePositions(one, after) > 0);
    return { ...walkOf(0, "", after, 0), fetched, isAtEnd: true };
  }

  async function select(candidates: Candidate[], query: ListQuery): Promise<Candidate[]> {
    const selected = await Promise.all(candidates.map(async ({ shard, id }) => {
      if (!matchesId(id, query)) return false;
      const key = keys.shard(shard) + SHARD_KEY.actor + id;
      const text = await link.send(key, ["HGET", key, ACTOR_FIELD.index]);
      return typeof text === "string" && matchesEntry(decodeIndex(id, text), query);
    }));
    return candidates.filter((_, index) => selected[index]);
  }

  async function load({ shard, id }: Candidate, query: ListQuery): Promise<Item | undefined> {
    const key = keys.shard(shard) + SHARD_KEY.actor + id;
    const fields = new Map<string, string>();
    if (query.withoutNodes === true) {
      const names = [...Object.values(ACTOR_FIELD), ...COMMON_PARTS];
      await loadFields(key, names, fields);
      const others = fields.get(ACTOR_FIELD.others);
      if (others !== undefined) await loadFields(key, others.split("\n"), fields);
    } else {
      for (const [name, text] of pairsOf(await link.send(key, ["HGETALL", key]))) {
        fields.set(name, text);
      }
    }
    const version = fields.get(ACTOR_FIELD.version);
    const index = fields.get(ACTOR_FIELD.index);
    if (version === undefined || index === undefined) return undefined;
    for (const field of Object.values(ACTOR_FIELD)) fields.delete(field);
    const parts = [...fields].filter(([part]) => wantsPart(part, query));
    return { id, version, parts: Object.fromEntries(parts), index: decodeIndex(id, index) };
  }

  async function loadFields(key: string, names: string[], into: Map<string, string>) {
    const texts = textsOf(await link.send(key, ["HMGET", key, ...names]));
    texts.forEach((text, index) => {
      if (text !== undefined) into.set(names[index] ?? "", text);
    });
  }

  async function countAfter(walks: Walk[], last: ListPosition, isWhole: boolean, query: ListQuery) {
    if (isWhole) {
      const counts = await Promise.all(
        walks.map(async ({ key }) => Number(listOf(await scan(key, last, 0))[0])),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    }
    const rest = walks.map((walk) => walkOf(walk.shard, walk.key, last, MAX_FETCH));
    let count = 0;
    while (true) {
      const candidates = await merge(rest, query, MAX_FETCH);
      if (candidates.length === 0) return count;
      count += (await select(candidates, query)).length;
    }
  }

  return {
    async list(query) {
      const after = parseContinue(query.continue);
      const [version, shards] = await Promise.all([readVersion(context), context.shardCount()]);
      const exact = exactId(query);
      const way = exact === undefined ? await chooseWay(query, shards) : [ALL_TERM];
      const isWhole = isWholeQuery(way, query);
      const wanted = query.limit > 0 ? query.limit + 1 : Infinity;
      const first = query.limit > 0 ? Math.ceil(2 * wanted / shards) + 2 : BATCH;
      const walks = exact !== undefined
        ? [await walkTo(exact, after, shards)]
        : way.flatMap((term) =>
          Array.from(
            { length: shards },
            (_, shard) => walkOf(shard, termKey(shard, term), after, Math.min(first, MAX_FETCH)),
          )
        );
      const items: Item[] = [];
      let next: ListPosition | undefined;
      let last: ListPosition | undefined;
      let scanned = 0;
      while (next === undefined) {
        const count = Math.min(BATCH, wanted - items.length);
        const candidates = await merge(walks, query, isWhole ? count : Math.max(count, 64));
        if (candidates.length === 0) break;
        const selected = isWhole ? candidates : await select(candidates, query);
        const shown = selected.slice(0, Math.max(0, wanted - 1 - items.length));
        next = selected[shown.length];
        last = shown.at(-1) ?? last;
        scanned += candidates.length;
        if (next === undefined && scanned >= (query.maxScan ?? Infinity)) {
          next = candidates.at(-1);
          last = next;
        }
        for (const item of await Promise.all(shown.map((one) => load(one, query)))) {
          if (item !== undefined && item.id.startsWith(`${query.kind}/`)) items.push(item);
        }
      }
      const hasMore = next !== undefined && last !== undefined;
      return {
        items,
        ...(hasMore && last !== undefined && { continue: continueAfter(last) }),
        ...(query.count === true && {
          remaining: hasMore && last !== undefined
            ? await countAfter(walks, last, isWhole, query)
            : 0,
        }),
        version,
      };
    },

    async findByUid(uid) {
      const found = await forEachShard(await context.shardCount(), (shard) => {
        const key = keys.shard(shard) + SHARD_KEY.uids;
        return link.send(key, ["HGET", key, uid]);
      });
      return found.find((id) => typeof id === "string");
    },

    version: () => readVersion(context),

    watch: createRedisWatch(context),
  };
}

function walkOf(shard: number, key: string, after: ListPosition | undefined, next: number): Walk {
  return { shard, key, after, fetched: [], isAtEnd: false, next };
}

function firstOf(walks: Walk[]): Walk | undefined {
  let first: Walk | undefined;
  for (const walk of walks) {
    const [a, b] = [walk.fetched[0], first?.fetched[0]];
    if (a !== undefined && (b === undefined || comparePositions(a, b) < 0)) first = walk;
  }
  return first;
}
