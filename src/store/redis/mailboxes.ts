/**
 * Reading mailboxes without blocking commands: an append publishes on the shard's channel, and the reader fetches from
 * the shards that have something. A shard counts as empty only as long as nothing was published on its channel since it
 * was read to its end from the same cursor.
 */
import type { Cursor, MailboxEntry } from "../port.ts";
import { LOOK_AGAIN_MS, type RedisContext, untilClosed } from "./context.ts";
import { SHARD_KEY } from "./keys.ts";
import { listOf, streamEntriesOf } from "./replies.ts";
import { eachThatAnswers } from "./shard_calls.ts";
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
      const found = (await untilClosed(context, this.#fetch(places, share)) ?? []).flat();
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

  /** Reads these mailboxes: in one call on one server, where otherwise 64 shards would cost 64 calls a second. */
  async #fetch(places: Place[], max: number): Promise<MailboxEntry[][]> {
    if (places.length === 0) return [];
    const at = performance.now();
    for (const { shard, cursor } of places) this.#emptyFrom.set(shard, { cursor, at });
    try {
      if (this.#context.link.isOneServer) return [await this.#readGroup(places, max)];
      // A mailbox whose server does not answer counts as empty until it is looked at again.
      const read = (place: Place) => this.#readGroup([place], max);
      const found = await eachThatAnswers(places, read, LOOK_AGAIN_MS);
      return found.filter((entries) => entries !== undefined);
    } catch (error) {
      for (const { shard } of places) this.#emptyFrom.delete(shard);
      throw error;
    }
  }

  async #readGroup(places: Place[], max: number): Promise<MailboxEntry[]> {
    const { link, keys, onUnreadable } = this.#context;
    const shards = new Map(
      places.map(({ shard }) => [keys.shard(shard) + SHARD_KEY.mail, shard]),
    );
    const streams = [...shards.keys()];
    const cursors = places.map(({ cursor }) => cursor || "0");
    const args = ["XREAD", "COUNT", String(max), "STREAMS", ...streams, ...cursors];
    const found: MailboxEntry[] = [];
    for (const reply of listOf(await link.send(streams[0] ?? "", args))) {
      const [stream, entries] = listOf(reply);
      const shard = shards.get(String(stream)) ?? 0;
      this.#emptyFrom.delete(shard);
      for (const { id, fields } of streamEntriesOf(entries)) {
        const entry = mailboxEntry(shard, id, fields["c"], onUnreadable);
        // Redis makes the ids of its own time of day.
        entry.storedAt = Number.parseInt(id);
        found.push(entry);
      }
    }
    return found;
  }
}
