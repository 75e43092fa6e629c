/** The event queue and the delivery records of the Redis adapter. */
import {
  queuedDelivery,
  readDelivery,
  type RecordPlace,
  unreadableRecord,
} from "./delivery_record.ts";
import { comparePositions, continueAfter, parseContinue } from "./list_query.ts";
import type { Delivery, EventStore } from "./port.ts";
import type { RedisContext } from "./redis_context.ts";
import { readContent } from "./redis_event_content.ts";
import { createRedisEventQueue } from "./redis_event_queue.ts";
import { AMEND, RECORDS, RETRY_LATER, TOUCH, TRIM_DELIVERIES } from "./redis_event_scripts.ts";
import { EVENT_KEY } from "./redis_keys.ts";
import { listOf, pairsOf, textsOf } from "./redis_replies.ts";
import { SCAN_DOWN } from "./redis_list_scripts.ts";

const RECORDS_AT_ONCE = 1_000;
const STATES: readonly Delivery["state"][] = ["queued", "done", "dead"];

export function createRedisEvents(context: RedisContext): EventStore {
  const { link, keys } = context;
  const base = keys.events;

  /** What is known of events; an event of which nothing became yet has no record of its own. */
  async function recordsOf(places: RecordPlace[]): Promise<(Delivery | undefined)[]> {
    const found: (Delivery | undefined)[] = [];
    for (let at = 0; at < places.length; at += RECORDS_AT_ONCE) {
      const some = places.slice(at, at + RECORDS_AT_ONCE);
      const reply = textsOf(await link.run(RECORDS, base, some.map(({ id }) => id)));
      some.forEach((place, index) => {
        const [record, content] = reply.slice(2 * index, 2 * index + 2);
        if (record !== undefined) found.push(readDelivery(record, place));
        else found.push(content === undefined ? undefined : queuedRecord(content, place));
      });
    }
    return found;
  }

  return {
    ...createRedisEventQueue(context),

    async touch(worker, ids) {
      if (ids.length > 0) await link.run(TOUCH, base, [worker, ...ids]);
    },

    async retryLater(delivery, afterMs) {
      const args = [...recordArgs(delivery), String(Math.ceil(afterMs)), keys.eventChannel];
      await link.run(RETRY_LATER, base, args);
    },

    async amend(delivery) {
      await link.run(AMEND, base, recordArgs(delivery));
    },

    async depth() {
      return Number(await link.send(base, ["HLEN", base + EVENT_KEY.places]));
    },

    async deliveries({ namespace, state, limit, ...query }) {
      const after = parseContinue(query.continue);
      const count = limit > 0 ? limit : Number.MAX_SAFE_INTEGER;
      const from = [after === undefined ? "" : String(after.createdAt), after?.id ?? ""];
      const sets = (state === undefined ? STATES : [state])
        .map((one) => `${base}${EVENT_KEY.byTime}${namespace}:${one}`);
      const args = sets.flatMap((set) => [set, ...from, String(count)]);
      const found = listOf(await link.run(SCAN_DOWN, sets[0] ?? base, args)).map(listOf);
      const left = found.reduce((sum, [entries]) => sum + Number(entries), 0);
      const page = found
        .flatMap(([, entries]) => pairsOf(entries))
        .map(([id, time]) => ({ id, createdAt: Number(time) }))
        .sort(comparePositions)
        .slice(0, count);
      const items = await recordsOf(
        page.map(({ id, createdAt }) => ({ id, namespace, receivedAt: createdAt })),
      );
      const last = page.at(-1);
      return {
        items: items.filter((item) => item !== undefined),
        ...(last !== undefined && left > page.length && { continue: continueAfter(last) }),
      };
    },

    async delivery(namespace, id) {
      const [delivery] = await recordsOf([{ id, namespace, receivedAt: 0 }]);
      return delivery?.namespace === namespace ? delivery : undefined;
    },

    async trimDeliveries(maxCount, maxAgeMs) {
      const namespaces = textsOf(await link.send(base, ["SMEMBERS", base + EVENT_KEY.namespaces]));
      for (const namespace of namespaces) {
        const args = [namespace ?? "", String(maxCount), String(maxAgeMs)];
        while (Number(await link.run(TRIM_DELIVERIES, base, args)) > 0);
      }
    },
  };
}

/** The record of an event that waits; what can't be read becomes a dead letter when its turn comes. */
function queuedRecord(content: string, place: RecordPlace): Delivery {
  const event = readContent(content, 0);
  return typeof event === "string"
    ? { ...unreadableRecord(place, content), state: "queued" }
    : queuedDelivery(event);
}

/** Arguments of the scripts that write one delivery record. */
function recordArgs(delivery: Delivery): string[] {
  const { id, namespace, receivedAt, state } = delivery;
  return [id, namespace, String(receivedAt), state, JSON.stringify(delivery)];
}
