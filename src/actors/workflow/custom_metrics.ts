/**
 * Metrics that workflows define, in the Prometheus text format, as this replica saw them since it started. Their names and
 * labels are users' choice, so what is kept is bounded: the series that was told longest ago goes first, and its name with
 * the last series of it.
 */
import { type Exemplar, exemplarText } from "../../base/openmetrics.ts";
import {
  headLines,
  histogramLines,
  labelText,
  lineNames,
  seriesProblem,
  valueLine,
} from "../../base/prometheus_text.ts";
import type { MetricSample } from "../../engine/effect.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/metrics.ts";
import type { ActorId } from "../../store/port.ts";

/** What the reference puts in front of every name. */
const PREFIX = "argo_workflows_";
/** Series at most, of all metrics together. */
const MAX_SERIES = 10_000;
/** Characters of all their lines together, roughly: what a scrape makes. */
const MAX_SIZE = 8 * 1024 * 1024;
/** Of those that count at once for one real-time gauge, the last ones are kept. */
const MAX_CLOCKS = 100;
/** Characters of a line besides its name and labels, and of what is known of a clock. */
const LINE_SIZE = 40;
const CLOCK_SIZE = 100;
const EXEMPLAR_SIZE = 80;

interface Family {
  type: MetricSample["type"];
  help: string;
  /** Of a histogram. */
  buckets: number[];
  /** Series that there are. */
  series: number;
}

interface Series {
  family: string;
  labels: string;
  value: number;
  /** Epoch ms from which a real-time gauge counts, by who it counts for. */
  clocks: Map<string, number>;
  counts: number[];
  count: number;
  /** Of a histogram by bucket, the last one is that without a bound; of a counter the first. Absent: nothing is traced. */
  exemplars?: Exemplar[];
}

export interface WorkflowMetricsOptions {
  /** Hears of a series that goes to make room for others. */
  onDrop?: () => void;
  maxSeries?: number;
  /** Characters of all lines together, roughly. */
  maxSize?: number;
  /** Epoch ms. @default {Date.now} */
  now?: () => number;
}

/** The values of metrics that workflows define, as lines for Prometheus. */
export class WorkflowMetrics {
  readonly #families = new Map<string, Family>();
  /** Names of lines, and whose they are. */
  readonly #lines = new Map<string, string>();
  /** The one that was told longest ago comes first. */
  readonly #series = new Map<string, Series>();
  readonly #onDrop: () => void;
  readonly #maxSeries: number;
  readonly #maxSize: number;
  readonly #now: () => number;
  #size = 0;

  constructor(options: WorkflowMetricsOptions = {}) {
    this.#onDrop = options.onDrop ?? (() => {});
    this.#maxSeries = options.maxSeries ?? MAX_SERIES;
    this.#maxSize = options.maxSize ?? MAX_SIZE;
    this.#now = options.now ?? Date.now;
  }

  /**
   * Takes a value in.
   * @param traceId of the workflow that tells it
   * @returns why it was refused: a metric of this name is of another type or says another thing about itself, or it can't
   * be shown
   */
  observe(sample: MetricSample, traceId?: string): string | undefined {
    const problem = seriesProblem(sample);
    if (problem !== undefined) return problem;
    const name = PREFIX + sample.name;
    const family = this.#familyOf(name, sample);
    if (typeof family === "string") return family;
    const labels = labelText(Object.entries(sample.labels).sort(([a], [b]) => a < b ? -1 : 1));
    const id = `${name}{${labels}}`;
    const known = this.#series.get(id);
    const own = known ??
      { family: name, labels, value: 0, clocks: new Map(), counts: [], count: 0 };
    if (known !== undefined) this.#remove(id, known, family);
    take(own, family, sample);
    if (traceId !== undefined) noteTrace(own, family, sample, traceId, this.#now());
    this.#add(id, own, family);
    this.#makeRoom();
    return undefined;
  }

  /** All series, empty when there are none. */
  render(nowMs: number): string {
    const texts: string[] = [];
    const byFamily = Map.groupBy(this.#series.values(), ({ family }) => family);
    for (const [name, family] of this.#families) {
      texts.push(...headLines(name, family.help, family.type));
      for (const one of byFamily.get(name) ?? []) {
        for (const line of seriesLines(name, family, one, nowMs)) texts.push(line);
      }
    }
    return texts.length === 0 ? "" : `${texts.join("\n")}\n`;
  }

  #familyOf(name: string, { type, help, buckets = [] }: MetricSample): Family | string {
    const known = this.#families.get(name);
    if (known !== undefined) {
      const isSame = known.type === type && known.help === help;
      return isSame ? known : "a metric of this name has another type or help";
    }
    const taken = lineNames(name, type).find((line) => this.#lines.has(line));
    if (taken !== undefined) return `its line ${taken} belongs to ${this.#lines.get(taken)}`;
    const bounds = [...new Set(buckets)].sort((a, b) => a - b);
    return { type, help, buckets: bounds, series: 0 };
  }

  #add(id: string, own: Series, family: Family): void {
    this.#series.set(id, own);
    this.#size += sizeOf(own, family);
    if (family.series++ > 0) return;
    this.#families.set(own.family, family);
    for (const line of lineNames(own.family, family.type)) this.#lines.set(line, own.family);
  }

  #remove(id: string, own: Series, family: Family): void {
    this.#series.delete(id);
    this.#size -= sizeOf(own, family);
    if (--family.series > 0) return;
    this.#families.delete(own.family);
    for (const line of lineNames(own.family, family.type)) this.#lines.delete(line);
  }

  #makeRoom(): void {
    for (const [id, oldest] of this.#series) {
      if (this.#series.size <= this.#maxSeries && this.#size <= this.#maxSize) return;
      const family = this.#families.get(oldest.family);
      if (family !== undefined) this.#remove(id, oldest, family);
      this.#onDrop();
    }
  }
}

function sizeOf({ family, labels, clocks, exemplars }: Series, { buckets, type }: Family): number {
  const count = type === "histogram" ? buckets.length + 3 : 1;
  const line = family.length + labels.length + LINE_SIZE + (exemplars ? EXEMPLAR_SIZE : 0);
  return count * line + clocks.size * CLOCK_SIZE;
}

function take(own: Series, { buckets }: Family, sample: MetricSample): void {
  const { type, value, operation, since, key } = sample;
  if (type === "histogram") {
    own.count++;
    own.value += value;
    buckets.forEach((bound, index) => {
      if (value <= bound) own.counts[index] = (own.counts[index] ?? 0) + 1;
    });
  } else if (type === "counter") own.value += Math.max(0, value);
  else if (since !== undefined) startClock(own.clocks, key ?? "", since);
  else {
    if (key !== undefined) own.clocks.delete(key);
    if (operation === "Add") own.value += value;
    else if (operation === "Sub") own.value -= value;
    else own.value = value;
  }
}

/** Notes in which trace a value was seen. A gauge has no place for that. */
function noteTrace(
  own: Series,
  { type, buckets }: Family,
  { value }: MetricSample,
  traceId: string,
  at: number,
): void {
  if (type === "gauge") return;
  const bucket = type === "counter" ? 0 : buckets.findIndex((bound) => value <= bound);
  (own.exemplars ??= [])[bucket < 0 ? buckets.length : bucket] = { traceId, value, at };
}

function seriesLines(name: string, family: Family, own: Series, now: number): string[] {
  const lines = plainLines(name, family, own, now);
  own.exemplars?.forEach((one, index) => lines[index] += exemplarText(one));
  return lines;
}

function plainLines(name: string, { type, buckets }: Family, own: Series, now: number): string[] {
  const { labels, value, counts, count } = own;
  if (type === "histogram") {
    const cumulative = (index: number) => counts[index] ?? 0;
    return histogramLines(name, labels, buckets, cumulative, { sum: value, count });
  }
  // Of several that count at once, the one that began last is told.
  const since = [...own.clocks.values()].at(-1);
  return [valueLine(name, labels, since === undefined ? value : (now - since) / 1000)];
}

function startClock(clocks: Map<string, number>, key: string, since: number): void {
  clocks.set(key, since);
  const [oldest] = clocks.keys();
  if (clocks.size > MAX_CLOCKS && oldest !== undefined) clocks.delete(oldest);
}

export interface ObserveDeps {
  metrics: Metrics;
  clock: Clock;
  log: Logger;
  /** The trace of an actor, if its spans are wanted. Absent: nothing is traced. */
  traceOf?: ((actor: ActorId) => string | undefined) | undefined;
}

/** Takes in what workflows measure, and shows it with the metrics. */
export function observeSamples(
  { metrics, clock, log, traceOf }: ObserveDeps,
): (samples: readonly { actor: ActorId; sample: MetricSample }[]) => void {
  const dropped = metrics.counter(
    "sluice_workflow_metric_series_dropped_total",
    "Series of workflows' own metrics that were dropped to make room for others",
  );
  const registry = new WorkflowMetrics({ onDrop: () => dropped.inc(), now: () => clock.now() });
  metrics.append(() => registry.render(clock.now()));
  return (samples) => {
    for (const { actor, sample } of samples) {
      const problem = registry.observe(sample, traceOf?.(actor));
      if (problem === undefined) continue;
      const { name, help } = sample;
      log.warn({ actor, metric: name, help, reason: problem }, "metric refused");
    }
  };
}
