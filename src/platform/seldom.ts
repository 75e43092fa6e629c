/** What would be said again and again while some trouble lasts is said once, and then more and more seldom. */
import type { Clock } from "./clock.ts";

/** How long after the first time something is said again, ms; every time twice as long. */
const REMIND_MS = 60_000;
/** Most things that are remembered; beyond, the oldest is forgotten, and said again. */
const MAX_KNOWN = 1_000;

interface Known {
  seenAt: number;
  nextAt: number;
  restMs: number;
  passedOver: number;
}

/** Remembers what was said lately. What was not heard of for a minute is new again. */
export class Seldom {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #known = new Map<string, Known>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** How often it was passed over since it was last said, when it is to be said now; else undefined. */
  ask(what: string): number | undefined {
    const now = this.#clock.monotonic();
    let known = this.#known.get(what);
    if (known === undefined || now - known.seenAt > REMIND_MS) {
      known = { seenAt: now, nextAt: now, restMs: REMIND_MS, passedOver: 0 };
      this.#known.delete(what);
      this.#known.set(what, known);
      this.#forgetOldest();
    }
    known.seenAt = now;
    if (now < known.nextAt) {
      known.passedOver++;
      return undefined;
    }
    const { passedOver } = known;
    known.nextAt = now + known.restMs;
    known.restMs *= 2;
    known.passedOver = 0;
    return passedOver;
  }

  #forgetOldest(): void {
    for (const what of this.#known.keys()) {
      if (this.#known.size <= MAX_KNOWN) return;
      this.#known.delete(what);
    }
  }
}
