/**
 * Metrics that workflows define, in the Prometheus text format, as this replica saw them since it started. Their names and
 * labels are users' choice, so what is kept is bounded: the series that was told longest ago goes first.
 */
import type { MetricSample } from "../engine/effect.ts";

/** What the reference puts in front of every name. */
const PREFIX = "argo_workflows_";
/** Series at most, of all metrics together. */
const MAX_SERIES = 10_000;

interface Family {
  type: MetricSample["type"];
  help: string;
  /** Of a histogram. */
  buckets: number[];
}

interface Series {
  family: string;
  labels: string;
  value: number;
  /** Epoch ms from which a real-time gauge counts, by who it counts for. */
  clocks: Map<string, number>;
  counts: number[];
  count: number;
}

export interface WorkflowMetrics {
  /** Takes a value in. False when a metric of this name is of another type or says another thing about itself. */
  observe(sample: MetricSample): boolean;
  /** All series, empty when there are none. */
  render(nowMs: number): string;
}

/** Makes an empty registry. */
export function createWorkflowMetrics(maxSeries = MAX_SERIES): WorkflowMetrics {
  const families = new Map<string, Family>();
  const series = new Map<string, Series>();
  return {
    observe(sample) {
      const name = PREFIX + sample.name;
      const family = familyOf(families, name, sample);
      if (family === undefined) return false;
      const labels = labelText(sample.labels);
      const id = `${name}{${labels}}`;
      const own = series.get(id) ??
        { family: name, labels, value: 0, clocks: new Map(), counts: [], count: 0 };
      // Deleted and set again: the first in the map is the one that was told longest ago.
      series.delete(id);
      series.set(id, own);
      take(own, family, sample);
      for (const [oldest] of series) {
        if (series.size <= maxSeries) break;
        series.delete(oldest);
      }
      return true;
    },
    render(nowMs) {
      const lines: string[] = [];
      const byFamily = Map.groupBy(series.values(), ({ family }) => family);
      for (const [name, family] of families) {
        const all = byFamily.get(name);
        if (all === undefined) continue;
        lines.push(`# HELP ${name} ${helpText(family.help)}`, `# TYPE ${name} ${family.type}`);
        for (const one of all) lines.push(...seriesLines(name, family, one, nowMs));
      }
      return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
    },
  };
}

function familyOf(
  families: Map<string, Family>,
  name: string,
  { type, help, buckets = [] }: MetricSample,
): Family | undefined {
  const known = families.get(name);
  if (known === undefined) {
    const made: Family = { type, help, buckets: [...new Set(buckets)].sort((a, b) => a - b) };
    families.set(name, made);
    return made;
  }
  const isSame = known.type === type && known.help === help;
  return isSame ? known : undefined;
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
  else if (since !== undefined) own.clocks.set(key ?? "", since);
  else {
    if (key !== undefined) own.clocks.delete(key);
    if (operation === "Add") own.value += value;
    else if (operation === "Sub") own.value -= value;
    else own.value = value;
  }
}

function seriesLines(name: string, { type, buckets }: Family, own: Series, now: number): string[] {
  const braces = own.labels === "" ? "" : `{${own.labels}}`;
  if (type !== "histogram") {
    // Of several that count at once, the one that began last is told.
    const since = [...own.clocks.values()].at(-1);
    return [`${name}${braces} ${since === undefined ? own.value : (now - since) / 1000}`];
  }
  const comma = own.labels === "" ? "" : ",";
  return [
    ...buckets.map((bound, index) =>
      `${name}_bucket{${own.labels}${comma}le="${bound}"} ${own.counts[index] ?? 0}`
    ),
    `${name}_bucket{${own.labels}${comma}le="+Inf"} ${own.count}`,
    `${name}_sum${braces} ${own.value}`,
    `${name}_count${braces} ${own.count}`,
  ];
}

function labelText(labels: Record<string, string>): string {
  return Object.entries(labels).sort(([a], [b]) => a < b ? -1 : 1)
    .map(([key, value]) => `${key}="${helpText(value).replaceAll('"', '\\"')}"`).join(",");
}

function helpText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}
