/** The span of an event: from its receipt until its bindings have done what they do. */
import { defined } from "../../base/defined.ts";
import {
  parseTraceparent,
  type RemoteSpan,
  type SpanRef,
  type TraceOrigin,
  traceparent,
} from "../../base/trace_context.ts";
import { ownTraceId, spanIdOf } from "../../platform/traces/ids.ts";
import type { SpanRecord, Traces } from "../../platform/traces/span.ts";
import type { Delivery, QueuedEvent } from "../../store/event_port.ts";
import type { EventEnvelope } from "./intake.ts";

/** Longest discriminator that is shown, characters. */
const MAX_NAME = 128;

/** What is traced of an event that is dispatched. */
export class EventTrace {
  readonly #traces: Traces;
  readonly #event: QueuedEvent;
  readonly #parent: RemoteSpan | undefined;
  #isSampled: boolean;

  constructor(traces: Traces, event: QueuedEvent, { trace = {} }: EventEnvelope) {
    this.#traces = traces;
    this.#event = event;
    this.#parent = parseTraceparent(trace.parent, trace.state);
    this.#isSampled = this.#takes(event.id);
    if (this.#isSampled) {
      traces.note([event.id], { traceId: this.#ref.traceId, run: 0, isSampled: true });
    }
  }

  /**
   * What a workflow of this uid belongs to that the event submits. If its spans are wanted, so is that of the event, whatever
   * the sampler says of that alone: otherwise one in ten thousand would have both, at one in a hundred.
   */
  originOf(uid: string): TraceOrigin | undefined {
    const isWanted = this.#takes(uid);
    if (isWanted) this.#isSampled = true;
    const event = isWanted ? this.cause : undefined;
    const parent = this.#parent;
    if (parent === undefined) return event === undefined ? undefined : { event };
    const { isSampled, state } = parent;
    return defined({ parent: traceparent(parent, isSampled), state, event });
  }

  /** Its `traceparent`; undefined: its span is not wanted. */
  get cause(): string | undefined {
    return this.#isSampled ? traceparent(this.#ref, true) : undefined;
  }

  /** Sends the span of an event that is over. It may be sent again, with the same ids. */
  end({ state, attempts, bindings }: Delivery, now: number): void {
    if (!this.#isSampled) return;
    const { id, namespace, discriminator, receivedAt } = this.#event;
    const span: SpanRecord = {
      ...this.#ref,
      name: "event",
      kind: "consumer",
      start: Math.min(receivedAt, now),
      end: now,
      attributes: {
        "sluice.namespace": namespace,
        "sluice.event.id": id,
        "sluice.event.discriminator": discriminator.slice(0, MAX_NAME),
        "sluice.event.state": state,
        "sluice.event.attempts": attempts,
        "sluice.event.bindings": bindings.filter(({ outcome }) => outcome !== "not-matched").length,
      },
    };
    if (this.#parent !== undefined) span.parent = this.#parent;
    if (state === "dead") span.error = "dead letter";
    this.#traces.emit([span]);
  }

  get #ref(): SpanRef {
    const { id } = this.#event;
    return { traceId: this.#parent?.traceId ?? ownTraceId(id), spanId: spanIdOf(id, "event") };
  }

  #takes(uid: string): boolean {
    return this.#traces.isSampled(this.#parent?.traceId ?? ownTraceId(uid), this.#parent);
  }
}
