/**
 * Stored records that no program of ours can read: who hears of them. Nothing else may depend on one, so whoever meets it
 * tells it here and goes on.
 */
import { BoundedCache } from "../base/bounded_cache.ts";
import type { Clock } from "./clock.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/**
 * Somebody met a record that cannot be read.
 *
 * @param kind `workflow`, `event`, `mailbox`, `outbox`, `timer`, `feed`, or the kind of a manifest
 * @param id which one of its kind
 * @param about what else the log is to say; never what the record holds, which may be secret
 */
export type ReportUnreadable = (kind: string, id: string, about?: Record<string, unknown>) => void;

/** The same record is told again after so long. */
const TELL_AGAIN_MS = 600_000;
/** Records that are remembered; when more are damaged, some are told more often. */
const MAX_REMEMBERED = 1_000;

/** Tells unreadable records in the log and in a metric, each now and then. */
export function unreadableReporter(
  metrics: Metrics,
  log: Logger,
  clock: Pick<Clock, "monotonic">,
): ReportUnreadable {
  const told = new BoundedCache<string, number>(MAX_REMEMBERED);
  const total = metrics.counter(
    "sluice_unreadable_records_total",
    "Stored records that could not be read, by kind, each counted once in ten minutes; the log says which",
  );
  return (kind, id, about = {}) => {
    const now = clock.monotonic();
    const key = `${kind} ${id}`;
    if (now - (told.get(key) ?? -Infinity) < TELL_AGAIN_MS) return;
    told.set(key, now);
    total.inc({ kind });
    log.error({ kind, record: id, ...about }, "a stored record cannot be read");
  };
}
