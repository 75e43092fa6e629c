/** The event queue and the delivery records of the memory adapter. */
import type { MemoryEvent, MemoryState } from "./state.ts";
import { deliveryPosition, queuedDelivery } from "../delivery_record.ts";
import type { Delivery, EventStore, QueuedEvent } from "../event_port.ts";
import { eventProblem, unreadableEvent } from "../queued_event.ts";
import { comparePositions, continueAfter, parseContinue } from "../list_query.ts";

/** The methods are properties, so that a wrapper can replace some of them. */
export class MemoryEvents implements EventStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  readonly offer: EventStore["offer"] = (event, bound, dedupe) => {
    const state = this.#state;
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
  };

  readonly take: EventStore["take"] = async (worker, max, claimAfterMs, waitMs, signal) => {
    const { wakeups } = this.#state;
    const deadline = wakeups.clock.monotonic() + waitMs;
    while (!signal.aborted && !this.#state.closed) {
      const taken = this.#takeable(claimAfterMs).slice(0, max);
      for (const entry of taken) {
        if (entry.worker !== undefined) entry.event.attempts++;
        entry.worker = worker;
        entry.touchedAt = this.#state.now();
        delete entry.at;
      }
      if (taken.length > 0) return taken.map(({ event }) => this.#readable(event));
      const leftMs = deadline - wakeups.clock.monotonic();
      if (leftMs <= 0) break;
      await wakeups.wait(["events"], Math.min(leftMs, this.#nextDueMs(claimAfterMs)), signal);
    }
    return [];
  };

  /** Those that may be taken now: first those of silent workers, then the others, oldest first. */
  #takeable(claimAfterMs: number): MemoryEvent[] {
    const now = this.#state.now();
    const entries = [...this.#state.events.values()].sort((a, b) => a.seq - b.seq);
    const silent = entries.filter(({ touchedAt }) =>
      touchedAt !== undefined && touchedAt + claimAfterMs <= now
    );
    const ready = entries.filter(({ touchedAt, at }) =>
      touchedAt === undefined && (at === undefined || at <= now)
    );
    return [...silent, ...ready];
  }

  /** Milliseconds until some event may be taken. */
  #nextDueMs(claimAfterMs: number): number {
    const dues = [...this.#state.events.values()].map(({ at, touchedAt }) =>
      (at ?? (touchedAt ?? Infinity) + claimAfterMs) - this.#state.now()
    );
    return Math.max(1, Math.min(...dues));
  }

  /** An event, or a stand-in if it can't be read. */
  #readable(event: QueuedEvent): QueuedEvent {
    const reason = eventProblem({ ...event });
    if (reason === undefined) return { ...event };
    return unreadableEvent({
      reason,
      raw: Buffer.from(JSON.stringify(event)),
      place: event.id,
      facts: { ...event },
      receivedAt: this.#state.deliveries.get(event.id)?.receivedAt ?? this.#state.now(),
      attempts: event.attempts,
    });
  }

  readonly touch: EventStore["touch"] = (worker, ids) => {
    for (const id of ids) {
      const entry = this.#state.events.get(id);
      if (entry?.worker === worker) entry.touchedAt = this.#state.now();
    }
    return Promise.resolve();
  };

  readonly finish: EventStore["finish"] = (deliveries) => {
    for (const delivery of deliveries) {
      if (!this.#state.events.delete(delivery.id)) continue;
      this.#state.deliveries.set(delivery.id, structuredClone(delivery));
    }
    return Promise.resolve();
  };

  readonly retryLater: EventStore["retryLater"] = (delivery, afterMs) => {
    const state = this.#state;
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
  };

  readonly amend: EventStore["amend"] = (delivery) => {
    const { events, deliveries } = this.#state;
    if (!events.has(delivery.id) && deliveries.has(delivery.id)) {
      deliveries.set(delivery.id, structuredClone(delivery));
    }
    return Promise.resolve();
  };

  readonly depth: EventStore["depth"] = () => Promise.resolve(this.#state.events.size);

  readonly oldest: EventStore["oldest"] = () => {
    const times = [...this.#state.events.values()].map(({ event }) => event.receivedAt);
    return Promise.resolve(times.length === 0 ? undefined : Math.min(...times));
  };

  // deno-lint-ignore require-await -- so that refusals are rejections
  readonly deliveries: EventStore["deliveries"] = async (query) => {
    const after = parseContinue(query.continue);
    const found = this.#newestFirst()
      .filter(({ namespace }) => query.namespace === undefined || namespace === query.namespace)
      .filter((delivery) => query.state === undefined || delivery.state === query.state)
      .filter((delivery) =>
        after === undefined || comparePositions(deliveryPosition(delivery), after) > 0
      );
    const items = query.limit > 0 ? found.slice(0, query.limit) : found;
    const last = items.at(-1);
    return {
      items: structuredClone(items),
      ...(last !== undefined && found.length > items.length &&
        { continue: continueAfter(deliveryPosition(last)) }),
    };
  };

  readonly delivery: EventStore["delivery"] = (namespace, id) => {
    const delivery = this.#state.deliveries.get(id);
    return Promise.resolve(
      delivery?.namespace === namespace ? structuredClone(delivery) : undefined,
    );
  };

  readonly trimDeliveries: EventStore["trimDeliveries"] = (maxCount, maxAgeMs, kept) => {
    const { events, deliveries, now } = this.#state;
    const counts = new Map<string, number>();
    for (const { id, namespace, receivedAt, state } of this.#newestFirst()) {
      const bounded = state === "dead" ? `dead/${namespace}` : namespace;
      const count = (counts.get(bounded) ?? 0) + 1;
      counts.set(bounded, count);
      if (events.has(id) || kept?.get(namespace)?.includes(id) === true) continue;
      if (count > maxCount || receivedAt < now() - maxAgeMs) deliveries.delete(id);
    }
    return Promise.resolve();
  };

  #newestFirst(): Delivery[] {
    return [...this.#state.deliveries.values()]
      .sort((a, b) => comparePositions(deliveryPosition(a), deliveryPosition(b)));
  }
}
