/**
 * The loop of a watch over a feed that lives in this process: read what is new, hand it over, wait to be woken. It
 * keeps only a version, so a slow reader costs nothing.
 */
import { invalid } from "../base/problem.ts";
import type { Change } from "./port.ts";
import type { Version } from "./version.ts";
import type { Wakeups } from "./wakeups.ts";

export interface WatchedFeed {
  /** Changes after a version, oldest first, at most `max`. @throws {VersionTooOld} when some of them are gone */
  read(after: number, max: number): Change[];
  /** Ends when all that would be read is durable; undefined when it is. @default always */
  settled?(): Promise<void> | undefined;
  isClosed(): boolean;
  wakeups: Wakeups;
}

/** Most changes that are handed over at once. */
export const FEED_BATCH = 500;
/**
 * Characters of changes, about, that a watch gets at once while it is behind: it holds them until its client has taken them,
 * and hundreds may come back together.
 */
export const BEHIND_SIZE = 2 ** 17;
const IDLE_MS = 60_000;

/** Yields the changes after a version until the signal aborts or the store is closed. The topic is `feed`. */
export async function* watchFeed(
  feed: WatchedFeed,
  after: Version,
  signal: AbortSignal,
): AsyncGenerator<Change[]> {
  let at = parseVersion(after);
  while (!signal.aborted && !feed.isClosed()) {
    await feed.settled?.();
    const changes = feed.read(at, FEED_BATCH);
    const last = changes.at(-1);
    if (last === undefined) {
      await feed.wakeups.wait(["feed"], IDLE_MS, signal);
      continue;
    }
    at = Number(last.version);
    yield changes;
  }
}

/**
 * Reads a version.
 * @throws {Problem} InvalidArgument when it is not a decimal number
 */
export function parseVersion(version: Version): number {
  const value = Number(version);
  if (/^[0-9]+$/.test(version) && Number.isSafeInteger(value)) return value;
  throw invalid(`Invalid resource version "${version}": expected a decimal number`);
}
