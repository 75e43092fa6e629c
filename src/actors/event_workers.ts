/**
 * The event workers of a replica. They share the queue with those of all replicas; each takes events in batches, tells
 * that it still works on them, and ends each one as soon as its dispatch is over.
 */
import { type Actor, createActor, waitFor } from "xstate";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { Delivery, EventStore, QueuedEvent } from "../store/port.ts";
import { unreadableDelivery } from "../store/queued_event.ts";
import { eventWorkerMachine } from "./event_worker_machine.ts";

/** Events in one batch. */
const MAX_BATCH = 64;
/** How long a worker waits for events before it looks again. */
const TAKE_WAIT_MS = 20_000;
/** How long it waits while it is at work. */
const STAY_MS = 50;
const REST_MS = 500;
/** How often what must be written is tried before it is left to whoever claims the event. */
const END_ATTEMPTS = 5;
const TRIM_EVERY_MS = 60_000;

export interface EventWorkersDeps {
  events: EventStore;
  clock: Clock;
  ids: Ids;
  log: Logger;
  /** What becomes of an event; `retryAfterMs` brings it back. A rejection is a defect. */
  dispatch(event: QueuedEvent): Promise<{ delivery: Delivery; retryAfterMs?: number }>;
  /** The record of an event whose dispatch has a defect. */
  failed(event: QueuedEvent): Delivery;
  /** Hears of every event that is over. */
  onEnd?(delivery: Delivery): void;
}

export interface EventWorkersOptions {
  replica: string;
  count: number;
  /** Silence after which the events of a worker are taken over, ms. */
  claimAfterMs: number;
  /** Delivery records that are kept in each namespace. */
  deliveryCount: number;
  deliveryAgeMs: number;
}

export class EventWorkers {
  readonly #deps: EventWorkersDeps;
  readonly #options: EventWorkersOptions;
  readonly #stop = new AbortController();
  /** Aborts when all workers have ended. */
  readonly #over = new AbortController();
  /** Events that workers have and that are not over; an entry for each worker. */
  readonly #open = new Map<string, Set<string>>();
  #workers: Actor<typeof eventWorkerMachine>[] = [];

  constructor(deps: EventWorkersDeps, options: EventWorkersOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  start(): void {
    this.#workers = Array.from({ length: this.#options.count }, (_, index) => {
      const worker = `${this.#options.replica}/${index}`;
      const { clock, ids, log } = this.#deps;
      this.#open.set(worker, new Set());
      let troubles = 0;
      const actor = createActor(eventWorkerMachine, {
        input: {
          take: () => this.#take(worker, TAKE_WAIT_MS),
          work: (events) => this.#work(worker, events, () => troubles = 0),
          rest: (signal) => clock.sleep(REST_MS * (0.5 + ids.fraction()), signal),
          onTrouble: (cause) => {
            if (troubles++ % 20 === 0) log.warn({ worker, err: cause }, "event queue in trouble");
          },
        },
      });
      return actor.start();
    });
    if (this.#options.count === 0) return;
    void this.#keepTouching();
    void this.#trim();
  }

  /** Takes nothing more; resolves when what was taken is done. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#workers.map((worker) => {
      if (worker.getSnapshot().status !== "done") worker.send({ type: "stop" });
      return waitFor(worker, ({ status }) => status === "done", { timeout: Infinity });
    }));
    this.#over.abort();
  }

  async #take(worker: string, waitMs: number): Promise<QueuedEvent[]> {
    const { events } = this.#deps;
    const taken = await events.take(
      worker,
      MAX_BATCH,
      this.#options.claimAfterMs,
      waitMs,
      this.#stop.signal,
    );
    const open = this.#open.get(worker);
    for (const { id } of taken) open?.add(id);
    return taken;
  }

  /** Works on events and on those that come meanwhile: going to and fro between states costs as much as a few events. */
  async #work(worker: string, events: QueuedEvent[], onDone: () => void): Promise<void> {
    const open = this.#open.get(worker);
    const onOver = (id: string) => void open?.delete(id);
    const ends = new Ends(this.#deps, onOver);
    try {
      for (let batch = events; batch.length > 0;) {
        await Promise.all(batch.map((event) => this.#one(event, ends, onOver)));
        onDone();
        if (this.#stop.signal.aborted) return;
        // The next ones are taken while the ends of these are written.
        [batch] = await Promise.all([
          this.#take(worker, STAY_MS),
          ends.flushed(),
        ]);
      }
    } finally {
      await ends.flushed();
      open?.clear();
    }
  }

  /** Tells again and again that the workers still work on what they have, until all have ended. */
  async #keepTouching(): Promise<void> {
    const { clock, log, events } = this.#deps;
    while (!this.#over.signal.aborted) {
      await clock.sleep(this.#options.claimAfterMs / 3, this.#over.signal);
      await Promise.all(
        [...this.#open].map(async ([worker, open]) => {
          if (open.size === 0) return;
          await events.touch(worker, [...open]).catch((cause: unknown) => {
            log.warn({ worker, err: cause }, "events could not be touched");
          });
        }),
      );
    }
  }

  async #one(event: QueuedEvent, ends: Ends, onOver: (id: string) => void): Promise<void> {
    const { dispatch, failed, log, events } = this.#deps;
    if (event.unreadable !== undefined) {
      return ends.add(unreadableDelivery(event));
    }
    let verdict: { delivery: Delivery; retryAfterMs?: number };
    try {
      verdict = await dispatch(event);
    } catch (cause) {
      log.error({ event: event.id, namespace: event.namespace, err: cause }, "dispatch failed");
      verdict = { delivery: failed(event) };
    }
    const { delivery, retryAfterMs } = verdict;
    if (retryAfterMs === undefined) return ends.add(delivery);
    // When it can't be given back it is claimed from this worker later, which is a retry too.
    await events.retryLater(delivery, retryAfterMs).catch((cause: unknown) => {
      log.warn({ event: event.id, err: cause }, "event could not be given back");
    });
    onOver(event.id);
  }

  async #trim(): Promise<void> {
    const { clock, ids, log, events } = this.#deps;
    const { deliveryCount, deliveryAgeMs } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(TRIM_EVERY_MS * (0.5 + ids.fraction()), signal);
      if (signal.aborted) return;
      await events.trimDeliveries(deliveryCount, deliveryAgeMs).catch((cause: unknown) => {
        log.warn({ err: cause }, "delivery records could not be trimmed");
      });
    }
  }
}

/** Writes the ends of events; those that come while one write is under way share the next. Nothing of it rejects. */
class Ends {
  readonly #deps: EventWorkersDeps;
  /** Hears of an event that is written, or left to whoever claims it. */
  readonly #onOver: (id: string) => void;
  #waiting: Delivery[] = [];
  #writing: Promise<void> | undefined;

  constructor(deps: EventWorkersDeps, onOver: (id: string) => void) {
    this.#deps = deps;
    this.#onOver = onOver;
  }

  add(delivery: Delivery): void {
    this.#waiting.push(delivery);
    this.#writing ??= this.#write();
  }

  async flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #write(): Promise<void> {
    // Those that end at the same moment go together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      const isWritten = await this.#finish(batch);
      for (const delivery of batch) {
        this.#onOver(delivery.id);
        if (isWritten) this.#deps.onEnd?.(delivery);
      }
    }
    // In the same turn as the look at what waits: nothing comes in between.
    this.#writing = undefined;
  }

  async #finish(batch: Delivery[]): Promise<boolean> {
    const { events, clock, ids, log } = this.#deps;
    for (let attempt = 1;; attempt++) {
      try {
        await events.finish(batch);
        return true;
      } catch (cause) {
        if (attempt === END_ATTEMPTS) {
          log.warn(
            { count: batch.length, err: cause },
            "events could not be ended; they come back",
          );
          return false;
        }
        await clock.sleep(100 * 2 ** attempt * (0.5 + ids.fraction()));
      }
    }
  }
}
