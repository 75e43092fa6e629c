/** Rows of the list of workflows: what a row needs, their order, and what the filters leave. */
import type { Workflow } from "../../../spec/manifest.ts";
import {
  choicesFrom,
  PHASE_CHOICES,
  type PhaseChoice,
  phaseOf,
  WORKFLOW_PHASES,
  type WorkflowPhaseName,
} from "./phases.ts";
import { timeOf } from "./times.ts";

/** Members of a workflow that every row needs. */
const ROW_FIELDS = [
  "metadata.name",
  "metadata.namespace",
  "metadata.creationTimestamp",
  "metadata.resourceVersion",
  "spec.suspend",
  "status.phase",
  "status.startedAt",
  "status.finishedAt",
  "status.progress",
  "status.message",
  "status.waitsSince",
] as const;

/** Members that only some lists show. They may be large, and come with every change, so other lists do not ask for them. */
export type ExtraField = "metadata.labels" | "spec.arguments";

/**
 * Members of a workflow that a list asks for.
 *
 * @param shown in its columns, in any order
 * @param prefix of labels and annotations
 */
export function rowFields(
  shown: readonly ExtraField[],
  { parameter }: Pick<Filters, "parameter">,
  prefix: string,
): string[] {
  const extra = new Set(shown);
  if (parameter !== "") extra.add("spec.arguments");
  // Of the annotations the title alone: others may be large.
  return [...ROW_FIELDS, `metadata.annotations.${prefix}title`, ...[...extra].sort()];
}

export interface Row {
  /** Namespace and name. */
  key: string;
  workflow: Workflow;
}

export function rowOf(workflow: Workflow): Row {
  const { namespace = "", name = "" } = workflow.metadata;
  return { key: `${namespace}/${name}`, workflow };
}

/** What the filters of the list ask for; "" and empty lists ask for nothing. */
export interface Filters {
  namespace: string;
  /** Some phases, or only what waits. */
  phases: readonly PhaseChoice[];
  /** Part of the name. */
  name: string;
  /** A label selector. */
  labels: string;
  /** Name of a workflow template. */
  template: string;
  /** Only workflows that were made so long ago at most: `1h`, `24h`, `7d`. */
  since: string;
  /** `NAME=VALUE` of a parameter, or `NAME`. */
  parameter: string;
}

/** Reads the filters from the query of the page. */
export function filtersFrom(query: URLSearchParams): Filters {
  const text = (key: string) => query.get(key) ?? "";
  return {
    namespace: text("namespace"),
    phases: choicesFrom(text("phase")),
    name: text("name"),
    labels: text("label"),
    template: text("template"),
    since: text("since"),
    parameter: text("parameter"),
  };
}

const SINCE_MS: Record<string, number> = {
  "1h": 3600e3,
  "24h": 24 * 3600e3,
  "7d": 7 * 24 * 3600e3,
};
/** Choices of the filter by time. */
export const SINCE_CHOICES: readonly string[] = Object.keys(SINCE_MS);

/** The oldest creation that is shown, epoch ms; undefined: any. */
export function createdAfter({ since }: Pick<Filters, "since">, now: number): number | undefined {
  const span = SINCE_MS[since];
  return span === undefined ? undefined : now - span;
}

/** Tells whether only workflows with a step that waits are asked for, which stand in another order: the longest wait first. */
export function areWaits({ phases }: Pick<Filters, "phases">): boolean {
  return phases.includes("Waiting");
}

/** The label selector that the server is asked with. */
export function labelSelector(filters: Filters, prefix: string): string {
  const { phases, labels, template } = filters;
  const terms: string[] = [];
  if (phases.length > 0 && phases.length < WORKFLOW_PHASES.length && !areWaits(filters)) {
    // A workflow that has not begun has no such label yet, so it is found by what it is not.
    const others = WORKFLOW_PHASES.filter((phase) => !phases.includes(phase));
    terms.push(
      phases.includes("Pending")
        ? `${prefix}phase notin (${others.join(",")})`
        : `${prefix}phase in (${phases.join(",")})`,
    );
  }
  if (template !== "") terms.push(`${prefix}workflow-template=${template}`);
  if (labels !== "") terms.push(labels);
  return terms.join(",");
}

/** Tells whether a row passes those filters that a watch does not apply itself. */
export function passes({ workflow }: Row, filters: Filters, after: number | undefined): boolean {
  const { name = "", creationTimestamp } = workflow.metadata;
  if (filters.name !== "" && !name.includes(filters.name)) return false;
  if (after !== undefined && (timeOf(creationTimestamp) ?? 0) < after) return false;
  return hasParameter(workflow, filters.parameter);
}

function hasParameter({ spec }: Workflow, wanted: string): boolean {
  if (wanted === "") return true;
  const at = wanted.indexOf("=");
  const [name, value] = at < 0 ? [wanted, undefined] : [wanted.slice(0, at), wanted.slice(at + 1)];
  return (spec?.arguments?.parameters ?? []).some((one) =>
    one.name === name && (value === undefined || String(one.value ?? "") === value)
  );
}

/** Newest first, as the server lists them; the key decides between those of the same second. */
export function compareRows(a: Row, b: Row): number {
  const [left, right] = [createdText(a), createdText(b)];
  if (left !== right) return left > right ? -1 : 1;
  return a.key === b.key ? 0 : a.key > b.key ? -1 : 1;
}

/** What waits longest first, as the server lists what waits; the key decides between those of the same moment. */
export function compareWaits(a: Row, b: Row): number {
  const [left, right] = [waitText(a), waitText(b)];
  if (left !== right) return left < right ? -1 : 1;
  return a.key === b.key ? 0 : a.key > b.key ? -1 : 1;
}

function waitText({ workflow }: Row): string {
  return workflow.status?.waitsSince ?? "";
}

function createdText({ workflow }: Row): string {
  return workflow.metadata.creationTimestamp ?? "";
}

/** One bar: how many workflows of each phase were made in its span. */
export interface Bar {
  from: number;
  to: number;
  /** What waits is not counted as running, as far as it is known. */
  counts: Partial<Record<PhaseChoice, number>>;
  total: number;
}

/** Workflows by the time in which they were made. */
export interface BarChart {
  bars: Bar[];
  /** Over all bars. */
  counts: Partial<Record<PhaseChoice, number>>;
  total: number;
  /** Nobody knows how many of those that are counted as running wait. */
  isVague?: true;
  /** Only the newest workflows were counted: so many were looked at. */
  examined?: number;
}

/** What changes in a list. */
export interface RowChanges {
  put: ReadonlyMap<string, Row>;
  gone: ReadonlySet<string>;
}

/** Rows with some replaced and others gone, in order. */
export function mergedRows(
  rows: readonly Row[],
  { put, gone }: RowChanges,
  compare: typeof compareRows,
): Row[] {
  const kept = rows.filter(({ key }) => !put.has(key) && !gone.has(key));
  return [...kept, ...put.values()].sort(compare);
}

/** While others come, a list keeps so many rows, or as many as somebody has asked for. */
const MOST_ROWS = 2_000;

/**
 * The rows of a list after changes.
 * @param hasMore there are further pages: what comes after the last row is left to them
 * @returns also whether the last ones had to go
 */
export function changedRows(
  rows: readonly Row[],
  changes: RowChanges,
  hasMore: boolean,
  compare: typeof compareRows = compareRows,
): { rows: Row[]; isCut: boolean } {
  const all = mergedRows(rows, changes, compare);
  const last = hasMore ? rows.at(-1) : undefined;
  const shown = last === undefined ? all : all.filter((row) => compare(row, last) <= 0);
  const most = Math.max(MOST_ROWS, rows.length);
  return { rows: shown.slice(0, most), isCut: shown.length > most };
}

/** What the API answers about counts. */
export interface CountAnswer {
  from: string;
  spanSeconds: number;
  phases: Partial<Record<WorkflowPhaseName, number[]>>;
  waiting?: number;
  waitingSpans?: number[];
  examined?: number;
}

/** The chart of what the server has counted. */
export function chartOf(answer: CountAnswer): BarChart {
  const { from, spanSeconds, phases, waiting, waitingSpans = [], examined } = answer;
  const begin = timeOf(from) ?? 0;
  const bars: Bar[] = [];
  for (const phase of WORKFLOW_PHASES) {
    for (const [at, count] of (phases[phase] ?? []).entries()) {
      const start = begin + at * spanSeconds * 1000;
      const bar = bars[at] ??= {
        from: start,
        to: start + spanSeconds * 1000,
        counts: {},
        total: 0,
      };
      add(bar, phase, count);
    }
  }
  for (const [at, count] of waitingSpans.entries()) moveToWaiting(bars[at], count);
  const chart = withTotals(bars, examined);
  if (waiting === undefined) return { ...chart, isVague: true };
  moveToWaiting(chart, waiting - (chart.counts.Waiting ?? 0));
  return chart;
}

/** Both were counted one after the other, so for a moment more may wait than run. */
function moveToWaiting(of: Pick<Bar, "counts"> | undefined, count: number): void {
  const { Running: running = 0, Waiting: waiting = 0 } = of?.counts ?? {};
  const moved = Math.min(running, count);
  if (of !== undefined && moved > 0) {
    of.counts.Running = running - moved;
    of.counts.Waiting = waiting + moved;
  }
}

function add(bar: Bar, phase: PhaseChoice, count: number): void {
  bar.counts[phase] = (bar.counts[phase] ?? 0) + count;
  bar.total += count;
}

function withTotals(bars: Bar[], examined?: number): BarChart {
  const whole: Bar = { from: 0, to: 0, counts: {}, total: 0 };
  for (const { counts } of bars) {
    for (const phase of PHASE_CHOICES) add(whole, phase, counts[phase] ?? 0);
  }
  const { counts, total } = whole;
  return { bars, counts, total, ...(examined !== undefined && { examined }) };
}

/** The chart of rows, where the server cannot count. @param most number of bars @param isPart there are more than these rows */
export function chartOfRows(rows: readonly Row[], most: number, isPart: boolean): BarChart {
  const times = rows.map(({ workflow }) => timeOf(workflow.metadata.creationTimestamp) ?? 0);
  if (times.length === 0) return withTotals([]);
  const from = times.reduce((a, b) => Math.min(a, b));
  const to = times.reduce((a, b) => Math.max(a, b)) + 1000;
  const width = Math.max(1000, Math.ceil((to - from) / most / 1000) * 1000);
  const bars: Bar[] = [];
  for (let at = from; at < to; at += width) {
    bars.push({ from: at, to: at + width, counts: {}, total: 0 });
  }
  for (const [index, row] of rows.entries()) {
    const bar = bars[Math.floor(((times[index] ?? 0) - from) / width)];
    if (bar !== undefined) add(bar, waitText(row) === "" ? phaseOf(row.workflow) : "Waiting", 1);
  }
  return withTotals(bars, isPart ? rows.length : undefined);
}
