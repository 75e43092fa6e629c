/**
 * A small metrics registry with the Prometheus text format. Names begin with `sluice_`; label sets must be few (never an
 * id or a name that users choose freely), because every set is kept.
 */

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

/** Makes an empty registry. Asking for a name again gives the same metric. */
export function createMetrics(): Metrics {
  const families = new Map<string, Family>();
  const appended: (() => string)[] = [];
  /** Texts of label sets, which are used again and again as the same object. */
  const rendered = new WeakMap<Labels, string>();
  const renderLabels = (labels: Labels | undefined): string => {
    if (!labels) return "";
    let text = rendered.get(labels);
    if (text === undefined) rendered.set(labels, text = labelText(labels));
    return text;
  };
  const family = (name: string, help: string, type: Family["type"]): Family => {
    let found = families.get(name);
    if (!found) {
      found = { help, type, values: new Map(), rows: new Map(), buckets: SECONDS, read: undefined };
      families.set(name, found);
    }
    if (found.type !== type) throw new TypeError(`Metric ${name} is a ${found.type}`);
    return found;
  };
  return {
    counter(name, help) {
      const { values } = family(name, help, "counter");
      return {
        inc(labels, by = 1) {
          const key = renderLabels(labels);
          values.set(key, (values.get(key) ?? 0) + by);
        },
      };
    },
    gauge(name, help, read) {
      const own = family(name, help, "gauge");
      own.read = read ?? own.read;
      return { set: (value, labels) => void own.values.set(renderLabels(labels), value) };
    },
    histogram(name, help, buckets) {
      const own = family(name, help, "histogram");
      if (buckets) own.buckets = buckets;
      return { observe: (value, labels) => observe(own, renderLabels(labels), value) };
    },
    append(render) {
      appended.push(render);
    },
    render() {
      const lines: string[] = [];
      for (const [name, own] of families) {
        lines.push(`# HELP ${name} ${own.help}`, `# TYPE ${name} ${own.type}`);
        if (own.read) own.values.set("", own.read());
        for (const [labels, value] of own.values) lines.push(`${name}${braces(labels)} ${value}`);
        for (const row of own.rows.values()) lines.push(...renderHistogram(name, own, row));
      }
      return lines.join("\n") + "\n" + appended.map((more) => more()).join("");
    },
  };
}

function observe(own: Family, labels: string, value: number): void {
  let row = own.rows.get(labels);
  if (!row) {
    row = { labels, counts: own.buckets.map(() => 0), sum: 0, count: 0 };
    own.rows.set(labels, row);
  }
  row.sum += value;
  row.count++;
  const index = own.buckets.findIndex((bound) => value <= bound);
  if (index >= 0) row.counts[index] = (row.counts[index] ?? 0) + 1;
}

function renderHistogram(name: string, own: Family, row: HistogramRow): string[] {
  const comma = row.labels === "" ? "" : ",";
  let total = 0;
  const lines = own.buckets.map((bound, index) => {
    total += row.counts[index] ?? 0;
    return `${name}_bucket{${row.labels}${comma}le="${bound}"} ${total}`;
  });
  lines.push(`${name}_bucket{${row.labels}${comma}le="+Inf"} ${row.count}`);
  lines.push(`${name}_sum${braces(row.labels)} ${row.sum}`);
  lines.push(`${name}_count${braces(row.labels)} ${row.count}`);
  return lines;
}

function labelText(labels: Labels): string {
  const escape = (text: string) =>
    text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return Object.entries(labels).map(([key, value]) => `${key}="${escape(value)}"`).join(",");
}

function braces(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}
