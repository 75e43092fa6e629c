/** Spans between the work that made them and the SDK: bounded, and handed on a few at a time, so that nobody waits for it. */
import { setImmediate } from "node:timers";
import type { SpanRecord } from "./span.ts";

/** How long the event loop is kept at once, ms. */
const SLICE_MS = 5;
/** Spans between two looks at the clock. */
const SPANS_AT_ONCE = 50;

export interface SpanQueueOptions {
  /** Most spans that wait. */
  max: number;
  send(record: SpanRecord): void;
  /** Hears how many spans found no room. */
  onFull(spans: number): void;
}

export class SpanQueue {
  readonly #options: SpanQueueOptions;
  #waiting: SpanRecord[] = [];
  #first = 0;
  #isScheduled = false;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
  }

  /** Takes spans as far as there is room. */
  add(spans: readonly SpanRecord[]): void {
    const { max, onFull } = this.#options;
    const room = Math.max(0, max - (this.#waiting.length - this.#first));
    const count = Math.min(room, spans.length);
    for (let at = 0; at < count; at++) this.#waiting.push(spans[at] as SpanRecord);
    if (count < spans.length) onFull(spans.length - count);
    this.#schedule();
  }

  /** Hands on everything now. */
  drain(): void {
    while (this.#first < this.#waiting.length) this.#handOn();
    this.#rest();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#first === this.#waiting.length) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const end = performance.now() + SLICE_MS;
      do this.#handOn(); while (
        this.#first < this.#waiting.length && performance.now() < end
      );
      this.#rest();
      this.#schedule();
    });
  }

  #handOn(): void {
    const end = Math.min(this.#waiting.length, this.#first + SPANS_AT_ONCE);
    while (this.#first < end) this.#options.send(this.#waiting[this.#first++] as SpanRecord);
  }

  #rest(): void {
    if (this.#first < this.#waiting.length) return;
    this.#waiting = [];
    this.#first = 0;
  }
}
