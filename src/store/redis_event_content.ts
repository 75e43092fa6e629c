/**
 * An event as it lies in the Redis queue: attempts before it was put there, space, what is known of it as JSON, new line,
 * text.
 */
import { isJsonObject, type Json } from "../base/json.ts";
import type { QueuedEvent } from "./port.ts";
import { eventProblem } from "./queued_event.ts";

/** From so many claims on, an event is looked at: something may keep it from being ended. */
const MANY_CLAIMS = 5;

export function contentOf({ text, ...facts }: Omit<QueuedEvent, "attempts" | "manifests">): string {
  return `0 ${JSON.stringify(facts)}\n${text}`;
}

/** The event of a content, or why it can't be read. */
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

/** What a content says of its event; undefined when that is no JSON object. */
export function factsOf(content: string): Record<string, unknown> | undefined {
  const space = content.indexOf(" ");
  const line = content.indexOf("\n", space);
  try {
    const facts = JSON.parse(content.slice(space + 1, line)) as Json;
    return isJsonObject(facts) ? facts : undefined;
  } catch {
    return undefined;
  }
}

/** True for a content whose bytes and place must be looked at: it may be no UTF-8, or nobody can end it. */
export function isSuspect(content: string, claims: number): boolean {
  return claims >= MANY_CLAIMS || content.includes("\uFFFD");
}

/** True when an event that is filed nowhere has been given out often enough. */
export function isGivenUp(isFiled: boolean, claims: number): boolean {
  return !isFiled && claims >= MANY_CLAIMS;
}
