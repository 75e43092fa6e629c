/** One read for all who ask at about the same time: however many pages are open, the store is asked once. */
import type { Clock } from "./clock.ts";

/**
 * Makes a function that gives the last answer again until it is `keepMs` old. At most one read is under way; a failure is told
 * to those who wait for it, and not kept.
 */
export function sharedRead<T>(
  read: () => Promise<T>,
  keepMs: number,
  clock: Pick<Clock, "monotonic">,
): () => Promise<T> {
  let kept: { answer: Promise<T>; until: number } | undefined;
  return () => {
    if (kept !== undefined && clock.monotonic() < kept.until) return kept.answer;
    const mine = { answer: read(), until: Infinity };
    kept = mine;
    mine.answer.then(
      () => void (mine.until = clock.monotonic() + keepMs),
      () => void (mine.until = 0),
    );
    return mine.answer;
  };
}
