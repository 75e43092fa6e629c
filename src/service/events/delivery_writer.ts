/**
 * Writes the records of events that are over. Those that end while one write is under way share the next. Never rejects.
 */
import type { Logger } from "../../platform/log.ts";
import type { Delivery, EventStore } from "../../store/event_port.ts";

export interface DeliveryWriterDeps {
  events: EventStore;
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

  /**
   * Tries once. A store that was in trouble may have lost what the dispatch of an event did (a Redis that flushes every second, in a
   * power cut) although it still has the event. So the event is left to the worker that claims it, and is dispatched again: that
   * finds what is still there.
   */
  async #finish(batch: Delivery[]): Promise<boolean> {
    const { events, log, onDead } = this.#deps;
    try {
      if (onDead !== undefined) {
        await Promise.all(batch.filter(({ state }) => state === "dead").map(onDead));
      }
      await events.finish(batch);
      return true;
    } catch (cause) {
      log.warn({ count: batch.length, err: cause }, "events could not be ended; they come back");
      return false;
    }
  }
}
