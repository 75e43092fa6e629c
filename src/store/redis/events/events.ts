/** The event queue and the delivery records of the Redis adapter. */
import {
  queuedDelivery,
  readDelivery,
  type RecordPlace,
  unreadableRecord,
} from "../../delivery_record.ts";
import {
  comparePositions,
  continueAfter,
  type ListPosition,
  parseContinue,
} from "../../list_query.ts";
import type { Delivery, EventStore } from "../../event_port.ts";
import type { RedisContext } from "../context.ts";
import { readContent } from "./content.ts";
import { RedisEventQueue } from "./queue.ts";
import { AMEND, OLDEST, RECORDS, RETRY_LATER, TOUCH, TRIM_DELIVERIES } from "./scripts.ts";
import { EVENT_KEY } from "../keys.ts";
import { listOf, pairsOf, textsOf } from "../replies.ts";
import { SCAN_DOWN } from "../list_scripts.ts";

const RECORDS_AT_ONCE = 1_000;
/** One call reads so many namespaces: its answer holds up to a page of each. */
const NAMESPACES_AT_ONCE = 20;
/** Namespaces whose oldest event one call looks for. */
const OLDEST_AT_ONCE = 500;
const STATES: readonly Delivery["state"][] = ["queued", "done", "dead"];

/** A record as the indexes hold it. */
interface FiledRecord extends ListPosition {
  namespace: string;
}

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

  readonly oldest: EventStore["oldest"] = async () => {
    const namespaces = await this.#namespaces();
    const times: number[] = [];
    for (let at = 0; at < namespaces.length; at += OLDEST_AT_ONCE) {
      const some = namespaces.slice(at, at + OLDEST_AT_ONCE);
      const reply = await this.#context.link.run(OLDEST, this.#base, some);
      if (reply !== null) times.push(Number(reply));
    }
    return times.length === 0 ? undefined : Math.min(...times);
  };

  readonly deliveries: EventStore["deliveries"] = async ({ namespace, limit, ...query }) => {
    const after = parseContinue(query.continue);
    const count = limit > 0 ? limit : Number.MAX_SAFE_INTEGER;
    const states = query.state === undefined ? STATES : [query.state];
    const namespaces = namespace === undefined ? await this.#namespaces() : [namespace];
    let left = 0;
    let page: FiledRecord[] = [];
    for (let at = 0; at < namespaces.length; at += NAMESPACES_AT_ONCE) {
      const some = namespaces.slice(at, at + NAMESPACES_AT_ONCE);
      const found = await this.#filed(some, states, after, count);
      left += found.left;
      page = [...page, ...found.records].sort(comparePositions).slice(0, count);
    }
    const items = await this.#recordsOf(
      page.map(({ id, namespace, createdAt }) => ({ id, namespace, receivedAt: createdAt })),
    );
    const last = page.at(-1);
    return {
      items: items.filter((item) => item !== undefined),
      ...(last !== undefined && left > page.length && { continue: continueAfter(last) }),
    };
  };

  /** The newest records of some namespaces after a position, and how many there are from there on. */
  async #filed(
    namespaces: readonly string[],
    states: readonly Delivery["state"][],
    after: ListPosition | undefined,
    count: number,
  ): Promise<{ left: number; records: FiledRecord[] }> {
    const from = [after === undefined ? "" : String(after.createdAt), after?.id ?? ""];
    const sets = namespaces.flatMap((namespace) =>
      states.map((state) => ({
        namespace,
        key: `${this.#base}${EVENT_KEY.byTime}${namespace}:${state}`,
      }))
    );
    const args = sets.flatMap(({ key }) => [key, ...from, String(count)]);
    const reply = await this.#context.link.run(SCAN_DOWN, sets[0]?.key ?? this.#base, args);
    const found = listOf(reply).map(listOf);
    return {
      left: found.reduce((sum, [entries]) => sum + Number(entries), 0),
      records: found.flatMap(([, entries], index) =>
        pairsOf(entries).map(([id, time]) => ({
          id,
          createdAt: Number(time),
          namespace: sets[index]?.namespace ?? "",
        }))
      ),
    };
  }

  async #namespaces(): Promise<string[]> {
    const base = this.#base;
    const names = textsOf(
      await this.#context.link.send(base, ["SMEMBERS", base + EVENT_KEY.namespaces]),
    );
    return names.map((name) => name ?? "");
  }

  readonly delivery: EventStore["delivery"] = async (namespace, id) => {
    const [delivery] = await this.#recordsOf([{ id, namespace, receivedAt: 0 }]);
    return delivery?.namespace === namespace ? delivery : undefined;
  };

  readonly trimDeliveries: EventStore["trimDeliveries"] = async (
    maxCount,
    maxAgeMs,
    kept,
  ) => {
    const { link } = this.#context;
    for (const namespace of await this.#namespaces()) {
      const ids = kept?.get(namespace) ?? [];
      const args = [namespace, String(maxCount), String(maxAgeMs), ...ids];
      while (Number(await link.run(TRIM_DELIVERIES, this.#base, args)) > 0);
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
