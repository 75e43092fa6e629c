/**
 * The Prometheus text format: the names it allows, how texts and numbers are written, and how large a series may be.
 * All lines of `/metrics` are made from these, so that no name, key, value or help text can forge or break a line.
 */

/** The label that says of which process a series is, where several answer on one page. No other series may have it. */
export const PROCESS_LABEL = "sluice_process";

/** Most labels of one series. */
const MAX_LABELS = 32;
/** Most characters of a name, a key or a help text. */
const MAX_NAME = 200;
const MAX_HELP = 1_024;
/** Most characters of all keys and values of one series. */
const MAX_LABEL_TEXT = 4_096;
/** Most upper bounds of one histogram. */
const MAX_BUCKETS = 100;

const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_KEY = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Tells whether a name can be one of a metric: its form, and its length. */
export function isMetricName(name: string): boolean {
  return name.length <= MAX_NAME && METRIC_NAME.test(name);
}

/** What is wrong with a label key, worded to follow its name; undefined for a good key. */
export function labelKeyProblem(key: string, isHistogram = false): string | undefined {
  if (!LABEL_KEY.test(key)) return "keys may only contain alphanumeric characters or '_'";
  if (key.length > MAX_NAME) return `keys have at most ${MAX_NAME} characters`;
  if (key.startsWith("__")) return "keys that begin with '__' belong to Prometheus";
  if (key === PROCESS_LABEL) return `'${key}' is the key of the process that tells a value`;
  if (isHistogram && key === "le") return "'le' is the key of a histogram's buckets";
  return undefined;
}

/** What a series of a metric says about itself. */
export interface SeriesFacts {
  type: string;
  name: string;
  help: string;
  labels: Readonly<Record<string, string>>;
  buckets?: readonly number[];
}

/** Why a series can't be shown, or is too large to keep; undefined when it is fine. */
export function seriesProblem(
  { type, name, help, labels, buckets = [] }: SeriesFacts,
): string | undefined {
  if (!isMetricName(name)) return `'${name.slice(0, MAX_NAME)}' is not a valid name of a metric`;
  if (help.length > MAX_HELP) return `its help has more than ${MAX_HELP} characters`;
  let count = 0;
  let size = 0;
  for (const key in labels) {
    const problem = labelKeyProblem(key, type === "histogram");
    if (problem !== undefined) {
      return `metric label '${key.slice(0, MAX_NAME)}' is invalid: ${problem}`;
    }
    count++;
    size += key.length + (labels[key]?.length ?? 0);
  }
  if (count > MAX_LABELS) return `it has more than ${MAX_LABELS} labels`;
  if (size > MAX_LABEL_TEXT) {
    return `its labels have more than ${MAX_LABEL_TEXT} characters together`;
  }
  if (buckets.length > MAX_BUCKETS) return `it has more than ${MAX_BUCKETS} buckets`;
  if (!buckets.every(Number.isFinite)) return "the bounds of its buckets must be finite numbers";
  return undefined;
}

/** Names of the lines that a metric writes; no other metric may use any of them. */
export function lineNames(name: string, type: string): string[] {
  return type === "histogram" ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}

/** The two lines before the series of a metric. */
export function headLines(name: string, help: string, type: string): string[] {
  return [`# HELP ${name} ${helpText(help)}`, `# TYPE ${name} ${type}`];
}

/** Labels as they appear between the braces. Keys must be valid. */
export function labelText(labels: Iterable<readonly [key: string, value: string]>): string {
  const texts: string[] = [];
  for (const [key, value] of labels) {
    texts.push(`${key}="${helpText(value).replaceAll('"', '\\"')}"`);
  }
  return texts.join(",");
}

/** A line of one value. @param labels as `labelText` gives them */
export function valueLine(name: string, labels: string, value: number): string {
  return labels === "" ? `${name} ${numberText(value)}` : `${name}{${labels}} ${numberText(value)}`;
}

/**
 * The lines of one histogram.
 * @param cumulative number of observations up to each bound
 */
export function histogramLines(
  name: string,
  labels: string,
  bounds: readonly number[],
  cumulative: (index: number) => number,
  { sum, count }: { sum: number; count: number },
): string[] {
  const before = labels === "" ? "" : `${labels},`;
  return [
    ...bounds.map((bound, index) =>
      valueLine(`${name}_bucket`, `${before}le="${numberText(bound)}"`, cumulative(index))
    ),
    valueLine(`${name}_bucket`, `${before}le="+Inf"`, count),
    valueLine(`${name}_sum`, labels, sum),
    valueLine(`${name}_count`, labels, count),
  ];
}

function helpText(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function numberText(value: number): string {
  return Number.isFinite(value)
    ? String(value)
    : Number.isNaN(value)
    ? "NaN"
    : value > 0
    ? "+Inf"
    : "-Inf";
}
