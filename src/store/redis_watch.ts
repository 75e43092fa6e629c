/**
 * Watches of the Redis adapter. The feeds of all shards and of the manifests are read together; on one server a single
 * command reads them all, so that everything up to its time is there and the order of versions is the order of commits.
 * All watches of a process share one reader and the last changes it has seen; one that is further behind reads by itself.
 * A watch keeps its version and nothing else. Trouble with Redis makes it wait, not end.
 *
 * On a cluster the versions are the clocks of several servers: there the order between shards is only as good as those
 * clocks, and a watch that resumes may miss a change of a server whose clock is behind.
 */
import { Problem, ProblemCode } from "../base/problem.ts";
import type { Change, QueryStore } from "./port.ts";
import { VersionTooOld } from "./port.ts";
import { decodeBefore, decodeChange } from "./redis_change.ts";
import { LOOK_AGAIN_MS, type RedisContext } from "./redis_context.ts";
import { decodeIndex } from "./redis_index.ts";
import { SHARD_KEY } from "./redis_keys.ts";
import { FIND, READ_HISTORY } from "./redis_list_scripts.ts";
import { listOf, streamEntriesOf } from "./redis_replies.ts";
import { readVersion } from "./redis_version.ts";
import { changeReader } from "./unreadable_change.ts";
import { parseVersion } from "./watch_feed.ts";

/** Entries of one feed that are read in one go, by the shared reader and for one that is behind it. */
const READ = 200;
const READ_BEHIND = 8;
/** Changes that are handed over in one batch. */
const BATCH = 500;
/** What the shared reader keeps: changes, and characters in them. */
const KEPT_CHANGES = 5_000;
const KEPT_SIZE = 16 << 20;
/** Pause between two reads, so that many commits are read at once. */
const PAUSE_MS = 4;

type Place = Pick<Change, "type" | "id" | "version">;

interface Seen {
  version: number;
  change: Change;
  size: number;
}

const TYPES = { A: "ADDED", M: "MODIFIED", D: "DELETED" } as const;

export function createRedisWatch(
  context: RedisContext,
): Pick<QueryStore, "watch" | "changes" | "history"> {
  const { link, keys, wakeups } = context;
  const tail = { seen: [] as Seen[], size: 0, floor: 0, at: 0, watchers: 0, isReading: false };
  const readChange = changeReader(context.onUnreadable);
  let subscription: Promise<void> | undefined;
  let wakes = 0;

  function seenOf(id: string, fields: Record<string, string>): Seen {
    const { t = "M", a: actor = "", c = "", i = "", b = "" } = fields;
    const version = id.slice(0, id.indexOf("-"));
    const type = TYPES[t as keyof typeof TYPES];
    const place: Place = { type, id: actor, version };
    return {
      version: Number(version),
      size: c.length + b.length + i.length,
      change: readChange(place, () => changeOf(place, fields)),
    };
  }

  function hear(): Promise<void> {
    subscription ??= link.subscribe(keys.feedChannel, () => {
      wakes++;
      wakeups.wake("feed-source");
    }).catch((error) => {
      subscription = undefined;
      throw error;
    });
    return subscription;
  }

  async function bases(): Promise<string[]> {
    const shards = await context.shardCount();
    const all = Array.from({ length: shards }, (_, shard) => keys.shard(shard));
    return [...all, keys.manifests];
  }

  /** Changes after a version in order, without a gap; not all of them when there are many. */
  async function read(after: number, count: number): Promise<Seen[]> {
    const feeds = (await bases()).map((base) => base + SHARD_KEY.feed);
    const from = `${after}-${2 ** 53 - 1}`;
    const replies = link.isOneServer
      ? listOf(
        await link.send(feeds[0] ?? "", [
          "XREAD",
          "COUNT",
          String(count),
          "STREAMS",
          ...feeds,
          ...feeds.map(() => from),
        ]),
      )
      : (await Promise.all(
        feeds.map(async (feed) =>
          listOf(await link.send(feed, ["XREAD", "COUNT", String(count), "STREAMS", feed, from]))
        ),
      )).flat();
    let bound = Infinity;
    const found: Seen[] = [];
    for (const reply of replies) {
      const entries = streamEntriesOf(listOf(reply)[1]);
      for (const { id, fields } of entries) found.push(seenOf(id, fields));
      if (entries.length === count) bound = Math.min(bound, found.at(-1)?.version ?? bound);
    }
    return found.filter(({ version }) => version <= bound).sort((a, b) => a.version - b.version);
  }

  async function assertKept(after: number): Promise<void> {
    const metas = (await bases()).map((base) => base + SHARD_KEY.meta);
    const floors = link.isOneServer
      ? listOf(await link.run(FIND, metas[0] ?? "", ["HGET", "floor", ...metas]))
      : await Promise.all(metas.map((key) => link.send(key, ["HGET", key, "floor"])));
    if (floors.some((floor) => Number(floor ?? 0) > after)) throw new VersionTooOld(String(after));
  }

  /** Follows the feeds as long as somebody watches. */
  async function follow(): Promise<void> {
    const stop = new AbortController();
    while (tail.watchers > 0 && !context.isClosed()) {
      const wakesBefore = wakes;
      try {
        await hear();
        const startedAt = performance.now();
        const found = await read(tail.at, READ);
        const isGapPossible = found.length >= READ ||
          performance.now() - startedAt > LOOK_AGAIN_MS;
        if (isGapPossible) await assertKept(tail.at);
        keep(found);
        if (found.length > 0) {
          wakeups.wake("feed");
          await wakeups.wait([], PAUSE_MS, stop.signal);
          continue;
        }
        if (wakes !== wakesBefore) continue;
      } catch (error) {
        if (error instanceof VersionTooOld) await restart().catch(() => {});
        // Else Redis is away: what was missed is read when it is back.
      }
      await wakeups.wait(["feed-source"], LOOK_AGAIN_MS, stop.signal);
    }
    tail.isReading = false;
  }

  function keep(found: Seen[]): void {
    for (const seen of found) {
      tail.seen.push(seen);
      tail.size += seen.size;
      tail.at = seen.version;
    }
    let dropped = 0;
    while (tail.seen.length - dropped > KEPT_CHANGES || tail.size > KEPT_SIZE) {
      const first = tail.seen[dropped++];
      if (first === undefined) break;
      tail.size -= first.size;
      tail.floor = first.version;
    }
    tail.seen.splice(0, dropped);
  }

  async function restart(): Promise<void> {
    const at = Number(await readVersion(context));
    Object.assign(tail, { seen: [], size: 0, floor: at, at });
  }

  async function begin(): Promise<void> {
    if (tail.isReading) return;
    tail.isReading = true;
    try {
      await restart();
    } catch (error) {
      tail.isReading = false;
      throw error;
    }
    void follow();
  }

  /** Kept changes after a version; undefined when some of them are no longer kept. */
  function kept(after: number): Seen[] | undefined {
    if (after < tail.floor) return undefined;
    let [low, high] = [0, tail.seen.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((tail.seen[middle]?.version ?? 0) > after) high = middle;
      else low = middle + 1;
    }
    let end = Math.min(low + BATCH, tail.seen.length);
    // Changes of the same version (of two servers) stay together: the version is all that a watch remembers.
    while (end < tail.seen.length && tail.seen[end]?.version === tail.seen[end - 1]?.version) end++;
    return tail.seen.slice(low, end);
  }

  async function* follower(start: Promise<number>, signal: AbortSignal): AsyncGenerator<Change[]> {
    let at = await start;
    let isChecked = false;
    tail.watchers++;
    try {
      while (!signal.aborted && !context.isClosed()) {
        let found: Seen[] | undefined;
        try {
          await begin();
          found = isChecked ? kept(at) : undefined;
          if (found === undefined) {
            const { floor } = tail;
            found = await read(at, READ_BEHIND);
            await assertKept(at);
            isChecked = true;
            // Nothing up to now, hence nothing up to where the shared reader began.
            if (found.length === 0) at = Math.max(at, floor);
          }
        } catch (error) {
          if (!(error instanceof Problem && error.code === ProblemCode.Unavailable)) throw error;
          await wakeups.wait(["feed"], LOOK_AGAIN_MS, signal);
          continue;
        }
        const last = found.at(-1);
        if (last === undefined) {
          if (kept(at)?.length !== 0) continue;
          await wakeups.wait(["feed"], LOOK_AGAIN_MS, signal);
          continue;
        }
        at = last.version;
        yield found.map(({ change }) => change);
      }
    } finally {
      tail.watchers--;
      wakeups.wake("feed-source");
    }
  }

  return {
    watch(after, signal) {
      const start = after === undefined
        ? readVersion(context).then(Number)
        : Promise.resolve(after).then(parseVersion);
      start.catch(() => {});
      return follower(start, signal);
    },

    async changes(after) {
      const at = parseVersion(after);
      const known = tail.isReading ? kept(at) ?? [] : [];
      const found = known.length > 0 ? known : await read(at, READ_BEHIND);
      if (known.length === 0) await assertKept(at);
      return found.map(({ change }) => change);
    },

    async history(shard, id, after) {
      const args = [String(parseVersion(after)), id];
      const [floor, entries] = listOf(await link.run(READ_HISTORY, keys.shard(shard), args));
      if (Number(floor) > Number(after)) throw new VersionTooOld(after);
      return streamEntriesOf(entries).map(({ id, fields }) => seenOf(id, fields).change);
    },
  };
}

function changeOf(place: Place, fields: Record<string, string>): Change {
  const { t: type = "M", c: change = "", i: index, b: texts = "" } = fields;
  if (!(type in TYPES)) throw new Error(`A change is of type "${type}"`);
  const body = decodeChange(change);
  const before = type === "D" && texts !== ""
    ? JSON.parse(texts) as Record<string, string>
    : decodeBefore(body, texts);
  const entry = index === undefined ? undefined : decodeIndex(place.id, index);
  return { ...place, ...body, ...(before && { before }), ...(entry && { index: entry }) };
}
