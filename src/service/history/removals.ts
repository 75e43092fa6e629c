/** Removes archived workflows one by one: one that cannot be removed holds up no other. */
import { BoundedCache } from "../../base/bounded_cache.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import type { Counter, Metrics } from "../../platform/metrics.ts";
import { undefinedWhenNotFound } from "../problem_kinds.ts";

/** Workflows that are removed at once. If none of so many can be removed, the trouble is not theirs. */
const AT_ONCE = 10;
/** How long one is left alone after it could not be removed, ms; every time twice as long. */
const FIRST_REST_MS = 60_000;
const LONGEST_REST_MS = 3_600_000;
/** Those that could not be removed and are remembered; beyond, some are tried and told more often. */
const MAX_REMEMBERED = 1_000;

export interface ArchivedOne {
  namespace: string;
  name: string;
  uid: string;
}

/** Counts removals that failed. Called once for each server: it makes the metric. */
export function removalFailures(metrics: Metrics): Counter {
  const counter = metrics.counter(
    "sluice_archive_removal_failures_total",
    "Attempts to remove an archived workflow whose time is over that failed; the log says which and why",
  );
  // It is shown before anything has failed.
  counter.inc({}, 0);
  return counter;
}

export class Removals {
  readonly #deps: { clock: Clock; log: Logger; failures?: Counter | undefined };
  /** Those that could not be removed, by uid. */
  readonly #failed: BoundedCache<string, { until: number; restMs: number }>;

  constructor(deps: { clock: Clock; log: Logger; failures?: Counter | undefined }) {
    this.#deps = deps;
    this.#failed = new BoundedCache(MAX_REMEMBERED);
  }

  /**
   * Removes all of these that did not fail lately, and gives those that are gone.
   * @throws what the first of many said, when none of them could be removed
   */
  async removeAll<T extends ArchivedOne>(
    all: readonly T[],
    remove: (one: T) => Promise<unknown>,
  ): Promise<T[]> {
    const now = this.#deps.clock.monotonic();
    const due = all.filter(({ uid }) => (this.#failed.get(uid)?.until ?? -Infinity) <= now);
    const gone: T[] = [];
    for (let first = 0; first < due.length; first += AT_ONCE) {
      const some = due.slice(first, first + AT_ONCE);
      const results = await Promise.allSettled(some.map(async (one) => {
        await remove(one).catch(undefinedWhenNotFound);
        return one;
      }));
      const errors = results.map((result) => result.status === "rejected" ? result : undefined);
      some.forEach((one, at) => {
        const error = errors[at];
        if (error !== undefined) return this.#note(one, error.reason);
        this.#failed.delete(one.uid);
        gone.push(one);
      });
      if (some.length === AT_ONCE && errors.every((error) => error !== undefined)) {
        throw errors[0]?.reason;
      }
    }
    return gone;
  }

  #note({ namespace, name, uid }: ArchivedOne, cause: unknown): void {
    const { clock, log, failures } = this.#deps;
    failures?.inc();
    const known = this.#failed.get(uid);
    const restMs = known === undefined
      ? FIRST_REST_MS
      : Math.min(known.restMs * 2, LONGEST_REST_MS);
    this.#failed.set(uid, { until: clock.monotonic() + restMs, restMs });
    if (known !== undefined) return;
    const fields = { namespace, workflow: name, uid, err: cause };
    log.warn(fields, "archived workflow not removed although its time is over: tried again later");
  }
}
