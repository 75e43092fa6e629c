/**
 * Reads the change feeds of all shards and of the manifests as one. On one server, a single command reads them all, so
 * that everything up to that time is included, and the order of versions is the order of commits.
 */
import type { Change } from "../port.ts";
import type { Version } from "../version.ts";
import { VersionTooOld } from "../port.ts";
import { changeReader } from "../unreadable_change.ts";
import { parseVersion } from "../watch_feed.ts";
import { decodeBefore, decodeChange } from "./change.ts";
import type { RedisContext } from "./context.ts";
import { decodeIndex } from "./index.ts";
import { SHARD_KEY } from "./keys.ts";
import { FIND, READ_HISTORY } from "./list_scripts.ts";
import { listOf, streamEntriesOf } from "./replies.ts";

type Place = Pick<Change, "type" | "id" | "version">;

/** A change in the feed. */
export interface FeedEntry {
  version: number;
  change: Change;
  /** Characters in its stored form. */
  size: number;
}

const TYPES = { A: "ADDED", M: "MODIFIED", D: "DELETED" } as const;

export class FeedReader {
  readonly #context: RedisContext;
  readonly #readChange: ReturnType<typeof changeReader>;

  constructor(context: RedisContext) {
    this.#context = context;
    this.#readChange = changeReader(context.onUnreadable);
  }

  /**
   * Entries after a version, in order and without gaps; only the first ones if there are many.
   * @param count most entries from each feed
   */
  async read(after: number, count: number): Promise<FeedEntry[]> {
    let bound = Infinity;
    const found: FeedEntry[] = [];
    for (const reply of await this.#readFeeds(`${after}-${2 ** 53 - 1}`, String(count))) {
      const entries = streamEntriesOf(listOf(reply)[1]);
      for (const { id, fields } of entries) found.push(this.#entryOf(id, fields));
      if (entries.length === count) bound = Math.min(bound, found.at(-1)?.version ?? bound);
    }
    return found.filter(({ version }) => version <= bound).sort((a, b) => a.version - b.version);
  }

  async #readFeeds(from: string, count: string): Promise<unknown[]> {
    const { link } = this.#context;
    const feeds = (await this.#bases()).map((base) => base + SHARD_KEY.feed);
    const readThese = async (some: string[]) => {
      const args = ["XREAD", "COUNT", count, "STREAMS", ...some, ...some.map(() => from)];
      return listOf(await link.send(some[0] ?? "", args));
    };
    if (link.isOneServer) return await readThese(feeds);
    return (await Promise.all(feeds.map((feed) => readThese([feed])))).flat();
  }

  async #bases(): Promise<string[]> {
    const { keys } = this.#context;
    const shards = await this.#context.shardCount();
    const all = Array.from({ length: shards }, (_, shard) => keys.shard(shard));
    return [...all, keys.manifests];
  }

  /** @throws {VersionTooOld} when changes after this version are gone */
  async assertKept(after: number): Promise<void> {
    const { link } = this.#context;
    const metas = (await this.#bases()).map((base) => base + SHARD_KEY.meta);
    const floors = link.isOneServer
      ? listOf(await link.run(FIND, metas[0] ?? "", ["HGET", "floor", ...metas]))
      : await Promise.all(metas.map((key) => link.send(key, ["HGET", key, "floor"])));
    if (floors.some((floor) => Number(floor ?? 0) > after)) throw new VersionTooOld(String(after));
  }

  /** All changes of one actor after a version. @throws {VersionTooOld} when some of them are gone */
  async history(shard: number, id: string, after: Version): Promise<Change[]> {
    const { link, keys } = this.#context;
    const args = [String(parseVersion(after)), id];
    const [floor, entries] = listOf(await link.run(READ_HISTORY, keys.shard(shard), args));
    if (Number(floor) > Number(after)) throw new VersionTooOld(after);
    return streamEntriesOf(entries).map(({ id, fields }) => this.#entryOf(id, fields).change);
  }

  #entryOf(id: string, fields: Record<string, string>): FeedEntry {
    const { t = "M", a: actor = "", c = "", i = "", b = "" } = fields;
    const version = id.slice(0, id.indexOf("-"));
    const type = TYPES[t as keyof typeof TYPES];
    const place: Place = { type, id: actor, version };
    return {
      version: Number(version),
      size: c.length + b.length + i.length,
      change: this.#readChange(place, () => changeOf(place, fields)),
    };
  }
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
