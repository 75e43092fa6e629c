/** Counts of workflows that were asked for lately. */
import { BoundedCache } from "../../base/bounded_cache.ts";
import type { Clock } from "../../platform/clock.ts";

export interface WorkflowCounts {
  /** Beginning of the first span, epoch ms. */
  from: number;
  /** Length of each span, ms: whole seconds. */
  span: number;
  /** For each phase the number of each span. A workflow that has not begun is Pending. */
  phases: Record<string, number[]>;
  /** How many of them have a step that waits. They are counted as running too. Absent: nobody knows. */
  waiting?: number;
  /** The number of each span; absent: nobody knows. */
  waitingSpans?: number[];
  /** Only so many of the newest workflows were looked at; absent: all. */
  examined?: number;
  /** The archive did not answer, so what it has is missing. */
  isWithoutArchive?: true;
}

/** How long an answer is given again, ms: fifty open pages cost no more than one. */
export const KEEP_MS = 5_000;
const MOST_KEPT = 100;

/** The answers of a replica. */
export class KnownCounts {
  readonly #clock: Clock;
  readonly #kept = new BoundedCache<string, { at: number; counts: Promise<WorkflowCounts> }>(
    MOST_KEPT,
  );

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An answer that is not old, or a new one. */
  get(key: string, ask: () => Promise<WorkflowCounts>): Promise<WorkflowCounts> {
    const now = this.#clock.monotonic();
    const known = this.#kept.get(key);
    if (known !== undefined && now - known.at < KEEP_MS) return known.counts;
    const counts = ask();
    // What went wrong once is asked again.
    counts.catch(() => this.#kept.delete(key));
    this.#kept.set(key, { at: now, counts });
    return counts;
  }
}
