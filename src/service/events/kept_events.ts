/**
 * Which events are kept with their delivery records though they are no dead letters, so that people can see what came and
 * why a binding matched or not. A sample, because each kept event is written once more: in a quiet namespace all, in a
 * busy one a few in each second.
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import type { Clock } from "../../platform/clock.ts";
import type { QueuedEvent } from "../../store/event_port.ts";

/** Longest text of an event that is kept, in UTF-16 units: a list reads the records of a page with their events. */
const MAX_TEXT = 16_384;
/** Events that may be kept at once after a quiet time, as a multiple of those kept in a second. */
const BURST = 20;
/** Most namespaces that are remembered. */
const MAX_NAMESPACES = 1_000;

/** Tells for each event whether it is kept. */
export type KeepEvent = (event: Pick<QueuedEvent, "namespace" | "text">) => boolean;

/** @param rate events of each namespace that are kept in a second; 0 keeps none */
export function keptEvents(clock: Pick<Clock, "monotonic">, rate: number): KeepEvent {
  const allowances = new BoundedCache<string, { left: number; at: number }>(MAX_NAMESPACES);
  const most = rate * BURST;
  return ({ namespace, text }) => {
    if (rate === 0 || text.length > MAX_TEXT) return false;
    const now = clock.monotonic();
    const known = allowances.get(namespace) ?? allowances.set(namespace, { left: most, at: now });
    known.left = Math.min(most, known.left + (now - known.at) / 1000 * rate);
    known.at = now;
    if (known.left < 1) return false;
    known.left--;
    return true;
  };
}
