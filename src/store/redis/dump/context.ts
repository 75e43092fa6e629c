/** What the parts of the Redis adapter need, for a store that is read or written as a whole, also an unfinished one. */
import { completedLabel as usualLabel, STANDARD_NAMING } from "../../../spec/naming.ts";
import { Wakeups } from "../../wakeups.ts";
import type { RedisContext } from "../context.ts";
import { redisKeys } from "../keys.ts";
import { openRedisLink } from "../link.ts";
import { textsOf } from "../replies.ts";
import { OwnChanges } from "../feed/own_changes.ts";
import { SharedTexts } from "../shared_texts.ts";
import { Terms } from "../terms.ts";
import { parseRedisUrl } from "../url.ts";

/** Longest time of a call, ms: a store that is copied may be busy with its own saving. */
const TIMEOUT_MS = 30_000;

/** The hash that says what a store is like. The last two are only in an unfinished copy. */
export interface StoreFacts {
  shards: number;
  layout: string;
  from?: string;
  state?: string;
}

export interface DumpContext extends RedisContext {
  /** Layout of the store if it is to be written. */
  newLayout: number;
  /** Fixes what the store is like for all that follows. */
  setFacts(shards: number, layout: number): void;
  close(): Promise<void>;
}

/** @param completedLabel the label that says whether a workflow has ended */
export async function openDumpContext(
  url: string,
  completedLabel = usualLabel(STANDARD_NAMING),
): Promise<DumpContext> {
  const address = parseRedisUrl(url);
  const wakeups = new Wakeups();
  const link = await openRedisLink({
    address,
    timeoutMs: TIMEOUT_MS,
    onTrouble: () => {},
    onReconnect: () => {},
  });
  let facts = { shards: 1, layout: address.layout };
  let isClosed = false;
  return {
    link,
    keys: redisKeys(address.prefix),
    wakeups,
    feedLength: 0,
    feedAgeMs: 0,
    shardCount: () => Promise.resolve(facts.shards),
    shared: new SharedTexts(link),
    own: new OwnChanges(() => {}),
    terms: () => Promise.resolve(new Terms(facts.layout, completedLabel)),
    isClosed: () => isClosed,
    onUnreadable: () => {},
    newLayout: address.layout,
    setFacts: (shards, layout) => void (facts = { shards, layout }),
    close() {
      isClosed = true;
      return link.close();
    },
  };
}

/** What a store is like; undefined when there is none. */
export async function readFacts({ link, keys }: RedisContext): Promise<StoreFacts | undefined> {
  const key = keys.shardCount;
  const type = String(await link.send(key, ["TYPE", key]));
  if (type === "string") {
    return { shards: Number(await link.send(key, ["GET", key])), layout: "1" };
  }
  if (type !== "hash") return undefined;
  const [shards, layout = "", from, state] = textsOf(
    await link.send(key, ["HMGET", key, "shards", "layout", "from", "state"]),
  );
  const mark = { ...(from !== undefined && { from }), ...(state !== undefined && { state }) };
  return { shards: Number(shards), layout, ...mark };
}
