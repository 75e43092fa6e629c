/** Durations as manifests write them. */
import { parseDuration } from "../expr/values/go_duration.ts";

/** What Go's form can hold, 292 years. More would lead to times that no date can have. */
const MAX_SECONDS = 9_223_372_036;

/**
 * A duration in milliseconds. A plain whole number means seconds; anything else must have Go's form (`1h30m`).
 * @throws {Error} when it is neither, or longer than Go's form can hold
 */
export function durationMs(text: string): number {
  if (/^[+-]?\d+$/.test(text.trim())) {
    const seconds = Number(text);
    if (Math.abs(seconds) > MAX_SECONDS) throw new Error(`time: invalid duration "${text}"`);
    return seconds * 1000;
  }
  return Number(parseDuration(text) / 1_000_000n);
}
