/** The event queue and the delivery records of the memory adapter. */
import type { MemoryEvent, MemoryState } from "./memory_state.ts";
import { deliveryPosition, queuedDelivery } from "./delivery_record.ts";
import type { EventStore, QueuedEvent } from "./port.ts";
import { eventProblem, unreadableEvent } from "./queued_event.ts";
import { comparePositions, continueAfter, parseContinue } from "./list_query.ts";

export function createMemoryEvents(state: MemoryState): EventStore {
  /** Those that may be taken now: silent workers' first, then oldest first. */
  function takeable(claimAfterMs: number): MemoryEvent[] {
    const now = state.now();
    const entries = [...state.events.values()].sort((a, b) => a.seq - b.seq);
    const silent = entries.filter(({ touchedAt }) =>
      touchedAt !== undefined && touchedAt + claimAfterMs <= now
    );
    const ready = entries.filter(({ touchedAt, at }) =>
      touchedAt === undefined && (at === undefined || at <= now)
    );
    return [...silent, ...ready];
  }

  /** An event; one that stands for it when it can't be read. */
  function readable(event: QueuedEvent): QueuedEvent {
    const reason = eventProblem({ ...event });
    if (reason === undefined) return { ...event };
    return unreadableEvent({
      reason,
      raw: Buffer.from(JSON.stringify(event)),
      place: event.id,
      facts: { ...event },
      receivedAt: state.deliveries.get(event.id)?.receivedAt ?? state.now(),
      attempts: event.attempts,
    });
  }

  return {
    offer(event, bound, dedupe) {
      const marker = dedupe && state.dedupes.get(dedupe.key);
      if (marker !== undefined && marker.expiresAt > state.now()) {
        const same = marker.fingerprint === dedupe?.fingerprint;
        return Promise.resolve({ result: same ? "duplicate" : "mismatch", id: marker.id });
      }
      if (state.events.has(event.id)) {
        return Promise.resolve({ result: "duplicate", id: event.id });
      }
      if (state.events.size >= bound) return Promise.resolve({ result: "full", id: event.id });
      if (dedupe !== undefined) {
        const { key, fingerprint, expiresAt } = dedupe;
        state.dedupes.set(key, { id: event.id, fingerprint, expiresAt });
      }
      state.events.set(event.id, { event: { ...event, attempts: 0 }, seq: ++state.seq });
      state.deliveries.set(event.id, queuedDelivery(event));
      state.wakeups.wakeOne("events");
      return Promise.resolve({ result: "accepted", id: event.id });
    },

    async take(worker, max, claimAfterMs, waitMs, signal) {
      const deadline = state.wakeups.clock.monotonic() + waitMs;
      while (!signal.aborted && !state.closed) {
        const taken = takeable(claimAfterMs).slice(0, max);
        for (const entry of taken) {
          if (entry.worker !== undefined) entry.event.attempts++;
          entry.worker = worker;
          entry.touchedAt = state.now();
          delete entry.at;
        }
        if (taken.length > 0) return taken.map(({ event }) => readable(event));
        const leftMs = deadline - state.wakeups.clock.monotonic();
        if (leftMs <= 0) break;
        const dues = [...state.events.values()].map(({ at, touchedAt }) =>
          (at ?? (touchedAt ?? Infinity) + claimAfterMs) - state.now()
        );
        const nextMs = Math.max(1, Math.min(...dues));
        await state.wakeups.wait(["events"], Math.min(leftMs, nextMs), signal);
      }
      return [];
    },

    touch(worker, ids) {
      for (const id of ids) {
        const entry = state.events.get(id);
        if (entry?.worker === worker) entry.touchedAt = state.now();
      }
      return Promise.resolve();
    },

    finish(deliveries) {
      for (const delivery of deliveries) {
        if (!state.events.delete(delivery.id)) continue;
        state.deliveries.set(delivery.id, structuredClone(delivery));
      }
      return Promise.resolve();
    },

    retryLater(delivery, afterMs) {
      const entry = state.events.get(delivery.id);
      if (entry === undefined) return Promise.resolve();
      entry.event.attempts++;
      delete entry.worker;
      delete entry.touchedAt;
      entry.at = state.now() + afterMs;
      entry.seq = ++state.seq;
      state.deliveries.set(delivery.id, structuredClone(delivery));
      state.wakeups.wakeOne("events");
      return Promise.resolve();
    },

    amend(delivery) {
      if (!state.events.has(delivery.id) && state.deliveries.has(delivery.id)) {
        state.deliveries.set(delivery.id, structuredClone(delivery));
      }
      return Promise.resolve();
    },

    depth() {
      return Promise.resolve(state.events.size);
    },

    // deno-lint-ignore require-await -- so that refusals are rejections
    async deliveries(query) {
      const after = parseContinue(query.continue);
      const found = [...state.deliveries.values()]
        .filter(({ namespace }) => namespace === query.namespace)
        .filter((delivery) => query.state === undefined || delivery.state === query.state)
        .filter((delivery) =>
          after === undefined || comparePositions(deliveryPosition(delivery), after) > 0
        )
        .sort((a, b) => comparePositions(deliveryPosition(a), deliveryPosition(b)));
      const items = query.limit > 0 ? found.slice(0, query.limit) : found;
      const last = items.at(-1);
      return {
        items: structuredClone(items),
        ...(last !== undefined && found.length > items.length &&
          { continue: continueAfter(deliveryPosition(last)) }),
      };
    },

    delivery(namespace, id) {
      const delivery = state.deliveries.get(id);
      return Promise.resolve(
        delivery?.namespace === namespace ? structuredClone(delivery) : undefined,
      );
    },

    trimDeliveries(maxCount, maxAgeMs) {
      const counts = new Map<string, number>();
      const newestFirst = [...state.deliveries.values()]
        .sort((a, b) => comparePositions(deliveryPosition(a), deliveryPosition(b)));
      for (const { id, namespace, receivedAt } of newestFirst) {
        const count = (counts.get(namespace) ?? 0) + 1;
        counts.set(namespace, count);
        if (state.events.has(id)) continue;
        if (count > maxCount || receivedAt < state.now() - maxAgeMs) state.deliveries.delete(id);
      }
      return Promise.resolve();
    },
  };
}
