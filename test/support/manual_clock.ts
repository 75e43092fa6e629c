/** A clock that stands still until a test moves it. */
import { type Clock, MAX_TIMER_MS, sleepOn } from "../../src/platform/clock.ts";

interface Alarm {
  at: number;
  order: number;
  run: () => void;
}

export class ManualClock implements Clock {
  #now: number;
  #order = 0;
  #alarms: Alarm[] = [];

  /** @param now epoch ms */
  constructor(now = Date.UTC(2030, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, run: () => void, _isIdle?: boolean): () => void {
    const wait = Math.min(Math.max(0, ms), MAX_TIMER_MS);
    const alarm = { at: this.#now + wait, order: this.#order++, run };
    this.#alarms.push(alarm);
    return () => void (this.#alarms = this.#alarms.filter((one) => one !== alarm));
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  /** Advances by `ms`, alarm by alarm, and lets the consequences settle in between. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (;;) {
      await settle();
      const next = this.#alarms
        .filter((alarm) => alarm.at <= until)
        .sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (!next) break;
      this.#alarms = this.#alarms.filter((one) => one !== next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = until;
    await settle();
  }
}

/** Lets everything that is ready run: promises, and work deferred to the next turns of the event loop. */
export async function settle(turns = 5): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
