/** What the parts of the Redis adapter share. */
import type { ReportUnreadable } from "../platform/unreadable.ts";
import type { RedisKeys } from "./redis_keys.ts";
import type { RedisLink } from "./redis_link.ts";
import type { Wakeups } from "./wakeups.ts";

export interface RedisContext {
  link: RedisLink;
  keys: RedisKeys;
  wakeups: Wakeups;
  /** Changes that all feeds together keep. */
  feedLength: number;
  /** Number of shards; fixes it when it was not yet. */
  shardCount(): Promise<number>;
  isClosed(): boolean;
  /** The label that says whether a workflow has ended. */
  completedLabel: string;
  onUnreadable: ReportUnreadable;
}

/** A waiter looks by itself after this time: messages that wake it may be lost with a connection. */
export const LOOK_AGAIN_MS = 1_000;

/** Wishes for a number of shards where nobody has made one. */
export const DEFAULT_SHARDS = 64;

/** Calls something for each of 0 … n - 1, all at the same time. */
export function forEachShard<T>(count: number, call: (shard: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, shard) => call(shard)));
}

/** Length of one shard's feed. */
export function feedLengthOf(total: number, shards: number): number {
  return Math.max(8, Math.ceil(total / shards));
}

/** A waiter's call: when the store is closed under it, it has nothing, and no error. */
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
