/** Estimates how long a workflow will take: as long as the last one of its template or cron workflow that succeeded. */
import { BoundedCache } from "../../base/bounded_cache.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { cronLabel, type Naming, templateLabel } from "../../spec/naming.ts";
import type { Store } from "../../store/port.ts";

/** How long an answer is used again, ms, so that a burst of submissions asks the store once: all shards look. */
const KEEP_MS = 60_000;
/** The same while nothing is known. */
const UNKNOWN_MS = 10_000;

/** Answers that are kept. */
const MAX_KEPT = 1_000;

/** Most workflows that are read for one answer. */
const MAX_SCAN = 200;

interface Estimate {
  /** When the store is asked again; monotonic, ms. */
  until: number;
  /** A promise while the store is asked. */
  seconds: number | undefined | Promise<number | undefined>;
}

export class DurationEstimates {
  readonly #query: Store["query"];
  readonly #clock: Clock;
  readonly #naming: Naming;
  readonly #kept = new BoundedCache<string, Estimate>(MAX_KEPT);

  constructor({ query }: Store, clock: Clock, naming: Naming) {
    this.#query = query;
    this.#clock = clock;
    this.#naming = naming;
  }

  /** Expected seconds; undefined when nothing is known, or the store can't be asked. Never rejects. */
  of(namespace: string, { metadata, spec }: Workflow): Estimate["seconds"] {
    const ofCron = cronLabel(this.#naming);
    const cron = metadata.labels?.[ofCron];
    const { name = "", clusterScope } = spec.workflowTemplateRef ?? {};
    const label = cron === undefined ? templateLabel(this.#naming, clusterScope === true) : ofCron;
    const value = cron ?? name;
    if (value === "") return undefined;
    const key = `${namespace}/${label}/${value}`;
    const now = this.#clock.monotonic();
    const kept = this.#kept.get(key);
    if (kept !== undefined && now < kept.until) return kept.seconds;
    const seconds = this.#ask(namespace, label, value);
    const estimate = this.#kept.set(key, { until: now + UNKNOWN_MS, seconds });
    void seconds.then((known) => {
      estimate.seconds = known;
      if (known !== undefined) estimate.until = now + KEEP_MS;
    });
    return seconds;
  }

  async #ask(namespace: string, key: string, value: string): Promise<number | undefined> {
    try {
      const { items: [last] } = await this.#query.list({
        kind: "wf",
        namespace,
        labels: [{ key, operator: "in", values: [value] }],
        phases: ["Succeeded"],
        limit: 1,
        maxScan: MAX_SCAN,
        parts: [],
      });
      const { startedAt, finishedAt } = last?.index ?? {};
      return startedAt === undefined || finishedAt === undefined
        ? undefined
        : Math.max(0, Math.round((finishedAt - startedAt) / 1000));
    } catch {
      return undefined;
    }
  }
}
