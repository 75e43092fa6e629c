/**
 * What watches read that are further behind than the tail of the feed goes back. Hundreds of them come back together when a server
 * has ended, and each would read all feeds by itself. So one read is under way at a time, and all of them share what it brings.
 */
import { isProblem, ProblemCode } from "../../../base/problem.ts";
import { systemClock } from "../../../platform/clock.ts";
import { BEHIND_SIZE } from "../../watch_feed.ts";
import type { FeedEntry } from "./entry.ts";
import type { FeedReader } from "./reader.ts";

/** Entries that are read from each feed at once. */
const READ = 8;
/** Characters of entries that are kept for others. The last page is kept whatever its size. */
const KEPT_SIZE = 2 ** 23;
/** How long they are kept after the last read, ms. */
const REST_MS = 10_000;

/** All entries after one version, up to another. */
interface Page {
  after: number;
  last: number;
  size: number;
  entries: readonly FeedEntry[];
}

export class FeedBehind {
  readonly #reader: Pick<FeedReader, "read" | "assertKept">;
  /** The last one used stands last. */
  #pages: Page[] = [];
  /** The read that is under way. It fails only for a reason that all share. */
  #reading: Promise<void> | undefined;
  #cancelRest: (() => void) | undefined;

  constructor(reader: Pick<FeedReader, "read" | "assertKept">) {
    this.#reader = reader;
  }

  /**
   * The first entries after a version, none if there are none.
   * @throws {VersionTooOld} when some of them are gone
   * @throws {Problem} Unavailable
   */
  async after(version: number): Promise<FeedEntry[]> {
    for (;;) {
      const page = this.#pageAfter(version);
      if (page !== undefined) return firstOf(page.entries, version);
      if (this.#reading === undefined) return firstOf(await this.#read(version), version);
      // What others read may hold it, too.
      await this.#reading;
    }
  }

  #pageAfter(version: number): Page | undefined {
    const page = this.#pages.find(({ after, last }) => after <= version && version < last);
    if (page !== undefined && page !== this.#pages.at(-1)) {
      this.#pages = [...this.#pages.filter((other) => other !== page), page];
    }
    return page;
  }

  async #read(after: number): Promise<readonly FeedEntry[]> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {});
    this.#reading = promise;
    try {
      const entries = await this.#reader.read(after, READ);
      await this.#reader.assertKept(after);
      this.#keep(after, entries);
      resolve();
      return entries;
    } catch (error) {
      if (isProblem(error, ProblemCode.Unavailable)) reject(error);
      else resolve();
      throw error;
    } finally {
      this.#reading = undefined;
    }
  }

  #keep(after: number, entries: readonly FeedEntry[]): void {
    const last = entries.at(-1)?.version;
    if (last === undefined) return;
    const size = entries.reduce((sum, entry) => sum + entry.size, 0);
    this.#pages.push({ after, last, size, entries });
    let sum = this.#pages.reduce((all, page) => all + page.size, 0);
    while (sum > KEPT_SIZE && this.#pages.length > 1) sum -= this.#pages.shift()?.size ?? 0;
    this.#cancelRest?.();
    this.#cancelRest = systemClock.after(REST_MS, () => this.#pages = [], true);
  }
}

/** The first of the entries after a version: at least one, and all of its version, because a watch remembers only that. */
export function firstOf(entries: readonly FeedEntry[], version: number): FeedEntry[] {
  const first: FeedEntry[] = [];
  let size = 0;
  for (const entry of entries) {
    if (entry.version <= version) continue;
    if (size >= BEHIND_SIZE && entry.version !== first.at(-1)?.version) break;
    first.push(entry);
    size += entry.size;
  }
  return first;
}
