/** Tells subscribers of events that became dead letters. */
import { deadLettersId } from "../../actors/webhooks/delivery.ts";
import type { Json } from "../../base/json.ts";
import type { Delivery } from "../../store/event_port.ts";
import type { ServiceDeps } from "../deps.ts";

/** Resolves when it is durable whom to tell; a repeat tells them again, under the same id. @throws {Problem} Unavailable */
export async function tellOfDeadEvent(
  { webhooks, host }: Pick<ServiceDeps, "webhooks" | "host">,
  { namespace, id, discriminator, receivedAt, bindings }: Delivery,
): Promise<void> {
  const failed = bindings.find(({ outcome, message }) => outcome === "error" && message);
  const message = failed?.message ?? "a binding failed";
  const deliveries =
    webhooks?.deliveriesOfEvent({ namespace, id, discriminator, receivedAt, message }) ?? [];
  for (const delivery of deliveries) {
    const { subscription } = delivery;
    const actor = deadLettersId(subscription.namespace, subscription.name);
    const body = { type: "post", delivery } as unknown as Json;
    await host.deliver(`post/${subscription.uid}/${id}`, actor, body);
  }
}
