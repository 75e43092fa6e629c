/** Delivery records as all adapters write and sort them. */
import type { ListPosition } from "./list_query.ts";
import type { Delivery, QueuedEvent } from "./port.ts";

/** Place of a delivery in lists: newest first. */
export function deliveryPosition({ receivedAt, id }: Delivery): ListPosition {
  return { createdAt: receivedAt, id };
}

/** The record of an event that was just accepted. */
export function queuedDelivery(event: Omit<QueuedEvent, "attempts">): Delivery {
  return {
    id: event.id,
    namespace: event.namespace,
    discriminator: event.discriminator,
    receivedAt: event.receivedAt,
    size: event.size ?? new TextEncoder().encode(event.text).length,
    state: "queued",
    attempts: 0,
    bindings: [],
  };
}
