/**
 * Watches of the Redis adapter. All watches of a process share one reader and the latest changes it has seen, and those that
 * are further behind share their reads (`behind.ts`). A watch keeps only its version. Trouble with Redis makes it wait, not end.
 *
 * On a cluster the versions are the clocks of several servers: there the order between shards is only as good as those
 * clocks, and a watch that resumes may miss a change of a server whose clock is behind.
 */
import { isProblem, ProblemCode } from "../../../base/problem.ts";
import type { Change, QueryStore } from "../../port.ts";
import type { Version } from "../../version.ts";
import { parseVersion } from "../../watch_feed.ts";
import { LOOK_AGAIN_MS, type RedisContext } from "../context.ts";
import { FeedBehind, firstOf } from "./behind.ts";
import type { FeedEntry } from "./entry.ts";
import { FeedReader } from "./reader.ts";
import { FeedTail } from "./tail.ts";
import { readVersion } from "../version.ts";

/** Entries that are read from each feed at once where the tail does not go back far enough. */
const READ_BEHIND = 8;

export class RedisWatch implements Pick<QueryStore, "watch" | "changes" | "history"> {
  readonly #context: RedisContext;
  readonly #reader: FeedReader;
  readonly #tail: FeedTail;
  readonly #behind: FeedBehind;

  constructor(context: RedisContext) {
    this.#context = context;
    this.#reader = new FeedReader(context);
    this.#tail = new FeedTail(context, this.#reader);
    this.#behind = new FeedBehind(this.#reader);
  }

  watch(after: Version | undefined, signal: AbortSignal): AsyncIterable<Change[]> {
    const start = after === undefined
      ? readVersion(this.#context).then(Number)
      : Promise.resolve(after).then(parseVersion);
    start.catch(() => {});
    return this.#changesAfter(start, signal);
  }

  async *#changesAfter(start: Promise<number>, signal: AbortSignal): AsyncGenerator<Change[]> {
    const { wakeups, isClosed } = this.#context;
    let at = await start;
    let isChecked = false;
    this.#tail.join();
    try {
      while (!signal.aborted && !isClosed()) {
        const found = await this.#readAfter(at, isChecked);
        if (found === undefined) {
          await wakeups.wait(["feed"], LOOK_AGAIN_MS, signal);
          continue;
        }
        isChecked = true;
        const last = found.entries.at(-1);
        if (last !== undefined) {
          at = last.version;
          yield found.entries.map(({ change }) => change);
        } else {
          at = Math.max(at, found.upTo);
          if (this.#tail.after(at)?.length === 0) {
            await wakeups.wait(["feed"], LOOK_AGAIN_MS, signal);
          }
        }
      }
    } finally {
      this.#tail.leave();
    }
  }

  /**
   * The next entries, or a version up to which there are none; undefined while Redis is away.
   * @param isChecked the entries after this version are known to be kept
   */
  async #readAfter(
    at: number,
    isChecked: boolean,
  ): Promise<{ entries: FeedEntry[]; upTo: number } | undefined> {
    try {
      await this.#tail.follow();
      const known = isChecked ? this.#tail.after(at) : undefined;
      if (known !== undefined) return { entries: known, upTo: at };
      const { floor } = this.#tail;
      const entries = await this.#reader.read(at, READ_BEHIND);
      await this.#reader.assertKept(at);
      // Nothing up to now, so nothing up to where the shared reader began.
      return { entries, upTo: floor };
    } catch (error) {
      if (isProblem(error, ProblemCode.Unavailable)) return undefined;
      throw error;
    }
  }

  async changes(after: Version): Promise<Change[]> {
    const at = parseVersion(after);
    const recent = this.#tail.after(at) ?? [];
    const found = recent.length > 0 ? firstOf(recent, at) : await this.#behind.after(at);
    return found.map(({ change }) => change);
  }

  history(shard: number, id: string, after: Version): Promise<Change[]> {
    return this.#reader.history(shard, id, after);
  }
}
