/** What a store held that no program of ours could read: told in the log and counted, and passed over by itself. */
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** Kinds of stored entries. */
export type EntryKind = "event" | "mailbox" | "outbox" | "timer" | "feed" | "binding";

/** @param about where it lies; never what it holds, which may be secret */
export type ReportUnreadable = (kind: EntryKind, about: Record<string, unknown>) => void;

/** Makes what tells of unreadable entries. */
export function unreadableReporter(metrics: Metrics, log: Logger): ReportUnreadable {
  const total = metrics.counter(
    "sluice_unreadable_entries_total",
    "Stored entries that could not be read and were passed over, by kind; the log says which",
  );
  return (kind, about) => {
    total.inc({ kind });
    log.error({ kind, ...about }, "a stored entry cannot be read");
  };
}
