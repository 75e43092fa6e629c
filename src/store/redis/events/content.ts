/**
 * An event as the Redis queue stores it: attempts before it was queued, a space, its facts as JSON, a line feed, its
 * text.
 */
import { isJsonObject } from "../../../base/json.ts";
import { parseOrUndefined } from "../../../base/json_text.ts";
import type { QueuedEvent } from "../../event_port.ts";
import { eventProblem } from "../../queued_event.ts";

/** After this many claims an event is inspected: something may keep it from ending. */
const MANY_CLAIMS = 5;

export function contentOf(event: Omit<QueuedEvent, "attempts" | "manifests">): string {
  const { id, namespace, discriminator, receivedAt, size, text } = event;
  return `0 ${JSON.stringify({ id, namespace, discriminator, receivedAt, size })}\n${text}`;
}

/** Reads an event from its content; or says why it can't be read. */
export function readContent(content: string, claims: number): QueuedEvent | string {
  const space = content.indexOf(" ");
  const line = content.indexOf("\n", space);
  const attempts = Number(content.slice(0, space));
  if (space < 1 || line < 0 || !(attempts >= 0)) return "it does not begin as events do";
  const facts = factsOf(content);
  if (facts === undefined) return "its facts are not JSON";
  const event = facts as unknown as QueuedEvent;
  event.text = content.slice(line + 1);
  event.attempts = attempts + claims;
  return eventProblem(event as unknown as Record<string, unknown>) ?? event;
}

/** The facts in a content; undefined if they are not a JSON object. */
export function factsOf(content: string): Record<string, unknown> | undefined {
  const space = content.indexOf(" ");
  const line = content.indexOf("\n", space);
  const facts = parseOrUndefined(content.slice(space + 1, line));
  return isJsonObject(facts) ? facts : undefined;
}

/** Tells whether the bytes and the place of a content must be inspected: it may not be UTF-8, or nobody can end it. */
export function isSuspect(content: string, claims: number): boolean {
  return claims >= MANY_CLAIMS || content.includes("\uFFFD");
}

/** Tells whether an event that is filed nowhere has been handed out too often. */
export function isGivenUp(isFiled: boolean, claims: number): boolean {
  return !isFiled && claims >= MANY_CLAIMS;
}
