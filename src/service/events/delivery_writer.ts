/**
 * Writes the records of events that are over. Those that end while one write is under way share the next. Never rejects.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import type { Delivery, EventStore } from "../../store/event_port.ts";

/** How often a write is tried. After that the events are left to the worker that claims them. */
const ATTEMPTS = 5;
const FIRST_WAIT_MS = 200;

export interface DeliveryWriterDeps {
  events: EventStore;
  clock: Clock;
  ids: Ids;
  log: Logger;
  /** Tells of dead letters before their records are written; may be called again. @throws {Problem} Unavailable */
  onDead?(delivery: Delivery): Promise<void>;
  /** Called for every event whose record is written. */
  onEnd?(delivery: Delivery): void;
}

export class DeliveryWriter {
  readonly #deps: DeliveryWriterDeps;
  readonly #onOver: (id: string) => void;
  #waiting: Delivery[] = [];
  #writing: Promise<void> | undefined;

  /** @param onOver called for every event that is written, or left to the worker that claims it */
  constructor(deps: DeliveryWriterDeps, onOver: (id: string) => void) {
    this.#deps = deps;
    this.#onOver = onOver;
  }

  add(delivery: Delivery): void {
    this.#waiting.push(delivery);
    this.#writing ??= this.#write();
  }

  /** Resolves when nothing waits to be written. */
  async flushed(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  async #write(): Promise<void> {
    // Events that end at the same moment are written together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      const isWritten = await this.#finish(batch);
      for (const delivery of batch) {
        this.#onOver(delivery.id);
        if (isWritten) this.#deps.onEnd?.(delivery);
      }
    }
    // In the same turn as the look at what waits, so that nothing comes in between.
    this.#writing = undefined;
  }

  async #finish(batch: Delivery[]): Promise<boolean> {
    const { events, clock, ids, log, onDead } = this.#deps;
    for (let attempt = 1;; attempt++) {
      try {
        if (onDead !== undefined) {
          await Promise.all(batch.filter(({ state }) => state === "dead").map(onDead));
        }
        await events.finish(batch);
        return true;
      } catch (cause) {
        if (attempt === ATTEMPTS) {
          log.warn(
            { count: batch.length, err: cause },
            "events could not be ended; they come back",
          );
          return false;
        }
        await clock.sleep(FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + ids.fraction()));
      }
    }
  }
}
