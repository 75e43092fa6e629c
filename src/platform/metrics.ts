/**
 * A small metrics registry with the Prometheus text format. Names begin with `sluice_`. Every label set is kept, so there
 * must be few: no label is an id, or a name that users choose freely. Beyond a bound no new set is taken.
 */
import { type Exemplar, exemplarText } from "../base/openmetrics.ts";
import {
  headLines,
  histogramLines,
  isMetricName,
  labelKeyProblem,
  labelText,
  valueLine,
} from "../base/prometheus_text.ts";

/** Never changed after their first use. */
export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  /** Adds `by` (≥ 0, default 1). */
  inc(labels?: Labels, by?: number): void;
}

export interface Gauge {
  set(value: number, labels?: Labels): void;
  /** Shows these values and no others; with none, the metric has no series. */
  replace(rows: Iterable<readonly [value: number, labels?: Labels]>): void;
}

export interface Histogram {
  /** @param traceId a trace in which the value was seen; the page shows the last one of each bucket */
  observe(value: number, labels?: Labels, traceId?: string): void;
  /** Shows a series before its first value: Prometheus takes no notice of what a series begins with. */
  begin(labels?: Labels): void;
}

export interface Metrics {
  counter(name: string, help: string): Counter;
  /** @param read gives the value whenever the metrics are rendered */
  gauge(name: string, help: string, read?: () => number): Gauge;
  /** @param buckets upper bounds, ascending. @default seconds from 1 ms to 10 s */
  histogram(name: string, help: string, buckets?: number[]): Histogram;
  /** Adds metrics that are kept elsewhere. @param render gives whole lines of the text format, or nothing */
  append(render: () => string): void;
  /** All metrics in the Prometheus text format, with exemplars at the end of lines where traces were given. */
  render(): string;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Most label sets of one metric. */
const MAX_SERIES = 5_000;
const DROPPED = "sluice_metric_series_dropped_total";

interface HistogramRow {
  labels: string;
  counts: number[];
  sum: number;
  count: number;
  /** By bucket; the last one is that without a bound. Absent: no trace was given. */
  exemplars?: Exemplar[];
}

/** One metric: the values of a counter or gauge, or the rows of a histogram, by label set. */
interface Family {
  help: string;
  type: "counter" | "gauge" | "histogram";
  values: Map<string, number>;
  rows: Map<string, HistogramRow>;
  buckets: number[];
  read: (() => number) | undefined;
}

/** Makes an empty registry. Asking for a name again gives the same metric. @throws {TypeError} for a wrong name or label key */
export function createMetrics(maxSeries = MAX_SERIES): Metrics {
  return new Registry(maxSeries);
}

class Registry implements Metrics {
  readonly #maxSeries: number;
  readonly #families = new Map<string, Family>();
  readonly #appended: (() => string)[] = [];
  /** Texts of label sets: the same object is used again and again. */
  readonly #labelTexts = new WeakMap<Labels, string>();

  constructor(maxSeries: number) {
    this.#maxSeries = maxSeries;
  }

  counter(name: string, help: string): Counter {
    const own = this.#family(name, help, "counter");
    return { inc: (labels, by = 1) => this.#put(own, labels, (old) => old + by) };
  }

  gauge(name: string, help: string, read?: () => number): Gauge {
    const own = this.#family(name, help, "gauge");
    own.read = read ?? own.read;
    const set: Gauge["set"] = (value, labels) => this.#put(own, labels, () => value);
    return {
      set,
      replace: (rows) => {
        own.values.clear();
        for (const [value, labels] of rows) set(value, labels);
      },
    };
  }

  histogram(name: string, help: string, buckets?: number[]): Histogram {
    const own = this.#family(name, help, "histogram");
    if (buckets) own.buckets = buckets;
    return {
      observe: (value, labels, traceId) => this.#observe(own, value, labels, traceId),
      begin: (labels) => void this.#rowOf(own, labels),
    };
  }

  append(render: () => string): void {
    this.#appended.push(render);
  }

  render(): string {
    const lines: string[] = [];
    for (const [name, own] of this.#families) {
      lines.push(...headLines(name, own.help, own.type));
      if (own.read) own.values.set("", own.read());
      for (const [labels, value] of own.values) lines.push(valueLine(name, labels, value));
      for (const row of own.rows.values()) {
        let total = 0;
        const cumulative = (index: number) => total += row.counts[index] ?? 0;
        const rows = histogramLines(name, row.labels, own.buckets, cumulative, row);
        row.exemplars?.forEach((one, index) => rows[index] += exemplarText(one));
        for (const line of rows) lines.push(line);
      }
    }
    return lines.join("\n") + "\n" + this.#appended.map((more) => more()).join("");
  }

  #family(name: string, help: string, type: Family["type"]): Family {
    let found = this.#families.get(name);
    if (!found) {
      if (!isMetricName(name)) throw new TypeError(`"${name}" is not a valid name of a metric`);
      found = { help, type, values: new Map(), rows: new Map(), buckets: SECONDS, read: undefined };
      this.#families.set(name, found);
    }
    if (found.type !== type) throw new TypeError(`Metric ${name} is a ${found.type}`);
    return found;
  }

  #put({ values }: Family, labels: Labels | undefined, next: (old: number) => number): void {
    const key = this.#textOf(labels);
    const old = values.get(key);
    if (old !== undefined || this.#hasRoom(values)) values.set(key, next(old ?? 0));
  }

  /** The row of a label set; undefined if there is no room for it. */
  #rowOf(own: Family, labels: Labels | undefined): HistogramRow | undefined {
    const key = this.#textOf(labels);
    let row = own.rows.get(key);
    if (row === undefined) {
      if (!this.#hasRoom(own.rows)) return undefined;
      row = { labels: key, counts: own.buckets.map(() => 0), sum: 0, count: 0 };
      own.rows.set(key, row);
    }
    return row;
  }

  #observe(
    own: Family,
    value: number,
    labels: Labels | undefined,
    traceId: string | undefined,
  ): void {
    const row = this.#rowOf(own, labels);
    if (row === undefined) return;
    row.sum += value;
    row.count++;
    let index = 0;
    while (value > (own.buckets[index] ?? Infinity)) index++;
    if (index < row.counts.length) row.counts[index] = (row.counts[index] ?? 0) + 1;
    if (traceId !== undefined) (row.exemplars ??= [])[index] = { traceId, value, at: Date.now() };
  }

  /** True when a metric may have another series. If not, the value that is left out is counted. */
  #hasRoom(series: Map<string, unknown>): boolean {
    if (series.size < this.#maxSeries) return true;
    const help = "Values not shown: their metric has too many series";
    const { values } = this.#family(DROPPED, help, "counter");
    values.set("", (values.get("") ?? 0) + 1);
    return false;
  }

  #textOf(labels: Labels | undefined): string {
    if (!labels) return "";
    let text = this.#labelTexts.get(labels);
    if (text === undefined) this.#labelTexts.set(labels, text = checkedLabels(labels));
    return text;
  }
}

function checkedLabels(labels: Labels): string {
  for (const key in labels) {
    const problem = labelKeyProblem(key);
    if (problem !== undefined) throw new TypeError(`Label key "${key}": ${problem}`);
  }
  return labelText(Object.entries(labels));
}
