/**
 * Lists of the Redis adapter. Each shard has an ordered set for every term; a list walks the sets of the term with the
 * fewest entries in all shards at the same time, merges them newest first, and loads what it shows. It costs what it
 * returns, as long as the query is about one namespace, phase or label value. On one server a page is three or four
 * calls, however many shards there are; on a cluster so many for each shard.
 */
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
  wantsPart,
} from "./list_query.ts";
import type { IndexEntry, ListPage, ListQuery, QueryStore } from "./port.ts";
import type { RedisContext } from "./redis_context.ts";
import { decodeIndex } from "./redis_index.ts";
import { ACTOR_FIELD, COMMON_PARTS, SHARD_KEY } from "./redis_keys.ts";
import { COUNT_ENTRIES, FIND, READ_FIELDS, SCAN_DOWN } from "./redis_list_scripts.ts";
import { listOf, pairsOf, textsOf } from "./redis_replies.ts";
import type { RedisScript } from "./redis_script.ts";
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
  /** Fetched and not yet merged. */
  fetched: Candidate[];
  isAtEnd: boolean;
  /** How many to fetch next time. */
  next: number;
}

/** Walks that go on together. */
interface Merge {
  walks: Walk[];
  /** Merged and not yet taken. */
  ready: Candidate[];
}

const MAX_FETCH = 1_000;
/** Candidates that are looked at together: few for a page of many that are shown, more where few are. */
const [MIN_BATCH, MAX_BATCH] = [64, 1_000];
/** Items that are loaded together. */
const MAX_LOAD = 250;
/** Fields of items that are loaded together. */
const MAX_FIELDS = 5_000;

export function createRedisQuery(context: RedisContext): QueryStore {
  const { link, keys } = context;

  /** Runs a reading script about something of several shards; the replies are in its order. */
  async function ask<T extends { shard: number }>(
    script: RedisScript,
    first: string[],
    about: T[],
    argsOf: (one: T) => string[],
  ): Promise<unknown[]> {
    if (about.length === 0) return [];
    const call = async (group: T[]) => {
      const args = group.flatMap(argsOf);
      return listOf(await link.run(script, keys.shard(group[0]?.shard ?? 0), [...first, ...args]));
    };
    if (link.isOneServer) return await call(about);
    const groups = new Map<number, T[]>();
    for (const one of about) {
      const group = groups.get(one.shard) ?? [];
      groups.set(one.shard, group);
      group.push(one);
    }
    const replies = new Map<T, unknown>();
    await Promise.all([...groups.values()].map(async (group) => {
      (await call(group)).forEach((reply, index) => replies.set(group[index] as T, reply));
    }));
    return about.map((one) => replies.get(one));
  }

  function termsOf(way: string[], shards: number): { shard: number; key: string }[] {
    return way.flatMap((term) =>
      Array.from({ length: shards }, (_, shard) => ({ shard, key: termKey(shard, term) }))
    );
  }

  function termKey(shard: number, term: string): string {
    return keys.shard(shard) + SHARD_KEY.term + term;
  }

  async function chooseWay(query: ListQuery, shards: number): Promise<string[]> {
    const ways = drivingTerms(query, context.completedLabel);
    if (ways.length === 1) return ways[0] ?? [];
    const sets = ways.map((way) => termsOf(way, shards));
    const counts = await ask(COUNT_ENTRIES, ["ZCARD"], sets.flat(), ({ key }) => [key]);
    let [best, least, at] = [0, Infinity, 0];
    sets.forEach(({ length }, index) => {
      const count = counts.slice(at, at += length).reduce<number>((sum, n) => sum + Number(n), 0);
      if (count < least) [best, least] = [index, count];
    });
    return ways[best] ?? [];
  }

  function scan(walks: Walk[], countOf: (walk: Walk) => number): Promise<unknown[]> {
    return ask(SCAN_DOWN, [], walks, (walk) => {
      const { key, after } = walk;
      const from = after === undefined ? ["", ""] : [String(after.createdAt), after.id];
      return [key, ...from, String(countOf(walk))];
    });
  }

  async function refill(walks: Walk[], query: ListQuery): Promise<void> {
    const replies = await scan(walks, ({ next }) => next);
    walks.forEach((walk, index) => {
      const found = pairsOf(listOf(replies[index])[1]);
      for (const [id, score] of found) {
        const createdAt = Number(score);
        if (query.createdAfter !== undefined && createdAt < query.createdAfter) walk.isAtEnd = true;
        else walk.fetched.push({ id, createdAt, shard: walk.shard });
      }
      if (found.length < walk.next) walk.isAtEnd = true;
      walk.after = walk.fetched.at(-1) ?? walk.after;
      walk.next = Math.min(MAX_FETCH, walk.next * 2);
    });
  }

  /** The next candidates over all walks, newest first: `count` of them unless there are no more. */
  async function take(merge: Merge, query: ListQuery, count: number): Promise<Candidate[]> {
    const { walks, ready } = merge;
    while (ready.length < count) {
      const empty = walks.filter(({ fetched, isAtEnd }) => fetched.length === 0 && !isAtEnd);
      await refill(empty, query);
      const found = nextOf(walks);
      if (found.length === 0 && walks.every(({ isAtEnd }) => isAtEnd)) break;
      for (const one of found) ready.push(one);
    }
    return ready.splice(0, count);
  }

  /** The only entry that can be meant, wherever it is. */
  async function findOne(id: string, after: ListPosition | undefined, shards: number) {
    const sets = termsOf([ALL_TERM], shards);
    const scores = await ask(FIND, ["ZSCORE", id], sets, ({ key }) => [key]);
    return scores.flatMap((score, shard): Candidate[] => {
      const one = { id, createdAt: Number(score), shard };
      return score === null || (after && comparePositions(one, after) <= 0) ? [] : [one];
    });
  }

  function actorKey({ shard, id }: Candidate): string {
    return keys.shard(shard) + SHARD_KEY.actor + id;
  }

  const keyArg = (one: Candidate) => [actorKey(one)];

  async function select(candidates: Candidate[], query: ListQuery): Promise<Candidate[]> {
    const possible = candidates.filter(({ id }) => matchesId(id, query));
    const sets = possible.map((one) => ({ shard: one.shard, key: actorKey(one) }));
    const texts = await ask(FIND, ["HGET", ACTOR_FIELD.index], sets, ({ key }) => [key]);
    return possible.filter((one, index) => {
      const text = texts[index];
      return typeof text === "string" && matchesEntry(entryOf(one, text), query);
    });
  }

  /** The named parts, or all but nodes. */
  function readNamed(candidates: Candidate[], parts?: readonly string[]): Promise<unknown[]> {
    const names = [ACTOR_FIELD.version, ACTOR_FIELD.index, ...parts ?? COMMON_PARTS];
    const mode = parts === undefined ? "others" : "";
    const first = [mode, String(names.length), ...names];
    return ask(READ_FIELDS, first, candidates, keyArg);
  }

  /** Fields of actors with their nodes, in order, a few at a time: others get their turn in between. */
  async function* readWhole(candidates: Candidate[]): AsyncGenerator<unknown> {
    const sizes = (await ask(COUNT_ENTRIES, ["HLEN"], candidates, keyArg)).map(Number);
    for (let at = 0; at < candidates.length;) {
      const group: Candidate[] = [];
      for (let fields = 0; at < candidates.length; at++) {
        fields += sizes[at] ?? 0;
        const one = candidates[at];
        if (one === undefined || (group.length > 0 && fields > MAX_FIELDS)) break;
        group.push(one);
      }
      yield* await Promise.all(group.map((one) => {
        const key = actorKey(one);
        return link.send(key, ["HGETALL", key]);
      }));
    }
  }

  /** Loads what is shown; fewer than the candidates when there is no room for more. */
  async function load(
    candidates: Candidate[],
    query: ListQuery,
    room: number,
  ): Promise<{ items: Item[]; count: number; size: number }> {
    const items: Item[] = [];
    let [count, size] = [0, 0];
    const take = (fields: unknown): boolean => {
      const one = candidates[count++];
      for (const item of one === undefined ? [] : itemOf(one, textsOf(fields), query)) {
        items.push(item);
        if (room < Infinity) size += sizeOfParts(item.parts);
      }
      return size < room;
    };
    if (query.parts !== undefined || query.withoutNodes === true) {
      for (const fields of await readNamed(candidates, query.parts)) if (!take(fields)) break;
    } else for await (const fields of readWhole(candidates)) if (!take(fields)) break;
    return { items, count, size };
  }

  async function countAfter(walks: Walk[], last: ListPosition, isWhole: boolean, query: ListQuery) {
    const rest = walks.map(({ shard, key }) => walkOf(shard, key, last, MAX_FETCH));
    if (isWhole) {
      const replies = await scan(rest, () => 0);
      return replies.reduce<number>((sum, reply) => sum + Number(listOf(reply)[0]), 0);
    }
    let count = 0;
    for (const merge = { walks: rest, ready: [] };;) {
      const candidates = await take(merge, query, MAX_FETCH);
      if (candidates.length === 0) return count;
      count += (await select(candidates, query)).length;
    }
  }

  return {
    async list(query) {
      const after = beginningOf(query);
      const reading = readVersion(context);
      reading.catch(() => {});
      const shards = await context.shardCount();
      const exact = exactId(query);
      const way = exact === undefined ? await chooseWay(query, shards) : [ALL_TERM];
      const isWhole = isWholeQuery(way, query);
      const wanted = query.limit > 0 ? query.limit + 1 : Infinity;
      const sets = termsOf(way, shards);
      const each = Math.min(MAX_FETCH, wanted === Infinity ? 250 : 2 * wanted / sets.length + 2);
      const walks = exact !== undefined
        ? []
        : sets.map(({ shard, key }) => walkOf(shard, key, after, Math.ceil(each)));
      const ready = exact === undefined ? [] : await findOne(exact, after, shards);
      const merge: Merge = { walks, ready };
      const items: Item[] = [];
      let next: ListPosition | undefined;
      let last: ListPosition | undefined;
      let scanned = 0;
      let batch = MIN_BATCH;
      let room = query.maxSize ?? Infinity;
      while (next === undefined) {
        const missing = Math.min(MAX_LOAD, wanted - items.length);
        const candidates = await take(merge, query, isWhole ? missing : Math.max(missing, batch));
        if (candidates.length === 0) break;
        const selected = isWhole ? candidates : await select(candidates, query);
        const shown = selected.slice(0, Math.max(0, wanted - 1 - items.length));
        const loaded = await load(shown, query, room);
        for (const item of loaded.items) items.push(item);
        room -= loaded.size;
        next = selected[loaded.count];
        last = shown[loaded.count - 1] ?? last;
        scanned += candidates.length;
        if (next === undefined && scanned >= (query.maxScan ?? Infinity)) {
          next = candidates.at(-1);
          last = next;
        }
        batch = Math.min(MAX_BATCH, 2 * batch);
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
        version: await reading,
      };
    },

    async findByUid(uid) {
      const shards = await context.shardCount();
      const sets = Array.from({ length: shards }, (_, shard) => ({
        shard,
        key: keys.shard(shard) + SHARD_KEY.uids,
      }));
      const found = await ask(FIND, ["HGET", uid], sets, ({ key }) => [key]);
      return found.find((id) => typeof id === "string");
    },

    version: () => readVersion(context),

    ...createRedisWatch(context),
  };
}

function walkOf(shard: number, key: string, after: ListPosition | undefined, next: number): Walk {
  return { shard, key, after, fetched: [], isAtEnd: false, next };
}

/** Takes what comes before anything that is not fetched yet, in order. */
function nextOf(walks: Walk[]): Candidate[] {
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

/** The item of an actor's fields and values; none when it has gone meanwhile, or is of another kind. */
function itemOf(one: Candidate, texts: (string | undefined)[], query: ListQuery): Item[] {
  const { id } = one;
  const parts: Record<string, string> = {};
  let version: string | undefined;
  let index: string | undefined;
  for (let at = 0; at + 1 < texts.length; at += 2) {
    const [name = "", text] = [texts[at], texts[at + 1]];
    if (text === undefined) continue;
    if (name === ACTOR_FIELD.version) version = text;
    else if (name === ACTOR_FIELD.index) index = text;
    else if (name !== ACTOR_FIELD.others && wantsPart(name, query)) parts[name] = text;
  }
  const isGone = version === undefined && index === undefined && Object.keys(parts).length === 0;
  if (isGone || !id.startsWith(`${query.kind}/`)) return [];
  return [{ id, version: version ?? "0", parts, index: entryOf(one, index) }];
}

/** The index entry of an actor that is listed; what stands for it when it cannot be read. */
function entryOf(position: ListPosition, text: string | undefined): IndexEntry {
  return (text === undefined ? undefined : decodeIndex(position.id, text)) ??
    unreadableEntry(position);
}
