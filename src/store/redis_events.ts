/** The event queue and the delivery records of the Redis adapter. */
import { ErrorReply } from "redis";
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
import { EVENT_GROUP, EVENT_KEY } from "./redis_keys.ts";
import { listOf, pairsOf, textsOf } from "./redis_replies.ts";
import type { RedisScript } from "./redis_script.ts";
import { SCAN_DOWN } from "./redis_list_scripts.ts";

/** How often silent workers are looked for while there are new events, in the time of their silence. */
const CLAIMS_PER_SILENCE = 10;

/** Events in one call. */
const MAX_OFFERS = 256;
const RECORDS_AT_ONCE = 1_000;
const STATES: readonly Delivery["state"][] = ["queued", "done", "dead"];

type OfferResult = Awaited<ReturnType<EventStore["offer"]>>["result"];

export function createRedisEvents(context: RedisContext): EventStore {
  const { link, keys, wakeups } = context;
  const base = keys.events;
  let subscription: Promise<void> | undefined;
  /** Counts messages, to notice one that came while we looked. */
  let wakes = 0;
  /** When silent workers were looked for last. */
  let claimedAt = -Infinity;
  /** One worker at a time looks for events: those of a moment go together, and few looks are in vain. */
  let isLooking = false;

  function hear(): Promise<void> {
    subscription ??= link.subscribe(keys.eventChannel, () => {
      wakes++;
      wakeups.wakeOne("events");
    }).catch((error) => {
      subscription = undefined;
      throw error;
    });
    return subscription;
  }

  /** Runs a script; the group of the queue is made when it is missing. */
  async function run(script: RedisScript, args: string[]): Promise<unknown> {
    try {
      return await link.run(script, base, args);
    } catch (error) {
      if (!(error instanceof ErrorReply && error.message.includes("NOGROUP"))) throw error;
      const queue = base + EVENT_KEY.queue;
      await link.send(base, ["XGROUP", "CREATE", queue, EVENT_GROUP, "0", "MKSTREAM"])
        .catch(ignoreBusyGroup);
      return await link.run(script, base, args);
    }
  }

  async function takeNow(worker: string, max: number, claimAfterMs: number) {
    const now = performance.now();
    const looksForSilent = now - claimedAt >= claimAfterMs / CLAIMS_PER_SILENCE;
    if (looksForSilent) claimedAt = now;
    const reply = await run(TAKE, [
      worker,
      String(max),
      String(claimAfterMs),
      looksForSilent ? "1" : "",
    ]);
    const [nextMs, ...taken] = listOf(reply);
    const events = pairsOf(taken).map(([text, attempts]): QueuedEvent => ({
      ...JSON.parse(text) as Omit<QueuedEvent, "attempts">,
      attempts: Number(attempts),
    }));
    return { events, nextMs: Number(nextMs) };
  }

  async function look(
    worker: string,
    max: number,
    claimAfterMs: number,
    deadline: number,
    signal: AbortSignal,
  ): Promise<QueuedEvent[]> {
    while (!signal.aborted && !context.isClosed()) {
      const wakesBefore = wakes;
      const taken = await untilClosed(context, takeNow(worker, max, claimAfterMs));
      if (taken === undefined) break;
      const { events, nextMs } = taken;
      const leftMs = deadline - performance.now();
      if (events.length > 0 || leftMs <= 0) return events;
      if (wakes !== wakesBefore) continue;
      const dueMs = nextMs < 0 ? LOOK_AGAIN_MS : Math.min(nextMs, LOOK_AGAIN_MS);
      await wakeups.wait(["events"], Math.min(leftMs, dueMs), signal);
    }
    return [];
  }

  /** Those that come while a call is under way go together with the next one. */
  const offers = new CallBatches<string[], { result: OfferResult; id: string }>(
    MAX_OFFERS,
    async (batch) => {
      const reply = textsOf(await run(OFFER, [keys.eventChannel, ...batch.flat()]));
      return batch.map((_, index) => ({
        result: reply[2 * index] as OfferResult,
        id: reply[2 * index + 1] ?? "",
      }));
    },
  );

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
            : queuedDelivery(JSON.parse(event) as QueuedEvent),
        );
      });
    }
    return found;
  }

  return {
    offer: (event, bound, dedupe) =>
      offers.add([
        event.id,
        JSON.stringify(event),
        String(bound),
        event.namespace,
        String(event.receivedAt),
        dedupe?.key ?? "",
        dedupe?.fingerprint ?? "",
        String(Math.max(1, Math.trunc(dedupe?.expiresAt ?? 0))),
      ]),

    async take(worker, max, claimAfterMs, waitMs, signal) {
      await untilClosed(context, hear());
      const deadline = performance.now() + waitMs;
      if (waitMs <= 0) return await look(worker, max, claimAfterMs, deadline, signal);
      while (!signal.aborted && !context.isClosed() && performance.now() < deadline) {
        if (isLooking) {
          await wakeups.wait(["event turn"], deadline - performance.now(), signal);
          continue;
        }
        isLooking = true;
        try {
          return await look(worker, max, claimAfterMs, deadline, signal);
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
      if (ids.length > 0) await run(TOUCH, [worker, ...ids]);
    },

    async finish(deliveries) {
      if (deliveries.length > 0) await run(FINISH, deliveries.flatMap(recordArgs));
    },

    async retryLater(delivery, afterMs) {
      const args = [...recordArgs(delivery), String(Math.ceil(afterMs)), keys.eventChannel];
      await run(RETRY_LATER, args);
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
        while (Number(await run(TRIM_DELIVERIES, args)) > 0);
      }
    },
  };
}

function ignoreBusyGroup(error: unknown): void {
  if (!(error instanceof ErrorReply && error.message.startsWith("BUSYGROUP"))) throw error;
}
