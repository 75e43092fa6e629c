/**
 * Records of the store that cannot be read: who hears of them. Nothing else may depend on them, so whoever meets one tells it
 * here and goes on.
 */
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";

export interface UnreadableRecords {
  /** Somebody met a record that cannot be read. */
  met(kind: string, id: string, cause: unknown): void;
}

/** The same record is told again after so long. */
const TELL_AGAIN_MS = 600_000;
/** Records that are remembered; when more are damaged, some are told more often. */
const MAX_REMEMBERED = 1_000;

/** Tells unreadable records in the log and in a metric, each now and then. */
export function createUnreadableRecords(
  { log, metrics, clock }: { log: Logger; metrics: Metrics; clock: Clock },
): UnreadableRecords {
  const told = new Map<string, number>();
  const total = metrics.counter(
    "sluice_unreadable_records_total",
    "Records of the store that could not be read, each counted once in ten minutes",
  );
  return {
    met(kind, id, cause) {
      const now = clock.monotonic();
      const key = `${kind} ${id}`;
      if (now - (told.get(key) ?? -Infinity) < TELL_AGAIN_MS) return;
      told.delete(key);
      told.set(key, now);
      if (told.size > MAX_REMEMBERED) {
        const [oldest] = told.keys();
        if (oldest !== undefined) told.delete(oldest);
      }
      total.inc({ kind });
      log.error({ record: id, kind, err: cause }, "a stored record cannot be read");
    },
  };
}
