/** Receives events: one durable append, then the answer. The event workers do the rest. */
import type { Caller, Identity } from "../../auth/port.ts";
import { isJsonObject, type Json } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { TraceOrigin } from "../../base/trace_context.ts";
import type { Delivery } from "../../store/event_port.ts";
import type { Version } from "../../store/version.ts";
import { invalid, Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import type { Idempotency } from "../idempotency.ts";
import { MANIFEST_RESOURCES } from "../kinds.ts";

/** An event as the queue holds it (`QueuedEvent.text` as JSON). */
export interface EventEnvelope {
  /** Body of the request; null when there was none. */
  payload: Json;
  /** Request headers whose names begin with `x-`, attributes of a CloudEvent as `ce-NAME`: lower-case name → values. */
  metadata: Record<string, string[]>;
  /** Who sent it. What the event leads to is done with the rights of this identity. */
  sender: Identity;
  /** What bindings did before it was replayed. Those with an error run again. */
  outcomes?: Delivery["bindings"];
  /** What caused it, where traces are wanted. */
  trace?: TraceOrigin;
}

/** Reads the envelope of a stored event; undefined when the text is not one. */
export function readEnvelope(text: string): EventEnvelope | undefined {
  const envelope = parseOrUndefined(text);
  if (!isJsonObject(envelope)) return undefined;
  const { payload, metadata, sender, outcomes, trace } = envelope;
  const isEnvelope = payload !== undefined && isJsonObject(sender) && isJsonObject(metadata) &&
    Object.values(metadata).every((values) => Array.isArray(values)) &&
    (outcomes === undefined || Array.isArray(outcomes)) &&
    (trace === undefined || isJsonObject(trace));
  return isEnvelope ? envelope as unknown as EventEnvelope : undefined;
}

export interface EventRequest {
  namespace: string;
  discriminator: string;
  payload: Json;
  metadata: EventEnvelope["metadata"];
  /** What caused it, where traces are wanted. */
  trace?: TraceOrigin | undefined;
  idempotency?: Idempotency | undefined;
  /** What the sender is told when its key was used with another event. @default it was an Idempotency-Key */
  mismatch?: string;
  /** Version of all manifests by which the sender was judged; absent: the current one. */
  manifests?: Version | undefined;
}

/** The manifests have changed since the sender was judged by them, so it must be judged again. */
export class StaleManifests extends Error {
  override name = "StaleManifests";
}

/** How long an idempotency key is kept. */
const KEY_TTL_MS = 24 * 3600_000;
/** When a full queue may have room again, seconds. */
const RETRY_AFTER_SECONDS = 1;

/**
 * Accepts an event.
 * @throws {Problem} InvalidArgument for a number that no float holds. Unavailable when the queue is full or the store can't
 * take the event; if the store does not answer, it may still be stored. Aborted (422) when the idempotency key was used with
 * another body
 * @throws {StaleManifests} then nothing was done
 */
export async function receiveEvent(
  deps: ServiceDeps,
  caller: Caller,
  request: EventRequest,
): Promise<void> {
  const { namespace, discriminator, idempotency } = request;
  const { resource } = MANIFEST_RESOURCES.WorkflowEventBinding;
  const asked = requireAccess(caller, { verb: "list", resource, namespace });
  if (asked !== undefined) await asked;
  const payload = payloadText(request.payload);
  const size = Buffer.byteLength(payload);
  const surroundings: Omit<EventEnvelope, "payload"> = {
    metadata: request.metadata,
    sender: caller.identity,
  };
  if (request.trace !== undefined) surroundings.trace = request.trace;
  const text = `{"payload":${payload},${JSON.stringify(surroundings).slice(1)}`;
  const receivedAt = deps.clock.now();
  const { result } = await deps.store.events.offer(
    { id: deps.ids.uuid(), namespace, discriminator, text, size, receivedAt },
    queueBound(deps),
    idempotency === undefined ? undefined : {
      key: idempotency.key,
      fingerprint: idempotency.fingerprint,
      expiresAt: receivedAt + (idempotency.ttlMs ?? KEY_TTL_MS),
    },
    request.manifests,
  ).catch((error: unknown) => {
    deps.eventMetrics?.received("failed");
    throw error instanceof Problem && error.mayBeDone ? unsure(error, idempotency) : error;
  });
  if (result === "stale") throw new StaleManifests("the manifests have changed");
  deps.eventMetrics?.received(result);
  if (result === "full") throw unavailable("operation queue full", RETRY_AFTER_SECONDS);
  if (result === "mismatch") {
    throw new Problem(
      ProblemCode.Aborted,
      request.mismatch ??
        "this Idempotency-Key was used with another event (its body or discriminator); take a new key",
      { status: 422 },
    );
  }
}

/**
 * A payload as it is stored.
 * @throws {Problem} InvalidArgument for a number that is read as infinite: it would be stored as null
 */
export function payloadText(payload: Json): string {
  const text = JSON.stringify(payload);
  const place = text.includes("null") ? infiniteIn(payload, "payload") : undefined;
  if (place === undefined) return text;
  throw invalid(`${place} is a number too large for a float of 64 bits`);
}

/** Where the first infinite number is. */
function infiniteIn(value: Json, place: string): string | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : place;
  if (typeof value !== "object" || value === null) return undefined;
  const isList = Array.isArray(value);
  for (const [key, member] of Object.entries(value)) {
    const found = infiniteIn(member, isList ? `${place}[${key}]` : `${place}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The refusal of an event that may have been stored before the store stopped answering. */
function unsure(
  { code, message, status, retryAfterSeconds = 1 }: Problem,
  idempotency: Idempotency | undefined,
): Problem {
  const advice = idempotency === undefined
    ? "sent again, it may have its effect twice. Events that are sent with an Idempotency-Key can be sent again safely"
    : "send it again with the same key, which makes sure that it has its effect once";
  return new Problem(code, `${message}: the event may be stored all the same; ${advice}`, {
    status,
    retryAfterSeconds,
  });
}

/** How many events may be queued or in work at present. */
export function queueBound({ host, settings }: Pick<ServiceDeps, "host" | "settings">): number {
  return settings.eventQueueSize * Math.max(1, host.replicas.length);
}
