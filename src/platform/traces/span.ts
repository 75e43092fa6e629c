/** A span as data: what became of a piece of work that is over. */
import type { RemoteSpan, SpanRef } from "../../base/trace_context.ts";

export type AttributeValue = string | number | boolean;

export interface SpanRecord extends SpanRef {
  /** Absent: it is the first of its trace. */
  parent?: RemoteSpan;
  /** Few different ones: a kind of work, not one piece of it. */
  name: string;
  /** @default {"internal"} */
  kind?: "internal" | "client" | "consumer";
  /** Epoch ms. */
  start: number;
  /** Epoch ms, not before `start`. */
  end: number;
  attributes: Record<string, AttributeValue>;
  /** Why the work failed; absent: it did not. */
  error?: string;
  /** Spans that caused something in it, besides its parent. */
  links?: readonly RemoteSpan[];
}

/** Takes spans that are over, and says which are wanted. */
export interface Traces {
  /** Attributes also show what users have written into parameters and messages. */
  readonly showsValues: boolean;
  /** How long a span waits for others before it is sent, ms. */
  readonly delayMs: number;
  /**
   * Whether the spans of a trace are wanted. Every replica with the same settings says the same.
   * @param parent of its first span here
   */
  isSampled(traceId: string, parent?: RemoteSpan): boolean;
  /** Sends spans soon. It never waits: what can't be sent is dropped and counted. */
  emit(spans: readonly SpanRecord[]): void;
  /** Tells which trace an actor, or an object by its uid, has, for log lines. */
  note(names: readonly string[], trace: NotedTrace): void;
  /** The trace that was noted lately for one of these. */
  find(name: string): NotedTrace | undefined;
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>;
}

export interface NotedTrace {
  traceId: string;
  /** See `TraceOrigin`. */
  run: number;
  /** Its spans are wanted. */
  isSampled: boolean;
}
