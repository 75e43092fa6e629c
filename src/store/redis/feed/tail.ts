/** The latest changes of the feed, shared by all watches of a process. */
import { setImmediate } from "node:timers/promises";
import { VersionTooOld } from "../../port.ts";
import { Recent } from "../../../base/recent.ts";
import { LOOK_AGAIN_MS, type RedisContext } from "../context.ts";
import { NONE_KNOWN } from "./own_changes.ts";
import { byVersion, type FeedEntry } from "./entry.ts";
import { Epochs } from "./epochs.ts";
import type { FeedReader } from "./reader.ts";
import { readVersion } from "../version.ts";

/** Entries that are read from each feed at once. */
const READ = 200;
/** Most entries that are handed over at once. */
const BATCH = 500;
/** What is kept at most: changes, and characters in them. */
const KEPT_CHANGES = 5_000;
const KEPT_SIZE = 16 << 20;
/** How long it keeps changes when no more come, ms. */
const REST_MS = 20_000;
/** Pause between two reads while much changes, so that many commits are read at once. */
const PAUSE_MS = 4;
/** Pause before the next read when a server of a cluster has given versions that the clock of another has not reached. */
const CLOCK_PAUSE_MS = 10;
/** Much: so many changes in about so many milliseconds. */
const MANY = 100;
const LATELY_MS = 100;

/** Follows the feed as long as somebody watches. It wakes the topic `feed` when there is more. */
export class FeedTail {
  readonly #context: RedisContext;
  readonly #reader: FeedReader;
  readonly #epochs: Epochs;
  readonly #entries = new Recent<FeedEntry>(KEPT_CHANGES, KEPT_SIZE);
  /** Everything after this version, up to `#at`, is among the entries. */
  #floor = 0;
  #at = 0;
  #watchers = 0;
  #isFollowing = false;
  #subscription: Promise<void> | undefined;
  /** When the last entries came; monotonic, ms. */
  #readAt = 0;
  /** Changes of late; older ones count less and less. */
  #recent = 0;
  /** There were changes that could not be shown yet. */
  #hasMore = false;
  /** Counts messages, to notice one during a read. */
  #messages = 0;

  constructor(context: RedisContext, reader: FeedReader) {
    this.#context = context;
    this.#reader = reader;
    this.#epochs = new Epochs(context);
  }

  /** Version after which it holds everything. */
  get floor(): number {
    return this.#floor;
  }

  /** Must be called when somebody begins to watch. */
  join(): void {
    this.#watchers++;
  }

  /** Must be called when somebody stops watching. */
  leave(): void {
    this.#watchers--;
    this.#context.wakeups.wake("feed-source");
  }

  /** Begins to follow the feed, unless it does already. */
  async follow(): Promise<void> {
    if (this.#isFollowing) return;
    const { link, own } = this.#context;
    this.#isFollowing = true;
    if (link.isInOrder) own.begin();
    try {
      await this.#restart();
    } catch (error) {
      this.#isFollowing = false;
      own.end();
      throw error;
    }
    void this.#run();
  }

  /** Entries after a version, none if there is nothing new; undefined if some of them are not kept. */
  after(version: number): FeedEntry[] | undefined {
    if (!this.#isFollowing || version < this.#floor) return undefined;
    const found: FeedEntry[] = [];
    for (let at = this.#entries.firstWhere((entry) => entry.version > version);; at++) {
      const entry = this.#entries.at(at);
      // Changes with the same version (of two servers) stay together: a watch remembers only a version.
      const isOver = found.length >= BATCH && entry?.version !== found.at(-1)?.version;
      if (entry === undefined || isOver) return found;
      found.push(entry);
    }
  }

  async #run(): Promise<void> {
    const { wakeups, isClosed, own } = this.#context;
    const { signal } = new AbortController();
    while (this.#watchers > 0 && !isClosed()) {
      const before = this.#messages + own.calls;
      try {
        await this.#subscribe();
        const found = await this.#readNext();
        if (found > 0) wakeups.wake("feed");
        if (found > 0 && this.#recent > MANY) await wakeups.wait([], PAUSE_MS, signal);
        // Whatever is committed from now on is followed by a message, or is a call of this process.
        if (found >= READ || this.#messages + own.calls !== before) continue;
        if (this.#hasMore) {
          await wakeups.wait([], CLOCK_PAUSE_MS, signal);
          continue;
        }
      } catch (error) {
        if (error instanceof VersionTooOld) await this.#restart().catch(() => {});
        // Otherwise Redis is away: what was missed is read when it is back.
      }
      if (performance.now() - this.#readAt > REST_MS) this.#forgetAll();
      await wakeups.wait(["feed-source"], LOOK_AGAIN_MS, signal);
    }
    this.#isFollowing = false;
    own.end();
    this.#forgetAll();
  }

  #subscribe(): Promise<void> {
    const { link, keys, wakeups, own } = this.#context;
    this.#subscription ??= link.subscribe(keys.feedChannel, (sender) => {
      // A read was sent behind the call.
      if (sender !== "" && sender === own.sender) return;
      this.#messages++;
      wakeups.wake("feed-source");
    }).then(() => own.listens()).catch((error) => {
      this.#subscription = undefined;
      throw error;
    });
    return this.#subscription;
  }

  /**
   * Reads what comes next, and tells how much that was.
   * @param known shards whose changes need not be read
   */
  async #readNext(known = this.#context.own.knownAfter(this.#at)): Promise<number> {
    const { own } = this.#context;
    const bases = await this.#reader.basesWithout(known);
    // Nothing waits in between: calls that are counted here are carried out before the read, and the epochs are asked for
    // after it. A shard that still has its epoch had it then.
    const { calls } = own;
    const reading = this.#reader.readFrom(bases, this.#at, READ);
    const asking = this.#epochs.areStill(known);
    const [{ entries, upTo, hasMore, unsure }, areKnown] = await Promise.all([reading, asking]);
    this.#hasMore = hasMore;
    if (unsure.length > 0) await this.#reader.assertKept(this.#at, unsure);
    // By then all commits are noted that were answered before the read.
    if (known.size > 0) await setImmediate();
    if (!areKnown) own.forget();
    if (!own.stillKnows(known, this.#at)) return await this.#readNext(NONE_KNOWN);
    const found = own.take(known, calls, this.#at, upTo).concat(entries).sort(byVersion);
    this.#keep(found);
    return found.length;
  }

  #forgetAll(): void {
    this.#entries.clear();
    this.#floor = this.#at;
  }

  #keep(found: FeedEntry[]): void {
    if (found.length > 0) {
      const now = performance.now();
      this.#recent = this.#recent * Math.exp((this.#readAt - now) / LATELY_MS) + found.length;
      this.#readAt = now;
    }
    for (const entry of found) {
      this.#at = entry.version;
      this.#floor = this.#entries.add(entry)?.version ?? this.#floor;
    }
  }

  async #restart(): Promise<void> {
    const at = Number(await readVersion(this.#context));
    this.#at = at;
    this.#forgetAll();
  }
}
