/** The way in for events, and what became of them. */
import type { Json, JsonObject } from "../base/json.ts";
import { invalid } from "../base/problem.ts";
import {
  getDelivery,
  listDeliveries,
  replayDeliveries,
  replayDelivery,
  testEvent,
} from "../service/deliveries.ts";
import { receiveEvent, StaleManifests } from "../service/event_intake.ts";
import { string, struct, type StructSchema } from "../spec/schema.ts";
import type { Delivery } from "../store/port.ts";
import { eventMetadata } from "./event_metadata.ts";
import { idempotencyOf } from "./idempotency_header.ts";
import { param, type Route, unary } from "./route.ts";
import { webhookGuard } from "./webhook_guard.ts";

const DELIVERIES = "/api/v1/event-deliveries/{namespace}";

interface ReplayBody {
  discriminator?: string;
  binding?: string;
  receivedAfter?: string;
  receivedBefore?: string;
}
const REPLAY: StructSchema = struct("ReplayEventDeliveriesRequest", () => ({
  namespace: string,
  discriminator: string,
  binding: string,
  receivedAfter: string,
  receivedBefore: string,
}), "event");

function deliveryWire(delivery: Delivery): JsonObject {
  const { receivedAt, bindings, unreadable, ...rest } = delivery;
  return {
    ...rest,
    ...(unreadable && { unreadable: { ...unreadable } }),
    receivedAt: new Date(receivedAt).toISOString(),
    bindings: bindings.map((one) => ({ ...one })),
  };
}

/** @throws {Problem} InvalidArgument when the text is no time */
function timeMs(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) {
    throw invalid(`${name} is "${text}", expected a time like 2026-01-31T12:00:00Z`);
  }
  return ms;
}

/** Every route of events. */
export const EVENT_ROUTES: readonly Route[] = [
  unary<Json | undefined, { dryRun: "bool" }>({
    method: "POST",
    path: "/api/v1/events/{namespace}/{discriminator}",
    operation: "EventService_ReceiveEvent",
    tag: "events",
    summary: "Send an event: any JSON value. It is queued, and bindings turn it into workflows",
    body: "json",
    query: { dryRun: "bool" },
    answer: { type: "empty" },
    guard: webhookGuard,
    run: async (call) => {
      const request = {
        namespace: param(call, "namespace"),
        discriminator: param(call, "discriminator"),
        payload: call.body ?? null,
        metadata: eventMetadata(call.headers, call.server),
        manifests: call.manifests,
      };
      if (call.query.dryRun === true) {
        // Nothing is offered that would tell whether the sender is still judged right.
        if (call.manifests !== undefined) throw new StaleManifests("judge by the manifests of now");
        const bindings = await testEvent(call.service, call.caller, request);
        return { bindings: bindings as unknown as Json };
      }
      // Senders that follow Standard Webhooks repeat a delivery under the same id.
      const idempotency = await idempotencyOf(call, ["idempotency-key", "webhook-id"]);
      await receiveEvent(call.service, call.caller, { ...request, idempotency });
      return {};
    },
  }),
  unary({
    method: "GET",
    path: DELIVERIES,
    operation: "EventService_ListEventDeliveries",
    tag: "events",
    summary: "List what became of accepted events, newest first",
    query: { state: "string", limit: "int64", continue: "string" },
    run: async (call) => {
      const page = await listDeliveries(call.service, call.caller, {
        namespace: param(call, "namespace"),
        state: call.query.state ?? "",
        limit: call.query.limit ?? 0,
        continue: call.query.continue ?? "",
      });
      return {
        metadata: page.continue === undefined ? {} : { continue: page.continue },
        items: page.items.map(deliveryWire),
      };
    },
  }),
  unary<ReplayBody>({
    method: "POST",
    path: `${DELIVERIES}/replay`,
    operation: "EventService_ReplayEventDeliveries",
    tag: "events",
    summary: "Put dead letters back into the queue until it is full",
    body: REPLAY,
    run: async (call) => {
      const { discriminator, binding } = call.body;
      const receivedAfter = timeMs("receivedAfter", call.body.receivedAfter);
      const receivedBefore = timeMs("receivedBefore", call.body.receivedBefore);
      return {
        ...await replayDeliveries(call.service, call.caller, {
          namespace: param(call, "namespace"),
          ...(discriminator === undefined ? {} : { discriminator }),
          ...(binding === undefined ? {} : { binding }),
          ...(receivedAfter === undefined ? {} : { receivedAfter }),
          ...(receivedBefore === undefined ? {} : { receivedBefore }),
        }),
      };
    },
  }),
  unary({
    method: "POST",
    path: `${DELIVERIES}/{id}/replay`,
    operation: "EventService_ReplayEventDelivery",
    tag: "events",
    summary: "Put a dead letter back into the queue",
    answer: { type: "empty" },
    run: async (call) => {
      await replayDelivery(
        call.service,
        call.caller,
        param(call, "namespace"),
        param(call, "id"),
      );
      return {};
    },
  }),
  unary({
    method: "GET",
    path: `${DELIVERIES}/{id}`,
    operation: "EventService_GetEventDelivery",
    tag: "events",
    summary: "Get what became of an accepted event",
    run: async (call) =>
      deliveryWire(
        await getDelivery(call.service, call.caller, param(call, "namespace"), param(call, "id")),
      ),
  }),
];
