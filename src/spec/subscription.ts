/** Durations of subscriptions, with their bounds. */
import { durationMs } from "./duration.ts";
import type { SubscriptionSpec } from "./manifest.ts";

const DEFAULT_TIMEOUT_MS = 10_000;
const MIN_TIMEOUT_MS = 1_000;
const MAX_TIMEOUT_MS = 60_000;
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 168 * 3_600_000;

/**
 * How long the receiver may take for one attempt, ms.
 * @throws {Error} with a text for users when it is no duration or out of bounds
 */
export function subscriptionTimeoutMs({ timeout }: Pick<SubscriptionSpec, "timeout">): number {
  if (timeout === undefined || timeout === "") return DEFAULT_TIMEOUT_MS;
  return within(timeout, MIN_TIMEOUT_MS, MAX_TIMEOUT_MS, "1s and 60s");
}

/**
 * How long a delivery is tried, ms; undefined when the subscription leaves that to the server.
 * @throws {Error} with a text for users when it is no duration or out of bounds
 */
export function subscriptionRetryMs(
  { retryFor }: Pick<SubscriptionSpec, "retryFor">,
): number | undefined {
  if (retryFor === undefined || retryFor === "") return undefined;
  return within(retryFor, MIN_RETRY_MS, MAX_RETRY_MS, "1s and 168h");
}

function within(text: string, min: number, max: number, bounds: string): number {
  const ms = durationMs(text);
  if (ms >= min && ms <= max) return ms;
  throw new Error(`${text} is not between ${bounds}`);
}
