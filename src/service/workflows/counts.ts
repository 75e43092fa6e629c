/**
 * How many workflows of each phase were created when. The store knows it for all workflows, and for those of one namespace or
 * phase; other questions are answered by looking through the newest ones.
 */
import type { Caller } from "../../auth/port.ts";
import type { IndexEntry, ListQuery, Store } from "../../store/port.ts";
import { requireWorkflowList } from "../access.ts";
import { invalid } from "../../base/problem.ts";
import type { ServiceDeps } from "../deps.ts";
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
      (deps.history ? undefined : await fromIndex(deps.store, query, bars, now)) ??
        await fromNewest(deps.store, query, bars, now),
  );
}

/** Answers from the store's order; undefined when it cannot. */
async function fromIndex(
  store: Store,
  query: ListQuery,
  bars: number,
  now: number,
): Promise<WorkflowCounts | undefined> {
  const { namespace, createdAfter, kind: _kind, limit: _limit, ...filters } = query;
  if (Object.keys(filters).length > 0) return undefined;
  const ever = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
  const all = await store.query.count({}, ever);
  if (namespace !== undefined) {
    // No order knows both namespace and phase, but a namespace may be all there is.
    const own = await store.query.count({ namespace }, ever);
    if (own.counts[0] !== all.counts[0]) return undefined;
  }
  const { from, span } = spansOf(createdAfter ?? all.oldest ?? now, now, bars);
  const bounds = Array.from({ length: bars + 1 }, (_, at) => from + at * span);
  const phases: Record<string, number[]> = {};
  for (const phase of PHASES) {
    const { counts } = await store.query.count({ phase }, bounds);
    const known = phases[phase || "Pending"];
    phases[phase || "Pending"] = counts.map((count, at) => count + (known?.[at] ?? 0));
  }
  return { from, span, phases };
}

/** Looks through the newest workflows. */
async function fromNewest(
  store: Store,
  query: ListQuery,
  bars: number,
  now: number,
): Promise<WorkflowCounts> {
  const found: IndexEntry[] = [];
  let examined = 0;
  let next: string | undefined;
  do {
    const page = await store.query.list({
      ...query,
      limit: PAGE,
      maxScan: PAGE,
      parts: [],
      ...(next !== undefined && { continue: next }),
    });
    for (const { index } of page.items) found.push(index);
    next = page.continue;
    examined += PAGE;
  } while (next !== undefined && examined < MOST_EXAMINED);
  const oldest = found.reduce((time, { createdAt }) => Math.min(time, createdAt), now);
  const { from, span } = spansOf(query.createdAfter ?? oldest, now, bars);
  const phases = Object.fromEntries(
    PHASES.slice(1).map((phase) => [phase, Array.from({ length: bars }, () => 0)]),
  );
  for (const { phase, createdAt } of found) {
    const bar = Math.max(0, Math.floor((createdAt - from) / span));
    const counts = phases[phase || "Pending"];
    if (counts?.[bar] !== undefined) counts[bar]++;
  }
  return { from, span, phases, ...(next !== undefined && { examined }) };
}

/** Equal spans of whole seconds that reach from one time past another. */
function spansOf(from: number, to: number, bars: number): { from: number; span: number } {
  const begin = Math.floor(Math.min(from, to) / 1_000) * 1_000;
  return { from: begin, span: Math.max(1, Math.ceil((to + 1 - begin) / bars / 1_000)) * 1_000 };
}
