/**
 * Reading mailboxes without blocking commands: an append publishes on the shard's channel, and the reader fetches from
 * the shards that have something. A shard counts as empty only as long as nothing was published on its channel since it
 * was read to its end from the same cursor.
 */
import type { Cursor, MailboxEntry } from "../port.ts";
import { LOOK_AGAIN_MS, type RedisContext, untilClosed } from "./context.ts";
import { SHARD_KEY } from "./keys.ts";
import { streamEntriesOf } from "./replies.ts";
import { mailboxEntry } from "../unreadable_command.ts";
import { takeTurns } from "../take_turns.ts";

type Place = { shard: number; cursor: Cursor };

export class MailboxReader {
  readonly #context: RedisContext;
  /** Subscriptions by shard. */
  readonly #subscriptions = new Map<number, Promise<void>>();
  /** Cursor from which a shard was found empty, and when. */
  readonly #emptyFrom = new Map<number, { cursor: string; at: number }>();
  #reads = 0;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** As `ShardStore.readMailboxes`. */
  async read(
    after: Place[],
    max: number,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<MailboxEntry[]> {
    const context = this.#context;
    const subscribing = Promise.all(after.map(({ shard }) => this.#subscribe(shard)));
    await untilClosed(context, subscribing);
    const deadline = performance.now() + waitMs;
    const topics = after.map(({ shard }) => `mail:${shard}`);
    while (!context.isClosed()) {
      const places = takeTurns(after, this.#reads++).filter((place) => !this.#isEmpty(place));
      const share = Math.max(1, Math.ceil(max / Math.max(1, places.length)));
      const fetches = Promise.all(places.map((place) => this.#fetch(place, share)));
      const found = (await untilClosed(context, fetches) ?? []).flat();
      const leftMs = deadline - performance.now();
      if (found.length > 0 || leftMs <= 0 || signal.aborted) return found.slice(0, max);
      if (!after.every((place) => this.#isEmpty(place))) continue;
      await context.wakeups.wait(topics, Math.min(leftMs, LOOK_AGAIN_MS), signal);
    }
    return [];
  }

  #subscribe(shard: number): Promise<void> {
    const { link, keys, wakeups } = this.#context;
    let subscription = this.#subscriptions.get(shard);
    if (subscription === undefined) {
      subscription = link.subscribe(keys.mailChannel(shard), () => {
        this.#emptyFrom.delete(shard);
        wakeups.wake(`mail:${shard}`);
      });
      this.#subscriptions.set(shard, subscription);
      subscription.catch(() => this.#subscriptions.delete(shard));
    }
    return subscription;
  }

  #isEmpty({ shard, cursor }: Place): boolean {
    const found = this.#emptyFrom.get(shard);
    return found?.cursor === cursor && performance.now() - found.at < LOOK_AGAIN_MS;
  }

  async #fetch({ shard, cursor }: Place, max: number): Promise<MailboxEntry[]> {
    const { link, keys, onUnreadable } = this.#context;
    this.#emptyFrom.set(shard, { cursor, at: performance.now() });
    try {
      const stream = keys.shard(shard) + SHARD_KEY.mail;
      const from = cursor === "" ? "-" : `(${cursor}`;
      const reply = await link.send(stream, ["XRANGE", stream, from, "+", "COUNT", String(max)]);
      const entries = streamEntriesOf(reply);
      if (entries.length > 0) this.#emptyFrom.delete(shard);
      return entries.map(({ id, fields }) => mailboxEntry(shard, id, fields["c"], onUnreadable));
    } catch (error) {
      this.#emptyFrom.delete(shard);
      throw error;
    }
  }
}
