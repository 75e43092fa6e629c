/** Delivery records as all adapters write, read and sort them. */
import { isJsonObject } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import { isEntryTime, type ListPosition } from "./list_query.ts";
import type { Delivery, QueuedEvent } from "./event_port.ts";
import { rawBytesOf } from "./raw_bytes.ts";

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

/** Where a record was found. */
export type RecordPlace = Pick<Delivery, "id" | "namespace" | "receivedAt">;

/**
 * Reads a stored record. One that can't be read becomes a record that says so, so that it is listed with the others.
 */
export function readDelivery(text: string, place: RecordPlace): Delivery {
  const record = parseOrUndefined(text);
  return isDelivery(record) ? record : unreadableRecord(place, text);
}

/** The record of an event that could not be read. */
export function unreadableRecord(place: RecordPlace, text: string): Delivery {
  const raw = rawBytesOf(Buffer.from(text));
  return {
    ...place,
    discriminator: "",
    size: raw.bytes,
    state: "dead",
    attempts: 0,
    bindings: [{ binding: "", outcome: "error", message: "the stored record cannot be read" }],
    unreadable: raw,
  };
}

function isDelivery(record: unknown): record is Delivery & Record<string, never> {
  if (!isJsonObject(record as never)) return false;
  const { id, namespace, receivedAt, state, bindings } = record as Record<string, unknown>;
  return typeof id === "string" && typeof namespace === "string" &&
    isEntryTime(receivedAt) && typeof state === "string" && Array.isArray(bindings);
}
