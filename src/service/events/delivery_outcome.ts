/** What the delivery record of an event says: which bindings did what, and why the event is a dead letter if it is one. */
import type { Delivery, QueuedEvent } from "../../store/event_port.ts";
import { unreadableDelivery } from "../../store/queued_event.ts";
import { rawBytesOf } from "../../store/raw_bytes.ts";
import type { BindingOutcome } from "./binding_runs.ts";

/**
 * The record of an event after an attempt. A dead letter keeps the event, so that it can be replayed.
 * @param isKept whether the record keeps the event in any other state
 */
export function deliveryOf(
  event: QueuedEvent,
  bindings: BindingOutcome[],
  { state, attempts }: Pick<Delivery, "state" | "attempts">,
  isKept = false,
): Delivery {
  const { id, namespace, discriminator, receivedAt, text } = event;
  const size = event.size ?? new TextEncoder().encode(text).length;
  const delivery = { id, namespace, discriminator, receivedAt, size, state, attempts, bindings };
  return isKept || state === "dead" ? { ...delivery, event: text } : delivery;
}

/** The dead letter of an event that is given up. */
export function deadDelivery(
  event: QueuedEvent,
  bindings: readonly BindingOutcome[],
  message: string,
): Delivery {
  const failure: BindingOutcome = { binding: "", outcome: "error", message };
  const attempts = event.attempts + 1;
  return deliveryOf(event, [...bindings.map(final), failure], { state: "dead", attempts });
}

/** The dead letter of an event that a defect of ours has ended. */
export function failedDelivery(event: QueuedEvent): Delivery {
  return deadDelivery(event, [], "internal error; the server's log has the cause");
}

/** The dead letter of an event whose text was not written by any version of this program. */
export function deliveryOfUnreadable(event: QueuedEvent): Delivery {
  const reason = "its text is not an event with a payload, metadata and a sender";
  const raw = rawBytesOf(new TextEncoder().encode(event.text));
  return unreadableDelivery({ ...event, unreadable: { reason, ...raw } });
}

/** An outcome that will not change any more. */
function final({ transient: _, ...outcome }: BindingOutcome): BindingOutcome {
  return outcome;
}
