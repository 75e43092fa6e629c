/** The event queue and the delivery records of the Redis adapter. */
import {
  queuedDelivery,
  readDelivery,
  type RecordPlace,
  unreadableRecord,
} from "../../delivery_record.ts";
import { comparePositions, continueAfter, parseContinue } from "../../list_query.ts";
import type { Delivery, EventStore } from "../../event_port.ts";
import type { RedisContext } from "../context.ts";
import { readContent } from "./content.ts";
import { RedisEventQueue } from "./queue.ts";
import { AMEND, RECORDS, RETRY_LATER, TOUCH, TRIM_DELIVERIES } from "./scripts.ts";
import { EVENT_KEY } from "../keys.ts";
import { listOf, pairsOf, textsOf } from "../replies.ts";
import { SCAN_DOWN } from "../list_scripts.ts";

const RECORDS_AT_ONCE = 1_000;
const STATES: readonly Delivery["state"][] = ["queued", "done", "dead"];

/** The methods are properties, so that a wrapper can replace some of them. */
export class RedisEvents implements EventStore {
  readonly #context: RedisContext;
  readonly #base: string;
  readonly #queue: RedisEventQueue;

  constructor(context: RedisContext) {
    this.#context = context;
    this.#base = context.keys.events;
    this.#queue = new RedisEventQueue(context);
  }

  readonly offer: EventStore["offer"] = (...offer) => this.#queue.offer(offer);

  readonly take: EventStore["take"] = (worker, max, claimAfterMs, waitMs, signal) =>
    this.#queue.take({ worker, max, claimAfterMs }, waitMs, signal);

  readonly finish: EventStore["finish"] = (deliveries) => this.#queue.finish(deliveries);

  readonly touch: EventStore["touch"] = async (worker, ids) => {
    if (ids.length > 0) await this.#context.link.run(TOUCH, this.#base, [worker, ...ids]);
  };

  readonly retryLater: EventStore["retryLater"] = async (delivery, afterMs) => {
    const { link, keys } = this.#context;
    const args = [...recordArgs(delivery), String(Math.ceil(afterMs)), keys.eventChannel];
    await link.run(RETRY_LATER, this.#base, args);
  };

  readonly amend: EventStore["amend"] = async (delivery) => {
    await this.#context.link.run(AMEND, this.#base, recordArgs(delivery));
  };

  readonly depth: EventStore["depth"] = async () => {
    const key = this.#base + EVENT_KEY.places;
    return Number(await this.#context.link.send(this.#base, ["HLEN", key]));
  };

  readonly deliveries: EventStore["deliveries"] = async ({ namespace, state, limit, ...query }) => {
    const after = parseContinue(query.continue);
    const count = limit > 0 ? limit : Number.MAX_SAFE_INTEGER;
    const from = [after === undefined ? "" : String(after.createdAt), after?.id ?? ""];
    const sets = (state === undefined ? STATES : [state])
      .map((one) => `${this.#base}${EVENT_KEY.byTime}${namespace}:${one}`);
    const args = sets.flatMap((set) => [set, ...from, String(count)]);
    const reply = await this.#context.link.run(SCAN_DOWN, sets[0] ?? this.#base, args);
    const found = listOf(reply).map(listOf);
    const left = found.reduce((sum, [entries]) => sum + Number(entries), 0);
    const page = found
      .flatMap(([, entries]) => pairsOf(entries))
      .map(([id, time]) => ({ id, createdAt: Number(time) }))
      .sort(comparePositions)
      .slice(0, count);
    const items = await this.#recordsOf(
      page.map(({ id, createdAt }) => ({ id, namespace, receivedAt: createdAt })),
    );
    const last = page.at(-1);
    return {
      items: items.filter((item) => item !== undefined),
      ...(last !== undefined && left > page.length && { continue: continueAfter(last) }),
    };
  };

  readonly delivery: EventStore["delivery"] = async (namespace, id) => {
    const [delivery] = await this.#recordsOf([{ id, namespace, receivedAt: 0 }]);
    return delivery?.namespace === namespace ? delivery : undefined;
  };

  readonly trimDeliveries: EventStore["trimDeliveries"] = async (maxCount, maxAgeMs) => {
    const { link } = this.#context;
    const base = this.#base;
    const namespaces = textsOf(await link.send(base, ["SMEMBERS", base + EVENT_KEY.namespaces]));
    for (const namespace of namespaces) {
      const args = [namespace ?? "", String(maxCount), String(maxAgeMs)];
      while (Number(await link.run(TRIM_DELIVERIES, base, args)) > 0);
    }
  };

  /** The records of events. An event without any outcome yet has no stored record. */
  async #recordsOf(places: RecordPlace[]): Promise<(Delivery | undefined)[]> {
    const found: (Delivery | undefined)[] = [];
    for (let at = 0; at < places.length; at += RECORDS_AT_ONCE) {
      const some = places.slice(at, at + RECORDS_AT_ONCE);
      const ids = some.map(({ id }) => id);
      const reply = textsOf(await this.#context.link.run(RECORDS, this.#base, ids));
      some.forEach((place, index) => {
        const [record, content] = reply.slice(2 * index, 2 * index + 2);
        if (record !== undefined) found.push(readDelivery(record, place));
        else found.push(content === undefined ? undefined : queuedRecord(content, place));
      });
    }
    return found;
  }
}

/** The record of a waiting event. An unreadable one becomes a dead letter when its turn comes. */
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
