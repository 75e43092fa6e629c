/** What the parts of the Redis adapter share. */
import type { ReportUnreadable } from "../../platform/unreadable.ts";
import { MIN_FEED, type RedisKeys } from "./keys.ts";
import type { RedisLink } from "./link.ts";
import type { OwnChanges } from "./feed/own_changes.ts";
import type { SharedTexts } from "./shared_texts.ts";
import type { Terms } from "./terms.ts";
import type { Wakeups } from "../wakeups.ts";

export interface RedisContext {
  link: RedisLink;
  keys: RedisKeys;
  wakeups: Wakeups;
  /** Number of changes that all feeds together keep. */
  feedLength: number;
  /** Changes that are older, ms, are kept only while they fit into their share, see `OLD_SHARE`. */
  feedAgeMs: number;
  /** Number of shards; fixes it if nobody has yet. */
  shardCount(): Promise<number>;
  shared: SharedTexts;
  own: OwnChanges;
  /** The terms under which this store files its entries. */
  terms(): Promise<Terms>;
  isClosed(): boolean;
  onUnreadable: ReportUnreadable;
}

/** After this time a waiter looks by itself: the message that should wake it may be lost with a connection. */
export const LOOK_AGAIN_MS = 1_000;

/** Number of shards if nobody has wished for another. */
export const DEFAULT_SHARDS = 64;

/** Calls a function for each of 0 … count - 1, all at the same time. */
export function forEachShard<T>(count: number, call: (shard: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, shard) => call(shard)));
}

/** Memory that all feeds together take, roughly. Changes with short texts seldom need so much. */
export const FEED_BYTES = 20 << 20;

/** The share of that which old changes may take. */
export const OLD_SHARE = 0.25;

/** Key of the clock of versions; "" on a cluster, which has none. */
export function clockKey({ link, keys }: Pick<RedisContext, "link" | "keys">): string {
  return link.isOneServer ? keys.clock : "";
}

/** Length of one shard's feed. */
export function feedLengthOf(total: number, shards: number): number {
  return Math.max(MIN_FEED, Math.ceil(total / shards));
}

/** The result of a waiter's call; undefined, not an error, if the store is closed meanwhile. */
export async function untilClosed<T>(
  context: RedisContext,
  call: Promise<T>,
): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (context.isClosed()) return undefined;
    throw error;
  }
}
