/** Names that derive from an event and a binding. A repeat gets the same names, so it finds what the first attempt made. */
import { createHash } from "node:crypto";

/** Longest name of a workflow that gets its name from its template. */
const MAX_NAME = 63;
const STAMPED_HASH_LENGTH = 8;
const HASH_LENGTH = 10;

/** The uid of the workflow that an event makes through a binding. */
export function eventWorkflowUid(event: string, binding: string): string {
  const hex = digest("uid", event, binding);
  const variant = (parseInt(hex.charAt(16), 16) & 3 | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

/** End of a name that begins with the template's: the time of the event in UTC, and a hash that makes the name unique. */
export function eventNameSuffix(receivedAt: number, event: string, binding: string): string {
  const stamp = new Date(receivedAt).toISOString().replace(/\D/g, "").slice(0, 14);
  return `${stamp}-${nameHash(event, binding, STAMPED_HASH_LENGTH)}`;
}

/** End of a name that begins with a base from the binding: a hash that is long enough to be unique by itself. */
export function eventNameHash(event: string, binding: string): string {
  return nameHash(event, binding, HASH_LENGTH);
}

function nameHash(event: string, binding: string, length: number): string {
  return BigInt(`0x${digest("name", event, binding).slice(0, 16)}`)
    .toString(36).padStart(length, "0").slice(-length);
}

/** A generated name. The base is cut so that the name has at most 63 characters; a hyphen at its end is kept. */
export function fittingName(base: string, suffix: string): string {
  const room = MAX_NAME - suffix.length;
  if (base.length <= room) return base + suffix;
  const cut = base.endsWith("-")
    ? `${base.slice(0, room - 1).replace(/[-.]+$/, "")}-`
    : base.slice(0, room);
  return cut + suffix;
}

/** How long answers are kept under the keys of events: longer than the retries of an event. Later repeats find the uid. */
export const EVENT_KEY_TTL_MS = 3_600_000;

/** Key under which the answer to a command of an event is kept. */
export function eventKey(event: string, binding: string, ...more: string[]): string {
  return ["event", event, binding, ...more].join(":");
}

/** Numbers in [0, 1) for the random functions of a binding's expressions. */
export function eventFractions(event: string, binding: string): () => number {
  let count = 0;
  return () => parseInt(digest("random", event, binding, `${count++}`).slice(0, 12), 16) / 2 ** 48;
}

function digest(...parts: string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("hex");
}
