/** The time limit that a watcher sets. */
import type { Clock } from "../platform/clock.ts";

/** A signal that aborts with the given one or after some seconds. @param seconds absent or 0: no limit */
export function timeLimit(
  clock: Clock,
  signal: AbortSignal,
  seconds: number | undefined,
): AbortSignal {
  if (seconds === undefined || seconds <= 0 || signal.aborted) return signal;
  const limit = new AbortController();
  const cancel = clock.after(seconds * 1000, () => limit.abort());
  signal.addEventListener("abort", cancel);
  return AbortSignal.any([signal, limit.signal]);
}
