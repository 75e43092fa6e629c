/** The event queue and the delivery records of the Redis adapter. */
import { CallBatches } from "./call_batches.ts";
import { queuedDelivery } from "./delivery_record.ts";
import { comparePositions, continueAfter, parseContinue } from "./list_query.ts";
import type { Delivery, EventStore, QueuedEvent } from "./port.ts";
import { LOOK_AGAIN_MS, type RedisContext, untilClosed } from "./redis_context.ts";
import {
  AMEND,
  FINISH,
  OFFER,
  RECORDS,
  RETRY_LATER,
  TAKE,
  TOUCH,
  TRIM_DELIVERIES,
} from "./redis_event_scripts.ts";
import { EVENT_KEY } from "./redis_keys.ts";
import { listOf, pairsOf, textsOf } from "./redis_replies.ts";
import { SCAN_DOWN } from "./redis_list_scripts.ts";

/** How often silent workers are looked for in the time of their silence. */
const CLAIMS_PER_SILENCE = 10;

/** Events in one call. */
const MAX_OFFERS = 256;
const MAX_ENDS = 500;
const RECORDS_AT_ONCE = 1_000;
const STATES: readonly Delivery["state"][] = ["queued", "done", "dead"];

type Offer = Parameters<EventStore["offer"]>;
type Offered = Awaited<ReturnType<EventStore["offer"]>>;

/** Who takes events, and when others are thought to be silent. */
interface Taker {
  worker: string;
  max: number;
  claimAfterMs: number;
}

/** One that waits for events; it takes in the same call in which the next ones are offered. */
interface Waiter extends Taker {
  /** Fails when that call does; undefined while there was none. */
  taken?: Promise<QueuedEvent[]>;
}

export function createRedisEvents(context: RedisContext): EventStore {
  const { link, keys, wakeups } = context;
  const base = keys.events;
  let subscription: Promise<void> | undefined;
  /** Counts messages, to notice one that came while we looked. */
  let wakes = 0;
  /** When silent workers were looked for last. */
  let claimedAt = -Infinity;
  /** Until when there is nothing to take, unless a message says otherwise. */
  let emptyUntil = -Infinity;
  /** One worker at a time looks for events: those of a moment go together, and few looks are in vain. */
  let isLooking = false;
  let waiter: Waiter | undefined;

  function hear(): Promise<void> {
    subscription ??= link.subscribe(keys.eventChannel, () => {
      wakes++;
      emptyUntil = -Infinity;
      wakeups.wakeOne("events");
    }).catch((error) => {
      subscription = undefined;
      throw error;
    });
    return subscription;
  }

  /** Arguments of a script that takes. */
  function takeArgs({ worker, max, claimAfterMs }: Taker): string[] {
    const now = performance.now();
    const looksForSilent = now - claimedAt >= claimAfterMs / CLAIMS_PER_SILENCE;
    if (looksForSilent) claimedAt = now;
    const looks = looksForSilent ? "1" : "";
    return [
      worker,
      String(max),
      String(claimAfterMs),
      looks,
      link.isOneServer ? keys.manifests : "",
    ];
  }

  /** What a script took that was called when so many messages had come. */
  function takenOf(
    { max, claimAfterMs }: Taker,
    reply: unknown,
    wakesBefore: number,
  ): QueuedEvent[] {
    const [due, version, ...found] = listOf(reply);
    const taken = pairsOf(found);
    const manifests = String(version);
    const events = taken.map(([content, claims]) => {
      const event = eventOf(content, Number(claims));
      return manifests === "" ? event : { ...event, manifests };
    });
    // There may be more of silent workers.
    if (taken.some(([, claims]) => claims !== "0")) claimedAt = -Infinity;
    const dueMs = Number(due) < 0 ? Infinity : Number(due);
    const restMs = Math.min(dueMs, claimAfterMs / CLAIMS_PER_SILENCE, LOOK_AGAIN_MS);
    const isEmpty = events.length < max && wakes === wakesBefore;
    emptyUntil = isEmpty ? performance.now() + restMs : -Infinity;
    return events;
  }

  async function takeNow(taker: Taker): Promise<QueuedEvent[]> {
    const wakesBefore = wakes;
    const reply = await link.run(TAKE, base, [keys.eventChannel, ...takeArgs(taker)]);
    return takenOf(taker, reply, wakesBefore);
  }

  /** Waits for events that are offered here, for a message, or until there may be some to look for. */
  async function takeNext(taker: Taker, ms: number, signal: AbortSignal): Promise<QueuedEvent[]> {
    const own: Waiter = waiter = { ...taker };
    await wakeups.wait(["events"], ms, signal);
    if (waiter === own) waiter = undefined;
    if (own.taken === undefined) emptyUntil = -Infinity;
    return await own.taken ?? [];
  }

  async function look(
    taker: Taker,
    deadline: number,
    signal: AbortSignal,
  ): Promise<QueuedEvent[]> {
    while (!signal.aborted && !context.isClosed()) {
      let leftMs = deadline - performance.now();
      if (performance.now() >= emptyUntil || leftMs <= 0) {
        const events = await takeNow(taker);
        leftMs = deadline - performance.now();
        if (events.length > 0 || leftMs <= 0) return events;
      }
      const emptyMs = emptyUntil - performance.now();
      const events = await takeNext(taker, Math.min(leftMs, emptyMs), signal);
      if (events.length > 0 || performance.now() >= deadline) return events;
    }
    return [];
  }

  async function offerAll(batch: Offer[]): Promise<Offered[]> {
    const taker = waiter;
    waiter = undefined;
    const wakesBefore = wakes;
    const call = link.run(
      OFFER,
      base,
      offerArgs(keys.eventChannel, taker && takeArgs(taker), batch),
    );
    if (taker !== undefined) {
      taker.taken = call.then((reply) => takenOf(taker, listOf(reply)[1], wakesBefore));
      const wake = () => void wakeups.wakeOne("events");
      taker.taken.then(wake, wake);
    }
    const [refused] = listOf(await call);
    const offered = batch.map(([{ id }]): Offered => ({ result: "accepted", id }));
    const list = textsOf(refused);
    for (let at = 0; at < list.length; at += 3) {
      const [number, result, id = ""] = list.slice(at, at + 3);
      offered[Number(number) - 1] = { result: result as Offered["result"], id };
    }
    return offered;
  }

  /** Those that come while a call is under way go together with the next one. */
  const offers = new CallBatches(MAX_OFFERS, offerAll);

  const recordArgs = (delivery: Delivery) => [
    delivery.id,
    delivery.namespace,
    String(delivery.receivedAt),
    delivery.state,
    JSON.stringify(delivery),
  ];

  /** What is known of events; an event of which nothing became yet has no record of its own. */
  async function recordsOf(ids: string[]): Promise<(Delivery | undefined)[]> {
    const found: (Delivery | undefined)[] = [];
    for (let at = 0; at < ids.length; at += RECORDS_AT_ONCE) {
      const some = ids.slice(at, at + RECORDS_AT_ONCE);
      const reply = textsOf(await link.run(RECORDS, base, some));
      some.forEach((_, index) => {
        const [record, event] = reply.slice(2 * index, 2 * index + 2);
        found.push(
          record !== undefined
            ? JSON.parse(record) as Delivery
            : event === undefined
            ? undefined
            : queuedDelivery(eventOf(event, 0)),
        );
      });
    }
    return found;
  }

  return {
    offer: (...offer) => offers.add(offer),

    async take(worker, max, claimAfterMs, waitMs, signal) {
      await untilClosed(context, hear());
      const deadline = performance.now() + waitMs;
      const taker = { worker, max, claimAfterMs };
      const looked = async () => await untilClosed(context, look(taker, deadline, signal)) ?? [];
      if (waitMs <= 0) return await looked();
      while (!signal.aborted && !context.isClosed() && performance.now() < deadline) {
        if (isLooking) {
          await wakeups.wait(["event turn"], deadline - performance.now(), signal);
          continue;
        }
        isLooking = true;
        try {
          return await looked();
        } finally {
          isLooking = false;
          wakeups.wakeOne("event turn");
        }
      }
      // The turn may have come too late for this one.
      if (!isLooking) wakeups.wakeOne("event turn");
      return [];
    },

    async touch(worker, ids) {
      if (ids.length > 0) await link.run(TOUCH, base, [worker, ...ids]);
    },

    async finish(deliveries) {
      for (let at = 0; at < deliveries.length; at += MAX_ENDS) {
        await link.run(FINISH, base, deliveries.slice(at, at + MAX_ENDS).flatMap(recordArgs));
      }
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
      const items = await recordsOf(page.map(({ id }) => id));
      const last = page.at(-1);
      return {
        items: items.filter((item) => item !== undefined),
        ...(last !== undefined && left > page.length && { continue: continueAfter(last) }),
      };
    },

    async delivery(namespace, id) {
      const [delivery] = await recordsOf([id]);
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

/** Arguments of the script that puts events into the queue. */
function offerArgs(channel: string, taking: string[] | undefined, offers: Offer[]): string[] {
  const args = [channel, ...taking ?? ["", "", "", "", ""], String(offers.length)];
  for (const [event] of offers) args.push(event.id);
  for (const [event] of offers) args.push(`0 ${JSON.stringify(event)}`);
  for (const [, bound] of offers) args.push(String(bound));
  for (const [event] of offers) args.push(event.namespace);
  for (const [event] of offers) args.push(String(event.receivedAt));
  offers.forEach(([, , dedupe], index) => {
    if (dedupe === undefined) return;
    const expiresAt = Math.max(1, Math.trunc(dedupe.expiresAt));
    args.push(String(index + 1), dedupe.key, dedupe.fingerprint, String(expiresAt));
  });
  return args;
}

/** An event from its content in the queue: the attempts before it was put there, space, the event as JSON. */
function eventOf(content: string, claims: number): QueuedEvent {
  const space = content.indexOf(" ");
  const event = JSON.parse(content.slice(space + 1)) as QueuedEvent;
  event.attempts = Number(content.slice(0, space)) + claims;
  return event;
}
