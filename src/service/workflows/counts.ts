/**
 * How many workflows of each phase were created when. Indexes of the store and rollups of the archive know it for all
 * workflows, those of a namespace and those of a phase; other questions are answered by looking through the newest ones.
 */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid, isProblem, ProblemCode } from "../../base/problem.ts";
import { type LabelTerm, matchesLabels } from "../../expr/selectors/label_selector.ts";
import { type Naming, phaseLabel } from "../../spec/naming.ts";
import type { IndexEntry, ListQuery, Store } from "../../store/port.ts";
import { requireWorkflowList } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { countBoth, type SpanCounts } from "../history/both_counts.ts";
import { KEEP_MS, type WorkflowCounts } from "./known_counts.ts";
import { type WorkflowListRequest, workflowQuery } from "./list.ts";

export interface CountRequest extends WorkflowListRequest {
  /** Number of spans. @default {60} */
  bars?: number;
}

const DEFAULT_BARS = 60;
const MOST_BARS = 200;
/** Workflows that are looked at where no index answers, and how many at a time. */
const MOST_EXAMINED = 10_000;
const PAGE = 1_000;
/** Phases of workflows, and "" for one that has none yet. */
const PHASES = ["", "Pending", "Running", "Succeeded", "Failed", "Error"];
/** All times that there are, epoch ms. */
export const EVER = [-8.64e15, 8.64e15];

/**
 * Counts the workflows that a list with the same request shows.
 * @throws {Problem} InvalidArgument, PermissionDenied
 */
export async function countWorkflows(
  deps: ServiceDeps,
  caller: Caller,
  request: CountRequest,
): Promise<WorkflowCounts> {
  const { query } = workflowQuery(request);
  await requireWorkflowList(caller, query.namespace ?? "");
  const bars = request.bars ?? DEFAULT_BARS;
  if (!Number.isInteger(bars) || bars < 1 || bars > MOST_BARS) {
    throw invalid(`bars must be a number from 1 to ${MOST_BARS}, not ${bars}`);
  }
  const now = deps.clock.now();
  // A page that shows the last hour asks with another second each time.
  const since = query.createdAfter === undefined
    ? undefined
    : Math.floor(query.createdAfter / KEEP_MS) * KEEP_MS;
  const { createdAfter: _, ...others } = query;
  const key = JSON.stringify([others, since, bars]);
  return await deps.counts.get(
    key,
    async () =>
      await fromIndexes(deps, query, bars, now) ?? await fromNewest(deps.store, query, bars, now),
  );
}

/** The same from the store alone if the archive does not answer. */
async function fromIndexes(
  deps: ServiceDeps,
  query: ListQuery,
  bars: number,
  now: number,
): Promise<WorkflowCounts | undefined> {
  const { history } = deps;
  try {
    return await fromBoth(deps, query, bars, now);
  } catch (error) {
    const isAway = isProblem(error, ProblemCode.Unavailable);
    if (!isAway || history === undefined) throw error;
    const { history: _history, ...rest } = deps;
    const counts = await fromBoth({ ...rest, store: history.live }, query, bars, now);
    return counts && { ...counts, isWithoutArchive: true };
  }
}

/** A question that indexes and rollups may answer. */
interface Plain {
  namespace: string | undefined;
  createdAfter: number | undefined;
  /** What is asked of the label that holds the phase. */
  ofPhase: LabelTerm[];
}

function plainOf(query: ListQuery, naming: Naming): Plain | undefined {
  const { namespace, createdAfter, labels = [], kind: _kind, limit: _limit, ...filters } = query;
  if (Object.keys(filters).length > 0) return undefined;
  if (labels.some(({ key }) => key !== phaseLabel(naming))) return undefined;
  return { namespace, createdAfter, ofPhase: labels };
}

/** Answers from the store's order and the rollups of the archive; undefined when they cannot. */
async function fromBoth(
  { store, history, settings: { naming } }: ServiceDeps,
  query: ListQuery,
  bars: number,
  now: number,
): Promise<WorkflowCounts | undefined> {
  const plain = plainOf(query, naming);
  if (plain === undefined) return undefined;
  const { namespace, createdAfter, ofPhase } = plain;
  const live = history?.live ?? store;
  const all = await live.query.count({}, EVER);
  // No order knows both namespace and phase, but a namespace may be all there is.
  const isAll = namespace === undefined ||
    (await live.query.count({ namespace }, EVER)).counts[0] === all.counts[0];
  // With an archive, few are in the store.
  if (!isAll && history === undefined) return undefined;
  const oldest = createdAfter ?? Math.min(
    all.oldest ?? now,
    (await history?.archive.createdCounts([], namespace))?.oldest ?? now,
  );
  const spans = spansOf(oldest, now, bars);
  const bounds = boundsOf(spans);
  let examined: number | undefined;
  let waits: Waits = {};
  const countLive = async () => {
    if (isAll) {
      waits = await waitsOf(live, query, spans);
      return await countPhases(live, bounds);
    }
    const found = await newest(live, { ...query, labels: [] });
    examined = found.examined;
    waits = waitsIn(found.entries, spans);
    return countEntries(found.entries, spans);
  };
  const counts = history === undefined
    ? await countLive()
    : await countBoth(history, { bounds, namespace }, countLive);
  // Only what runs can wait.
  if (!matchesLabels(ofPhase, { [phaseLabel(naming)]: "Running" })) waits = { waiting: 0 };
  return { ...shown(spans, counts, naming, ofPhase), ...waits, ...defined({ examined }) };
}

/** Looks through the newest workflows. */
async function fromNewest(
  store: Store,
  query: ListQuery,
  bars: number,
  now: number,
): Promise<WorkflowCounts> {
  const { entries, ...about } = await newest(store, query);
  const oldest = entries.reduce((time, { createdAt }) => Math.min(time, createdAt), now);
  const spans = spansOf(query.createdAfter ?? oldest, now, bars);
  const waits = waitsIn(entries, spans);
  return { ...shown(spans, countEntries(entries, spans)), ...waits, ...defined(about) };
}

type Waits = Pick<WorkflowCounts, "waiting" | "waitingSpans">;

/** The waits of the whole store. Their order is not that of creation, so when workflows were made that wait is known only of a few. */
async function waitsOf(
  { query: store }: Pick<Store, "query">,
  query: ListQuery,
  spans: Spans,
): Promise<Waits> {
  const { counts: [waiting = 0] } = await store.count({ waiting: true }, EVER);
  if (waiting === 0) return { waiting };
  if (waiting <= PAGE) {
    const few = { ...query, labels: [], waiting: true, limit: PAGE, maxScan: PAGE, parts: [] };
    const page = await store.list(few);
    if (page.continue === undefined) return waitsIn(page.items.map(({ index }) => index), spans);
  }
  return query.createdAfter === undefined ? { waiting } : {};
}

function waitsIn(entries: readonly IndexEntry[], spans: Spans): Waits {
  const waiting = entries.filter(({ waitsSince }) => waitsSince !== undefined);
  const [waitingSpans] = Object.values(
    countEntries(waiting.map(({ createdAt }) => ({ phase: "Running", createdAt })), spans),
  );
  return { waiting: waiting.length, ...defined({ waitingSpans }) };
}

/** The newest workflows, or those that wait longest if only waiting ones are asked for, and how many were looked at if that was not all. */
async function newest(
  { query: store }: Store,
  query: ListQuery,
): Promise<
  { entries: IndexEntry[]; examined: number | undefined; isWithoutArchive: true | undefined }
> {
  const entries: IndexEntry[] = [];
  let isWithoutArchive: true | undefined;
  let examined = 0;
  let next: string | undefined;
  do {
    const page = await store.list({
      ...query,
      limit: PAGE,
      maxScan: PAGE,
      parts: [],
      ...defined({ continue: next }),
    });
    for (const { index } of page.items) entries.push(index);
    isWithoutArchive ??= page.isWithoutArchive;
    next = page.continue;
    examined += PAGE;
  } while (next !== undefined && examined < MOST_EXAMINED);
  return { entries, examined: next === undefined ? undefined : examined, isWithoutArchive };
}

/** Counts the workflows of the store in each span, by phase; under "" those that have none yet. */
export async function countPhases(
  { query }: Pick<Store, "query">,
  bounds: readonly number[],
): Promise<SpanCounts> {
  const counts: SpanCounts = {};
  for (const phase of PHASES) counts[phase] = (await query.count({ phase }, bounds)).counts;
  return counts;
}

function countEntries(
  entries: readonly Pick<IndexEntry, "phase" | "createdAt">[],
  { from, span, bars }: Spans,
): SpanCounts {
  const counts: SpanCounts = {};
  for (const { phase, createdAt } of entries) {
    const bar = Math.max(0, Math.floor((createdAt - from) / span));
    const ofPhase = counts[phase] ??= Array(bars).fill(0);
    if (ofPhase[bar] !== undefined) ofPhase[bar]++;
  }
  return counts;
}

/** The answer: only phases whose label is asked for, and Pending for those that have none yet. */
function shown(
  { from, span, bars }: Spans,
  counts: SpanCounts,
  naming?: Naming,
  ofPhase: readonly LabelTerm[] = [],
): WorkflowCounts {
  const phases: Record<string, number[]> = {};
  for (const phase of PHASES) {
    const labels = phase === "" || naming === undefined ? {} : { [phaseLabel(naming)]: phase };
    const isAsked = matchesLabels(ofPhase, labels);
    const known = phases[phase || "Pending"];
    phases[phase || "Pending"] = Array.from(
      { length: bars },
      (_, bar) => (known?.[bar] ?? 0) + (isAsked ? counts[phase]?.[bar] ?? 0 : 0),
    );
  }
  return { from, span, phases };
}

interface Spans {
  from: number;
  span: number;
  bars: number;
}

function boundsOf({ from, span, bars }: Spans): number[] {
  return Array.from({ length: bars + 1 }, (_, at) => from + at * span);
}

/** Equal spans of whole seconds that reach from one time past another. */
function spansOf(from: number, to: number, bars: number): Spans {
  const begin = Math.floor(Math.min(from, to) / 1_000) * 1_000;
  const span = Math.max(1, Math.ceil((to + 1 - begin) / bars / 1_000)) * 1_000;
  return { from: begin, span, bars };
}
