/** The route that receives events. */
import { invalid, Problem } from "../../base/problem.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import {
  CLOUD_EVENT_BODIES,
  type CloudEvent,
  type CloudEventMode,
  cloudEventMode,
  cloudEventsOf,
} from "../../service/events/cloud_events.ts";
import { type EventRequest, receiveEvent, StaleManifests } from "../../service/events/intake.ts";
import { testEvent } from "../../service/events/preview.ts";
import { type EventHeaders, eventHeaders, KEY_HEADERS } from "../event_metadata.ts";
import { idempotencyFor, idempotencyOf } from "../idempotency_header.ts";
import { type Call, param, type Route, unary } from "../route.ts";
import { webhookGuard } from "../webhook_guard.ts";
import { originOf } from "./trace_header.ts";

type EventCall = Call<{ dryRun: "bool" }, Json | undefined>;

/** Every route of events. */
export const EVENT_ROUTES: readonly Route[] = [
  unary<Json | undefined, { dryRun: "bool" }>({
    method: "POST",
    path: "/api/v1/events/{namespace}/{discriminator}",
    operation: "EventService_ReceiveEvent",
    tag: "events",
    summary:
      "Send an event: any JSON value, a CloudEvent, or a batch of them. It is queued, and bindings turn it into workflows",
    body: "json",
    otherBodies: CLOUD_EVENT_BODIES,
    holdsEvent: true,
    query: { dryRun: "bool" },
    hasOpenQuery: true,
    answer: { type: "empty" },
    guard: webhookGuard,
    run: async (call) => {
      const headers = eventHeaders(call.headers, call.server);
      const mode = cloudEventMode(headers.metadata, headers.contentType);
      if (mode !== undefined) return await receiveCloudEvents(call, mode, headers);
      const request = requestOf(call, call.body ?? null, headers.metadata);
      if (call.query.dryRun === true) return await preview(call, request);
      if (headers.hasKey) request.idempotency = await idempotencyOf(call, KEY_HEADERS);
      await receiveEvent(call.service, call.caller, request);
      return {};
    },
  }),
];

function requestOf(
  call: EventCall,
  payload: Json,
  metadata: EventRequest["metadata"],
): EventRequest {
  return {
    namespace: param(call, "namespace"),
    discriminator: param(call, "discriminator"),
    payload,
    metadata,
    trace: originOf(call),
    manifests: call.manifests,
  };
}

async function preview(call: EventCall, request: EventRequest): Promise<JsonObject> {
  // Nothing is offered to the store, which would notice that the sender was judged by old manifests.
  if (call.manifests !== undefined) throw new StaleManifests("judge by the current manifests");
  const bindings = await testEvent(call.service, call.caller, request);
  return { bindings: bindings as unknown as Json };
}

async function receiveCloudEvents(
  call: EventCall,
  mode: CloudEventMode,
  { metadata, contentType }: EventHeaders,
): Promise<JsonObject> {
  const events = cloudEventsOf(mode, call.body, metadata, contentType);
  if (call.query.dryRun === true) {
    const [event] = events;
    if (mode === "batch" || event === undefined) {
      throw invalid("dryRun takes one event: send those of a batch one by one");
    }
    return await preview(call, requestOf(call, event.payload, event.metadata));
  }
  // All are offered, so that one that is refused does not keep back the others.
  const offers = await Promise.allSettled(events.map((event) => receiveOne(call, mode, event)));
  const refusals = offers.flatMap((offer, index) =>
    offer.status === "rejected" ? [{ index, error: offer.reason as unknown }] : []
  );
  const first = refusals.find(({ error }) => isWorthRepeating(error)) ?? refusals[0];
  if (first === undefined) return {};
  if (mode !== "batch" || !(first.error instanceof Problem)) throw first.error;
  throw ofBatch(first.error, first.index, refusals.length, events.length);
}

async function receiveOne(call: EventCall, mode: CloudEventMode, event: CloudEvent): Promise<void> {
  const [source, id] = event.identity;
  // Each event of a batch has a key of its own; that of a header is for the only one.
  const given = mode === "batch" ? undefined : await idempotencyOf(call);
  const own = [param(call, "discriminator"), source, id];
  const idempotency = given ?? await idempotencyFor(call, own, event.content);
  await receiveEvent(call.service, call.caller, {
    ...requestOf(call, event.payload, event.metadata),
    idempotency,
    ...(given === undefined && {
      mismatch: `a CloudEvent with the id ${JSON.stringify(id)} of this source was sent with ` +
        "another type, subject or data",
    }),
  });
}

/** Sent again, the batch may be taken. */
function isWorthRepeating(error: unknown): boolean {
  return !(error instanceof Problem) || error.status >= 500;
}

/** The refusal of one event of a batch, whose other events are stored unless they were refused too. */
function ofBatch(
  { code, message, status, retryAfterSeconds }: Problem,
  index: number,
  refused: number,
  all: number,
): Problem {
  return new Problem(
    code,
    `[${index}]: ${message} (${refused} of ${all} events refused; sent again, the others have no further effect)`,
    { status, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) },
  );
}
