/** Routes of event deliveries: what became of accepted events, and the replay of dead letters. */
import { defined } from "../../base/defined.ts";
import type { JsonObject } from "../../base/json.ts";
import { invalid } from "../../base/problem.ts";
import { timeOf } from "../../base/time_of.ts";
import {
  getDelivery,
  listDeliveries,
  replayDeliveries,
  replayDelivery,
  type ShownDelivery,
} from "../../service/events/deliveries.ts";
import { explainDelivery } from "../../service/events/explained_event.ts";
import { closed, string, struct, type StructSchema } from "../../spec/schema/schema.ts";
import { param, type Route, unary } from "../route.ts";

const DELIVERIES = "/api/v1/event-deliveries/{namespace}";

interface ReplayBody {
  discriminator?: string;
  binding?: string;
  receivedAfter?: string;
  receivedBefore?: string;
}
/** Refuses unknown members: if a misspelt filter were ignored, all dead letters would be replayed. */
const REPLAY: StructSchema = closed(struct("ReplayEventDeliveriesRequest", () => ({
  namespace: string,
  discriminator: string,
  binding: string,
  receivedAfter: string,
  receivedBefore: string,
}), "event"));

function deliveryWire(delivery: ShownDelivery): JsonObject {
  const { receivedAt, retryAt, bindings, unreadable, ...rest } = delivery;
  return {
    ...rest,
    ...(unreadable && { unreadable: { ...unreadable } }),
    receivedAt: new Date(receivedAt).toISOString(),
    ...(retryAt !== undefined && { retryAt: new Date(retryAt).toISOString() }),
    bindings: bindings.map((one) => ({ ...one })),
  };
}

/** @throws {Problem} InvalidArgument when the text is not a time */
function timeMs(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const ms = timeOf(text);
  if (ms === undefined) {
    throw invalid(`${name} is "${text}", expected a time like 2026-01-31T12:00:00Z`);
  }
  return ms;
}

/** Every route of event deliveries. */
export const EVENT_DELIVERY_ROUTES: readonly Route[] = [
  unary({
    method: "GET",
    path: DELIVERIES,
    operation: "EventService_ListEventDeliveries",
    tag: "events",
    summary: "List what became of accepted events, newest first",
    query: {
      state: "string",
      discriminator: "string",
      binding: "string",
      limit: "int64",
      continue: "string",
    },
    run: async (call) => {
      const { discriminator, binding } = call.query;
      const page = await listDeliveries(call.service, call.caller, {
        namespace: param(call, "namespace"),
        state: call.query.state ?? "",
        ...defined({ discriminator: discriminator || undefined, binding: binding || undefined }),
        limit: call.query.limit ?? 0,
        continue: call.query.continue ?? "",
      });
      return {
        metadata: defined({ continue: page.continue }),
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
          ...defined({ discriminator, binding, receivedAfter, receivedBefore }),
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
  unary({
    method: "GET",
    path: `${DELIVERIES}/{id}/event`,
    operation: "EventService_ExplainEventDelivery",
    tag: "events",
    summary: "Get the event of a delivery if it is kept, and why each binding selects it or not",
    run: async (call) => ({
      ...await explainDelivery(
        call.service,
        call.caller,
        param(call, "namespace"),
        param(call, "id"),
      ) as unknown as JsonObject,
    }),
  }),
];
