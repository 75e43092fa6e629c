/** What every adapter checks about an event in its queue, and what it makes of one that it can't read. */
import type { Delivery, QueuedEvent } from "./event_port.ts";
import { rawBytesOf } from "./raw_bytes.ts";

/** Ids that may be used in addresses and records as they are. */
const PLAIN_ID = /^[\x21-\x7e]{1,200}$/;

type Facts = { [Key in keyof QueuedEvent]?: unknown };

/** What is wrong with an event; undefined for a valid one. */
export function eventProblem(event: Facts): string | undefined {
  const { id, namespace, discriminator, text, receivedAt, size } = event;
  if (typeof id !== "string" || id === "") return "it has no id";
  if (typeof namespace !== "string") return "it has no namespace";
  if (typeof discriminator !== "string") return "it has no discriminator";
  if (typeof text !== "string") return "it has no text";
  if (!isTime(receivedAt)) return "it has no time";
  return size === undefined || Number.isFinite(size) ? undefined : "it has no size";
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= 8.64e15;
}

/** What is known about an entry that can't be read. */
export interface UnreadableEntry {
  reason: string;
  raw: Uint8Array;
  /** Distinguishes it from all others if it has no plain id of its own. */
  place: string;
  /** What could be found out; each fact may be missing or wrong. */
  facts: Facts;
  /** When it was queued, as far as that is known. */
  receivedAt: number;
  attempts: number;
}

/** An event that stands in for such an entry. Without a namespace, it belongs to "". */
export function unreadableEvent(
  { reason, raw, place, facts, receivedAt, attempts }: UnreadableEntry,
): QueuedEvent {
  const { id, namespace, discriminator } = facts;
  return {
    id: typeof id === "string" && PLAIN_ID.test(id) ? id : `unreadable-${place}`,
    namespace: typeof namespace === "string" ? namespace : "",
    discriminator: typeof discriminator === "string" ? discriminator : "",
    text: "",
    receivedAt: isTime(facts.receivedAt) ? facts.receivedAt : receivedAt,
    attempts,
    size: raw.length,
    unreadable: { reason, ...rawBytesOf(raw) },
  };
}

/** The dead letter of an event that can't be read. */
export function unreadableDelivery(event: QueuedEvent): Delivery {
  const { id, namespace, discriminator, receivedAt, size = 0, attempts, unreadable } = event;
  const { reason = "unknown", ...raw } = unreadable ?? { bytes: 0 };
  const message = `the stored event cannot be read: ${reason}`;
  return {
    id,
    namespace,
    discriminator,
    receivedAt,
    size,
    state: "dead",
    attempts: attempts + 1,
    bindings: [{ binding: "", outcome: "error", message }],
    unreadable: raw,
  };
}
