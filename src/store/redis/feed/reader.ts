/**
 * Reads the change feeds of all shards and of the manifests as one. On one server, a single command reads them all, so
 * that everything up to that time is included, and the order of versions is the order of commits.
 */
import type { Change } from "../../port.ts";
import type { Version } from "../../version.ts";
import { runToEnd, type Steps } from "../../../base/steps.ts";
import { newTable } from "../../../base/table.ts";
import { Turns } from "../../../platform/turns.ts";
import { VersionTooOld } from "../../port.ts";
import { changeReader } from "../../unreadable_change.ts";
import { parseVersion } from "../../watch_feed.ts";
import { decodeBefore, decodeChange } from "./change.ts";
import type { RedisContext } from "../context.ts";
import { withEarlierTexts } from "./earlier_texts.ts";
import { decodeIndex } from "../index.ts";
import { byVersion, type FeedEntry } from "./entry.ts";
import { FEED_FIELD, MIN_FEED, SHARD_KEY } from "../keys.ts";
import { READ_HISTORY } from "../list_scripts.ts";
import { readMeta } from "./meta.ts";
import { type KnownShards, NONE_KNOWN } from "./own_changes.ts";
import { listOf, pairsOf, textsOf } from "../replies.ts";
import { readVersion } from "../version.ts";
import { type Shortening, shorteningOf, wholeKey, wholePartsSteps } from "../texts/short_texts.ts";

/** The texts of a longer change are made whole a little at a time, characters. */
const LONG = 1024 * 1024;

type Place = Pick<Change, "type" | "id" | "version">;

/** Entries, and up to where they are all. */
interface FeedPortion {
  entries: FeedEntry[];
  upTo: number;
  /** There are others that cannot be shown yet. */
  hasMore: boolean;
  /** Bases of the feeds that may have been trimmed past the beginning: entries before these may be gone. */
  unsure: string[];
}

const TYPES = { A: "ADDED", M: "MODIFIED", D: "DELETED" } as const;

export class FeedReader {
  readonly #context: RedisContext;
  readonly #readChange: ReturnType<typeof changeReader>;
  readonly #turns = new Turns("feed");

  constructor(context: RedisContext) {
    this.#context = context;
    this.#readChange = changeReader(context.onUnreadable);
  }

  /**
   * Entries after a version, in order and without gaps; only the first ones if there are many.
   * @param count most entries from each feed
   */
  async read(after: number, count: number): Promise<FeedEntry[]> {
    return (await this.readFrom(await this.basesWithout(), after, count)).entries;
  }

  /**
   * The same of some feeds. On one server, the read is sent before this returns.
   * @param bases of shards or of the manifests
   */
  async readFrom(bases: readonly string[], after: number, count: number): Promise<FeedPortion> {
    // Several servers give versions by their own clocks, and are read one after the other. What any of them gives from now on is
    // higher than what the slowest clock shows. A change above that may be followed by one with a lower version.
    const { link } = this.#context;
    let bound = link.isOneServer ? Infinity : Number(await readVersion(this.#context));
    const reading = this.#readFeeds(bases, `${after}-${2 ** 53 - 1}`, String(count));
    const found: FeedEntry[] = [];
    const unsure: string[] = [];
    for (const reply of await reading) {
      const [feed, list] = listOf(reply);
      const entries = listOf(list);
      if (entries.length >= MIN_FEED) unsure.push(baseOf(String(feed)));
      found.push(
        ...await Promise.all(entries.map((entry) => this.#entryOf(String(feed), entry))),
      );
      if (entries.length === count) bound = Math.min(bound, found.at(-1)?.version ?? bound);
    }
    const entries = found.filter(({ version }) => version <= bound).sort(byVersion);
    return { entries, upTo: bound, hasMore: entries.length < found.length, unsure };
  }

  async #readFeeds(bases: readonly string[], from: string, count: string): Promise<unknown[]> {
    const { link } = this.#context;
    const feeds = bases.map((base) => base + SHARD_KEY.feed);
    const readThese = async (some: string[]) => {
      const args = ["XREAD", "COUNT", count, "STREAMS", ...some, ...some.map(() => from)];
      return listOf(await link.send(some[0] ?? "", args));
    };
    if (link.isOneServer) return await readThese(feeds);
    return (await Promise.all(feeds.map((feed) => readThese([feed])))).flat();
  }

  /** Bases of the manifests and of all shards except some. */
  async basesWithout(except: KnownShards = NONE_KNOWN): Promise<string[]> {
    const { keys } = this.#context;
    const bases = [keys.manifests];
    for (let shard = await this.#context.shardCount() - 1; shard >= 0; shard--) {
      if (!except.has(shard)) bases.push(keys.shard(shard));
    }
    return bases;
  }

  /**
   * @param bases whose changes matter. @default all
   * @throws {VersionTooOld} when changes after this version are gone
   */
  async assertKept(after: number, bases?: readonly string[]): Promise<void> {
    const floors = await readMeta(this.#context, bases ?? await this.basesWithout(), "floor");
    if (floors.some((floor) => Number(floor ?? 0) > after)) throw new VersionTooOld(String(after));
  }

  /** All changes of one actor after a version. @throws {VersionTooOld} when some of them are gone */
  async history(shard: number, id: string, after: Version): Promise<Change[]> {
    const { link, keys } = this.#context;
    const args = [String(parseVersion(after)), id];
    const found = listOf(await link.run(READ_HISTORY, keys.shard(shard), args));
    const [floor, earlier, later] = found;
    if (Number(floor) > Number(after)) throw new VersionTooOld(after);
    const feed = keys.shard(shard) + SHARD_KEY.feed;
    const entriesOf = (entries: unknown) =>
      Promise.all(listOf(entries).map((entry) => this.#entryOf(feed, entry)));
    const changes = withEarlierTexts(await entriesOf(earlier), await entriesOf(later));
    if (changes === undefined) throw new VersionTooOld(after);
    return changes;
  }

  /** @param entry as Redis tells it: its id, fields and values */
  async #entryOf(feed: string, entry: unknown): Promise<FeedEntry> {
    const { keys, terms } = this.#context;
    const [id, list] = listOf(entry);
    const [, t = "M", , actor = "", ...rest] = textsOf(list).map((text) => text ?? "");
    const version = String(id).replace(/-.*$/, "");
    const type = TYPES[t as keyof typeof TYPES];
    const place: Place = { type, id: actor, version };
    // A change of no part has no fields at all.
    const isShort = rest.length > 0 ? rest[0] !== "c" : t !== "D";
    const isManifest = feed.startsWith(keys.manifests);
    const how = isManifest ? undefined : shorteningOf((await terms()).layout, actor);
    const size = rest.reduce((sum, text) => sum + text.length, 0);
    const steps = changeSteps(place, t, isShort, rest, how);
    const read = size > LONG ? await outcomeOf(this.#turns.run(steps)) : () => runToEnd(steps);
    return {
      version: Number(version),
      lacksTexts: isShort && type === "MODIFIED" && !rest.some(tellsBefore),
      size,
      change: await this.#withSharedTexts(baseOf(feed), this.#readChange(place, read)),
    };
  }

  /** Puts shared texts in the place of references. */
  async #withSharedTexts(base: string, change: Change): Promise<Change> {
    const { shared } = this.#context;
    const { type, put } = change;
    // A removal tells the texts themselves.
    const { before = {} } = type === "DELETED" ? {} : change;
    if (await shared.resolve(base, put) && await shared.resolve(base, before)) return change;
    return this.#readChange(change, () => {
      throw new Error("The feed no longer has a text that workflows had in common");
    });
  }
}

/** The base under which a feed lies. */
function baseOf(feed: string): string {
  return feed.slice(0, -SHARD_KEY.feed.length);
}

/** Gives what a promise came to, whenever it is asked. */
function outcomeOf<T>(promise: Promise<T>): Promise<() => T> {
  return promise.then((value) => () => value, (error) => () => {
    throw error;
  });
}

/** A change with whole texts; they are made a little at a time. @throws {Error} when it is damaged, also by a later step */
function* changeSteps(
  place: Place,
  type: string,
  isShort: boolean,
  rest: string[],
  how: Shortening | undefined,
): Steps<Change> {
  if (!(type in TYPES)) throw new Error(`A change is of type "${type}"`);
  const change = isShort ? changeOfParts(place, rest) : changeOf(place, rest);
  if (how === undefined) return change;
  const { put, drop, before } = change;
  return {
    ...change,
    put: yield* wholePartsSteps(put, how),
    drop: drop.map((key) => wholeKey(key, how)),
    ...(before && { before: yield* wholePartsSteps(before, how) }),
  };
}

/** A change with one field for all of its parts, and one for their earlier texts. */
function changeOf(place: Place, rest: string[]): Change {
  const { c = "", i: index, b: texts = "" } = Object.fromEntries(pairsOf(rest));
  const body = decodeChange(c);
  const before = place.type === "DELETED" && texts !== ""
    ? JSON.parse(texts) as Record<string, string>
    : decodeBefore(body, texts);
  const entry = index === undefined ? undefined : decodeIndex(place.id, index);
  return { ...place, ...body, ...(before && { before }), ...(entry && { index: entry }) };
}

/** True for the field of an earlier text. Fields have even places in a list of fields and values. */
function tellsBefore(field: string, at: number): boolean {
  return at % 2 === 0 && field.startsWith(FEED_FIELD.before);
}

/** A change with a field for each of its parts, and for each of their earlier texts. */
function changeOfParts(place: Place, rest: string[]): Change {
  const change: Change = { ...place, put: {}, drop: [] };
  for (const [field, text] of pairsOf(rest)) {
    if (!field.startsWith("@")) change.put[field] = text;
    else if (field.startsWith(FEED_FIELD.before)) {
      const key = field.slice(FEED_FIELD.before.length);
      if (key !== "") (change.before ??= newTable())[key] = text;
    } else if (field === FEED_FIELD.dropped) change.drop = text.split("\n");
    else if (field === FEED_FIELD.index || field === FEED_FIELD.indexBefore) {
      const entry = decodeIndex(place.id, text);
      if (entry === undefined) continue;
      if (field === FEED_FIELD.index) change.index = entry;
      else change.indexBefore = entry;
    }
  }
  return change;
}
