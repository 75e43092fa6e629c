/** What is measured of the way into the archive. */
import { errorText } from "../../base/error_text.ts";
import type { Metrics } from "../../platform/metrics.ts";

/**
 * `moved`: it is in the archive only. `changed`: it was retried or changed meanwhile. `failed`: the archive or the store did not
 * answer. `too-large`, `unreadable`: it stays in the store for good. `stays`: until its `ttlStrategy` deletes it.
 */
export type MoveOutcome = typeof OUTCOMES[number];

const OUTCOMES = ["moved", "changed", "failed", "too-large", "unreadable", "stays"] as const;

export class MoveMetrics {
  #left = 0;
  #oldestMs = 0;
  #away: string | undefined;
  readonly #count: (outcome: MoveOutcome, by: number) => void;

  constructor(metrics: Metrics) {
    metrics.gauge(
      "sluice_archive_backlog",
      "Finished workflows of this replica's shards that are due in the archive and were not moved at the last look",
      () => this.#left,
    );
    metrics.gauge(
      "sluice_archive_oldest_seconds",
      "Longest time for which a finished workflow has been due in the archive",
      () => this.#oldestMs / 1_000,
    );
    const counter = metrics.counter(
      "sluice_archive_writes_total",
      "Attempts to write a workflow to the archive, by what became of them",
    );
    // Those that have not occurred are shown too.
    for (const outcome of OUTCOMES) counter.inc({ outcome }, 0);
    this.#count = (outcome, by) => counter.inc({ outcome }, by);
  }

  /** Why the archive does not take anything now; undefined while it does. */
  get trouble(): string | undefined {
    return this.#away;
  }

  wrote(outcome: MoveOutcome, count: number): void {
    this.#count(outcome, count);
  }

  looked(left: number, oldestMs: number): void {
    this.#left = left;
    this.#oldestMs = oldestMs;
  }

  away(cause: unknown): void {
    this.#away = cause === undefined ? undefined : errorText(cause);
  }
}
