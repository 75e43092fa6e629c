/** Events that have ended. They wait a moment, so that several are written in one call, or with another call. */
import type { Delivery } from "../../event_port.ts";
import type { RedisContext } from "../context.ts";
import { finishArgs } from "./args.ts";
import { FINISH } from "./scripts.ts";

/** Most events that one call ends. */
const MAX_EVENTS = 500;
/** How long they wait for others. */
const WAIT_MS = 2;

export class FinishedEvents {
  readonly #context: RedisContext;
  #waiting: { deliveries: Delivery[]; resolve: (written: Promise<unknown>) => void }[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** Resolves when the events are ended. */
  async add(deliveries: Delivery[]): Promise<void> {
    for (let at = 0; at < deliveries.length; at += MAX_EVENTS) {
      const some = deliveries.slice(at, at + MAX_EVENTS);
      await new Promise((resolve) => {
        this.#waiting.push({ deliveries: some, resolve });
        this.#timer ??= setTimeout(() => this.write(), WAIT_MS);
      });
    }
  }

  /** Writes what is waiting. */
  write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { link, keys } = this.#context;
    for (const { deliveries, resolve } of this.#waiting.splice(0)) {
      resolve(link.run(FINISH, keys.events, finishArgs(deliveries)));
    }
  }
}
