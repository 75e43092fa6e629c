/**
 * Reading mailboxes without blocking commands: whoever appends publishes on the shard's channel, and the reader fetches
 * from the shards that have something. A shard is known to be empty only as long as nobody published on its channel since
 * it was read to the end from the same cursor.
 */
import type { MailboxEntry, ShardStore } from "./port.ts";
import { LOOK_AGAIN_MS, type RedisContext, untilClosed } from "./redis_context.ts";
import { SHARD_KEY } from "./redis_keys.ts";
import { streamEntriesOf } from "./redis_replies.ts";
import { mailboxEntry } from "./stored_command.ts";
import { takeTurns } from "./take_turns.ts";

type Place = { shard: number; cursor: string };

export function createMailboxReader(context: RedisContext): ShardStore["readMailboxes"] {
  const { link, keys, wakeups } = context;
  /** Subscriptions by shard. */
  const heard = new Map<number, Promise<void>>();
  /** Cursor from which a shard was found empty, and when. */
  const emptyFrom = new Map<number, { cursor: string; at: number }>();
  let reads = 0;

  function hear(shard: number): Promise<void> {
    let subscription = heard.get(shard);
    if (subscription === undefined) {
      subscription = link.subscribe(keys.mailChannel(shard), () => {
        emptyFrom.delete(shard);
        wakeups.wake(`mail:${shard}`);
      });
      heard.set(shard, subscription);
      subscription.catch(() => heard.delete(shard));
    }
    return subscription;
  }

  function isEmpty({ shard, cursor }: Place): boolean {
    const found = emptyFrom.get(shard);
    return found?.cursor === cursor && performance.now() - found.at < LOOK_AGAIN_MS;
  }

  async function fetch({ shard, cursor }: Place, max: number): Promise<MailboxEntry[]> {
    emptyFrom.set(shard, { cursor, at: performance.now() });
    try {
      const stream = keys.shard(shard) + SHARD_KEY.mail;
      const from = cursor === "" ? "-" : `(${cursor}`;
      const reply = await link.send(stream, ["XRANGE", stream, from, "+", "COUNT", String(max)]);
      const entries = streamEntriesOf(reply);
      if (entries.length > 0) emptyFrom.delete(shard);
      return entries.map(({ id, fields }) =>
        mailboxEntry(shard, id, fields["c"], context.onUnreadable)
      );
    } catch (error) {
      emptyFrom.delete(shard);
      throw error;
    }
  }

  return async (after, max, waitMs, signal) => {
    await untilClosed(context, Promise.all(after.map(({ shard }) => hear(shard))));
    const deadline = performance.now() + waitMs;
    const topics = after.map(({ shard }) => `mail:${shard}`);
    while (!context.isClosed()) {
      const places = takeTurns(after, reads++).filter((place) => !isEmpty(place));
      const share = Math.max(1, Math.ceil(max / Math.max(1, places.length)));
      const fetches = Promise.all(places.map((place) => fetch(place, share)));
      const found = (await untilClosed(context, fetches) ?? []).flat();
      const leftMs = deadline - performance.now();
      if (found.length > 0 || leftMs <= 0 || signal.aborted) return found.slice(0, max);
      if (!after.every(isEmpty)) continue;
      await wakeups.wait(topics, Math.min(leftMs, LOOK_AGAIN_MS), signal);
    }
    return [];
  };
}
