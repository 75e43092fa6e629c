/** Receiving events: one durable append, then the answer. What they lead to is the event workers' business. */
import type { Caller, Identity } from "../auth/port.ts";
import type { Json } from "../base/json.ts";
import type { Delivery } from "../store/port.ts";
import { Problem, ProblemCode, unavailable } from "../base/problem.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";
import { createEventMetrics } from "./event_metrics.ts";
import type { Idempotency } from "./idempotency.ts";
import { MANIFEST_RESOURCES } from "./kinds.ts";

/** An event as it lies in the queue (`QueuedEvent.text` as JSON). */
export interface EventEnvelope {
  /** Body of the request; null when there was none. */
  payload: Json;
  /** Request headers whose names begin with `x-`: lower-case name → values. */
  metadata: Record<string, string[]>;
  /** Who sent it: what the event leads to is checked with this identity. */
  sender: Identity;
  /** What bindings made of it before it was replayed; those with an error run again. */
  outcomes?: Delivery["bindings"];
}

export interface EventRequest {
  namespace: string;
  discriminator: string;
  payload: Json;
  headers: Headers;
  idempotency?: Idempotency | undefined;
}

/** Longest wait for the store. */
const OFFER_TIMEOUT_MS = 8_000;
/** How long an idempotency key is kept. */
const KEY_TTL_MS = 24 * 3600_000;
/** When a full queue may have room again, seconds. */
const RETRY_AFTER_SECONDS = 1;

/**
 * Accepts an event.
 * @throws {Problem} Unavailable when the queue is full or the store can't take it; Aborted (422) when the idempotency key
 * came with another body
 */
export async function receiveEvent(
  deps: ServiceDeps,
  caller: Caller,
  request: EventRequest,
): Promise<void> {
  const { namespace, discriminator, idempotency } = request;
  const { resource } = MANIFEST_RESOURCES.WorkflowEventBinding;
  await requireAccess(caller, { verb: "list", resource, namespace });
  const envelope: EventEnvelope = {
    payload: request.payload,
    metadata: eventMetadata(request.headers),
    sender: caller.identity,
  };
  const receivedAt = deps.clock.now();
  const text = JSON.stringify(envelope);
  const size = Buffer.byteLength(JSON.stringify(request.payload));
  const offer = async () => {
    const bound = await queueBound(deps);
    return await deps.store.events.offer(
      {
        id: deps.ids.uuid(),
        namespace,
        discriminator,
        text,
        size,
        receivedAt,
      },
      bound,
      idempotency === undefined ? undefined : {
        key: idempotency.key,
        fingerprint: idempotency.fingerprint,
        expiresAt: receivedAt + (idempotency.ttlMs ?? KEY_TTL_MS),
      },
    );
  };
  const received = deps.metrics && createEventMetrics(deps.metrics).received;
  const { result } = await withTimeout(deps, offer()).catch((error: unknown) => {
    received?.inc({ result: "failed" });
    throw error;
  });
  received?.inc({ result });
  if (result === "full") throw unavailable("operation queue full", RETRY_AFTER_SECONDS);
  if (result === "mismatch") {
    throw new Problem(
      ProblemCode.Aborted,
      "this Idempotency-Key was used with another body",
      { status: 422 },
    );
  }
}

/** Most events that may be queued or in work now. */
export async function queueBound({ store, settings }: ServiceDeps): Promise<number> {
  const replicas = await store.membership.replicas();
  return settings.eventQueueSize * Math.max(1, replicas.length);
}

/** Headers that expressions may read. */
export function eventMetadata(headers: Headers): Record<string, string[]> {
  const metadata: Record<string, string[]> = {};
  for (const [name, value] of headers) {
    if (name.startsWith("x-")) metadata[name] = [value];
  }
  return metadata;
}

async function withTimeout<T>(deps: ServiceDeps, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const cancel = deps.clock.after(
    OFFER_TIMEOUT_MS,
    () => late.reject(unavailable("the store does not answer; the event may or may not be queued")),
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}
