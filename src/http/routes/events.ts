/** The route that receives events. */
import type { Json } from "../../base/json.ts";
import { receiveEvent, StaleManifests } from "../../service/events/intake.ts";
import { testEvent } from "../../service/events/preview.ts";
import { eventMetadata } from "../event_metadata.ts";
import { idempotencyOf } from "../idempotency_header.ts";
import { param, type Route, unary } from "../route.ts";
import { webhookGuard } from "../webhook_guard.ts";
import { originOf } from "./trace_header.ts";

/** Every route of events. */
export const EVENT_ROUTES: readonly Route[] = [
  unary<Json | undefined, { dryRun: "bool" }>({
    method: "POST",
    path: "/api/v1/events/{namespace}/{discriminator}",
    operation: "EventService_ReceiveEvent",
    tag: "events",
    summary: "Send an event: any JSON value. It is queued, and bindings turn it into workflows",
    body: "json",
    holdsEvent: true,
    query: { dryRun: "bool" },
    answer: { type: "empty" },
    guard: webhookGuard,
    run: async (call) => {
      const request = {
        namespace: param(call, "namespace"),
        discriminator: param(call, "discriminator"),
        payload: call.body ?? null,
        metadata: eventMetadata(call.headers, call.server),
        trace: originOf(call),
        manifests: call.manifests,
      };
      if (call.query.dryRun === true) {
        // Nothing is offered to the store, which would notice that the sender was judged by old manifests.
        if (call.manifests !== undefined) {
          throw new StaleManifests("judge by the current manifests");
        }
        const bindings = await testEvent(call.service, call.caller, request);
        return { bindings: bindings as unknown as Json };
      }
      // Senders that follow Standard Webhooks repeat a delivery under the same id.
      const idempotency = await idempotencyOf(call, ["idempotency-key", "webhook-id"]);
      await receiveEvent(call.service, call.caller, { ...request, idempotency });
      return {};
    },
  }),
];
