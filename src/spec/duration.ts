/** Durations as manifests write them. */
import { parseDuration } from "../expr/values/go_duration.ts";

/**
 * A duration in milliseconds. A plain whole number means seconds; anything else must have Go's form (`1h30m`).
 * @throws {Error} when it is neither
 */
export function durationMs(text: string): number {
  if (/^[+-]?\d+$/.test(text.trim())) return Number(text) * 1000;
  return Number(parseDuration(text) / 1_000_000n);
}
