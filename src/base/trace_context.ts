/** W3C Trace Context: how one program tells another which span caused its request. */

/** A span as others refer to it. */
export interface SpanRef {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
}

/** A span of another program that caused something here. */
export interface RemoteSpan extends SpanRef {
  isSampled: boolean;
  /** The `tracestate` that came with it. */
  state?: string;
}

/** Where a workflow comes from, as its header keeps it. Absent members: there is no such thing. */
export interface TraceOrigin {
  /** The `traceparent` of the request or event that submitted it. */
  parent?: string;
  /** The `tracestate` that came with that. */
  state?: string;
  /** The `traceparent` of the delivery of the event that submitted it. */
  event?: string;
  /** When it was retried last, epoch ms: a retry has spans of its own. */
  run?: number;
  /** It was brought back from the archive, and nobody knows its earlier trace. */
  isRestored?: true;
}

/** Version 00 exactly; of later versions only what this one knows. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Most characters of a `tracestate` that is passed on; a longer one is left out, as the standard allows. */
const MAX_STATE = 512;
const ZEROS = /^0+$/;

/** Reads a `traceparent` header; undefined when there is none, or it is malformed: then it counts as absent. */
export function parseTraceparent(
  text: string | undefined | null,
  state?: string | null,
): RemoteSpan | undefined {
  if (typeof text !== "string" || text.length > 200) return undefined;
  const found = TRACEPARENT.exec(text.trim());
  if (found === null) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = found;
  if (version === "00" && rest !== undefined) return undefined;
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined;
  const remote: RemoteSpan = { traceId, spanId, isSampled: (parseInt(flags, 16) & 1) === 1 };
  if (isTracestate(state)) remote.state = state;
  return remote;
}

/** A `traceparent` header. */
export function traceparent({ traceId, spanId }: SpanRef, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

/** Printable and short: it goes into headers and environments. */
function isTracestate(text: string | undefined | null): text is string {
  return typeof text === "string" && text !== "" && text.length <= MAX_STATE &&
    /^[\x20-\x7e]*$/.test(text);
}
