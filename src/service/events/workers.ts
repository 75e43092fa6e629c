/**
 * The event workers of a replica. The workers of all replicas share the queue. Each takes events in batches, tells the
 * store that it still works on them, and finishes each one as soon as its dispatch is over.
 */
import { type Actor, createActor, waitFor } from "xstate";
import { type Clock, untilBeat } from "../../platform/clock.ts";
import { Deadlines } from "../../platform/deadlines.ts";
import { FairLimiter } from "../../platform/fair_limiter.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import { Turns } from "../../platform/turns.ts";
import type { Delivery, EventStore, QueuedEvent } from "../../store/event_port.ts";
import { unreadableDelivery } from "../../store/queued_event.ts";
import { DeliveryWriter } from "./delivery_writer.ts";
import { isLargeEvent } from "./binding_runs.ts";
import type { Verdict } from "./dispatch.ts";
import { UnderWay } from "./under_way.ts";
import { eventWorkerMachine } from "./worker_machine.ts";

/** Events of one worker that are under way. */
const MAX_BATCH = 64;
/** An event that takes longer no longer keeps its worker from taking others. */
const SLOW_MS = 100;
/** How long a worker waits for events before it asks again. */
const TAKE_WAIT_MS = 20_000;
/** How long it waits for more events while it is at work. */
const STAY_MS = 50;
const REST_MS = 500;
const TRIM_EVERY_MS = 60_000;
/** Large events that are dispatched at once: what is read of one, and each binding's copy of it, take many times its text. */
const LARGE_AT_ONCE = 8;

export interface EventWorkersDeps {
  events: EventStore;
  clock: Clock;
  ids: Ids;
  log: Logger;
  /** What becomes of an event; with `retryAfterMs` it comes back. A rejection is a defect. */
  dispatch(event: QueuedEvent): Verdict | Promise<Verdict>;
  /** The record of an event whose dispatch has a defect. */
  failed(event: QueuedEvent): Delivery;
  /** Tells of dead letters before their records are written; may be called again. @throws {Problem} Unavailable */
  onDead?(delivery: Delivery): Promise<void>;
  /** Ids of events that are over and whose records must stay, by namespace. */
  kept?(): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Called for every event that is over. */
  onEnd?(delivery: Delivery): void;
}

export interface EventWorkersOptions {
  replica: string;
  count: number;
  /** After this silence the events of a worker are taken over, ms. */
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
  /** Ids of the events that each worker has and that are not over. */
  readonly #claimed = new Map<string, Set<string>>();
  /** By namespace. */
  readonly #large = new FairLimiter(LARGE_AT_ONCE);
  readonly #patience: Deadlines;
  #workers: Actor<typeof eventWorkerMachine>[] = [];

  constructor(deps: EventWorkersDeps, options: EventWorkersOptions) {
    this.#deps = deps;
    this.#patience = new Deadlines(deps.clock, SLOW_MS);
    this.#options = options;
  }

  start(): void {
    this.#workers = Array.from({ length: this.#options.count }, (_, index) => {
      const worker = `${this.#options.replica}/${index}`;
      const { clock, ids, log } = this.#deps;
      this.#claimed.set(worker, new Set());
      let troubles = 0;
      const actor = createActor(eventWorkerMachine, {
        input: {
          take: () => this.#take(worker, MAX_BATCH, TAKE_WAIT_MS),
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

  async #take(worker: string, max: number, waitMs: number): Promise<QueuedEvent[]> {
    const { events } = this.#deps;
    const taken = await events.take(
      worker,
      max,
      this.#options.claimAfterMs,
      waitMs,
      this.#stop.signal,
    );
    const claimed = this.#claimed.get(worker);
    for (const { id } of taken) claimed?.add(id);
    return taken;
  }

  /** Dispatches events, and those that come meanwhile: a change of the machine's state costs as much as a few events. */
  async #work(worker: string, events: QueuedEvent[], onDone: () => void): Promise<void> {
    const claimed = this.#claimed.get(worker);
    const onOver = (id: string) => void claimed?.delete(id);
    const finished = new DeliveryWriter(this.#deps, onOver);
    const underWay = new UnderWay(MAX_BATCH, this.#patience);
    try {
      for (let batch = events; batch.length > 0 || !underWay.isEmpty;) {
        for (const event of batch) {
          const one = this.#dispatch(event, finished, onOver);
          if (one !== undefined) underWay.add(one);
        }
        if (!underWay.isEmpty) await underWay.settled();
        onDone();
        if (this.#stop.signal.aborted) return;
        const waitMs = underWay.isEmpty ? STAY_MS : TAKE_WAIT_MS;
        // The next events are taken while the records of these are written.
        [batch] = await Promise.all([
          this.#take(worker, underWay.room, waitMs),
          finished.flushed(),
        ]);
      }
    } finally {
      await underWay.ended();
      await finished.flushed();
      claimed?.clear();
    }
  }

  /** Tells the store again and again that the workers still work on their events, until all workers have ended. */
  async #keepTouching(): Promise<void> {
    const { clock, log, events } = this.#deps;
    while (!this.#over.signal.aborted) {
      const ms = untilBeat(clock.monotonic(), this.#options.claimAfterMs / 3);
      await clock.sleep(ms, this.#over.signal);
      await Promise.all(
        [...this.#claimed].map(async ([worker, ids]) => {
          if (ids.size === 0) return;
          await events.touch(worker, [...ids]).catch((cause: unknown) => {
            log.warn({ worker, err: cause }, "events could not be touched");
          });
        }),
      );
    }
  }

  /** A promise only for an event that has to wait for something. */
  #dispatch(
    event: QueuedEvent,
    finished: DeliveryWriter,
    onOver: (id: string) => void,
  ): Promise<void> | undefined {
    if (event.unreadable !== undefined) {
      finished.add(unreadableDelivery(event));
      return undefined;
    }
    const settle = (verdict: Verdict) => this.#settle(verdict, finished, onOver);
    const fail = (cause: unknown) => {
      const { id, namespace } = event;
      this.#deps.log.error({ event: id, namespace, err: cause }, "dispatch failed");
      return settle({ delivery: this.#deps.failed(event) });
    };
    if (isLargeEvent(event)) {
      // To read it takes a while, and there may be many.
      const turns = new Turns(event.namespace);
      const verdict = this.#large.run(
        event.namespace,
        async () => await turns.do(() => this.#deps.dispatch(event)),
      );
      return verdict.then(settle, fail);
    }
    let verdict: Verdict | Promise<Verdict>;
    try {
      verdict = this.#deps.dispatch(event);
    } catch (cause) {
      return fail(cause);
    }
    return verdict instanceof Promise ? verdict.then(settle, fail) : settle(verdict);
  }

  #settle(
    { delivery, retryAfterMs }: Verdict,
    finished: DeliveryWriter,
    onOver: (id: string) => void,
  ): Promise<void> | undefined {
    if (retryAfterMs === undefined) {
      finished.add(delivery);
      return undefined;
    }
    const { log, events } = this.#deps;
    // If it can't be given back, another worker claims it later, which is a retry too.
    return events.retryLater(delivery, retryAfterMs).catch((cause: unknown) => {
      log.warn({ event: delivery.id, err: cause }, "event could not be given back");
    }).then(() => onOver(delivery.id));
  }

  async #trim(): Promise<void> {
    const { clock, ids, log, events } = this.#deps;
    const { deliveryCount, deliveryAgeMs } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(TRIM_EVERY_MS * (0.5 + ids.fraction()), signal);
      if (signal.aborted) return;
      try {
        await events.trimDeliveries(deliveryCount, deliveryAgeMs, await this.#deps.kept?.());
      } catch (cause) {
        log.warn({ err: cause }, "delivery records could not be trimmed");
      }
    }
  }
}
