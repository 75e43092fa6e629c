/**
 * A small metrics registry with the Prometheus text format. Names begin with `sluice_`; label sets must be few (never an
 * id or a name that users choose freely), because every set is kept. Beyond a bound no new ones are taken.
 */
import {
  headLines,
  histogramLines,
  isMetricName,
  labelKeyProblem,
  labelText,
  valueLine,
} from "../base/prometheus_text.ts";

/** Not to be changed once they were used. */
export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  /** Adds `by` (≥ 0, default 1). */
  inc(labels?: Labels, by?: number): void;
}

export interface Gauge {
  set(value: number, labels?: Labels): void;
}

export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

export interface Metrics {
  counter(name: string, help: string): Counter;
  /** With `read`, the value is asked for when somebody scrapes. */
  gauge(name: string, help: string, read?: () => number): Gauge;
  /** @param buckets upper bounds, ascending. @default seconds from 1 ms to 10 s */
  histogram(name: string, help: string, buckets?: number[]): Histogram;
  /** Adds what is kept elsewhere: whole lines of the text format, or nothing. */
  append(render: () => string): void;
  /** All metrics in the Prometheus text format. */
  render(): string;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Label sets of one metric. */
const MAX_SERIES = 5_000;
const DROPPED = "sluice_metric_series_dropped_total";

interface HistogramRow {
  labels: string;
  counts: number[];
  sum: number;
  count: number;
}

interface Family {
  help: string;
  type: "counter" | "gauge" | "histogram";
  values: Map<string, number>;
  rows: Map<string, HistogramRow>;
  buckets: number[];
  read: (() => number) | undefined;
}

/** Makes an empty registry. Asking for a name again gives the same metric. @throws {TypeError} for a name or key that is none */
export function createMetrics(maxSeries = MAX_SERIES): Metrics {
  const families = new Map<string, Family>();
  const appended: (() => string)[] = [];
  /** Texts of label sets, which are used again and again as the same object. */
  const rendered = new WeakMap<Labels, string>();
  const renderLabels = (labels: Labels | undefined): string => {
    if (!labels) return "";
    let text = rendered.get(labels);
    if (text === undefined) rendered.set(labels, text = checkedLabels(labels));
    return text;
  };
  const family = (name: string, help: string, type: Family["type"]): Family => {
    let found = families.get(name);
    if (!found) {
      if (!isMetricName(name)) throw new TypeError(`"${name}" is no name of a metric`);
      found = { help, type, values: new Map(), rows: new Map(), buckets: SECONDS, read: undefined };
      families.set(name, found);
    }
    if (found.type !== type) throw new TypeError(`Metric ${name} is a ${found.type}`);
    return found;
  };
  /** True when a metric may have another series; else it is counted that there was one. */
  const hasRoom = (series: Map<string, unknown>): boolean => {
    if (series.size < maxSeries) return true;
    const { values } = family(
      DROPPED,
      "Values not shown: their metric has too many series",
      "counter",
    );
    values.set("", (values.get("") ?? 0) + 1);
    return false;
  };
  const put = ({ values }: Family, labels: Labels | undefined, next: (old: number) => number) => {
    const key = renderLabels(labels);
    const old = values.get(key);
    if (old !== undefined || hasRoom(values)) values.set(key, next(old ?? 0));
  };
  return {
    counter(name, help) {
      const own = family(name, help, "counter");
      return { inc: (labels, by = 1) => put(own, labels, (old) => old + by) };
    },
    gauge(name, help, read) {
      const own = family(name, help, "gauge");
      own.read = read ?? own.read;
      return { set: (value, labels) => put(own, labels, () => value) };
    },
    histogram(name, help, buckets) {
      const own = family(name, help, "histogram");
      if (buckets) own.buckets = buckets;
      return {
        observe(value, labels) {
          const key = renderLabels(labels);
          let row = own.rows.get(key);
          if (row === undefined) {
            if (!hasRoom(own.rows)) return;
            row = { labels: key, counts: own.buckets.map(() => 0), sum: 0, count: 0 };
            own.rows.set(key, row);
          }
          observe(own, row, value);
        },
      };
    },
    append(render) {
      appended.push(render);
    },
    render() {
      const lines: string[] = [];
      for (const [name, own] of families) {
        lines.push(...headLines(name, own.help, own.type));
        if (own.read) own.values.set("", own.read());
        for (const [labels, value] of own.values) lines.push(valueLine(name, labels, value));
        for (const row of own.rows.values()) {
          let total = 0;
          const cumulative = (index: number) => total += row.counts[index] ?? 0;
          lines.push(...histogramLines(name, row.labels, own.buckets, cumulative, row));
        }
      }
      return lines.join("\n") + "\n" + appended.map((more) => more()).join("");
    },
  };
}

function observe(own: Family, row: HistogramRow, value: number): void {
  row.sum += value;
  row.count++;
  const index = own.buckets.findIndex((bound) => value <= bound);
  if (index >= 0) row.counts[index] = (row.counts[index] ?? 0) + 1;
}

function checkedLabels(labels: Labels): string {
  for (const key in labels) {
    const problem = labelKeyProblem(key);
    if (problem !== undefined) throw new TypeError(`Label key "${key}": ${problem}`);
  }
  return labelText(Object.entries(labels));
}
