/** Lists of workflows: filters, pages, order. */
import { isArchivedActor } from "../../actors/actor_ids.ts";
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid } from "../../base/problem.ts";
import { parseWorkflowFieldSelector } from "../../expr/selectors/workflow_field_selector.ts";
import { parseLabelSelector } from "../../expr/selectors/label_selector.ts";
import { parseRequestTime } from "../../expr/values/request_time.ts";
import { Turns } from "../../platform/turns.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { sizeOfParts } from "../../store/list_query.ts";
import type { ListPage, ListQuery } from "../../store/port.ts";
import { requireWorkflowList } from "../access.ts";
import { type PageStart, parseContinueToken, tokenAfter } from "../continue_token.ts";
import type { ServiceDeps } from "../deps.ts";
import { MAX_PAGE_SIZE } from "../page_size.ts";
import { cursorAfter, listOf, listOfName, pageFrom } from "./pages.ts";
import { workflowSteps } from "./stored_workflow.ts";
import { withWait } from "./waits.ts";

export interface WorkflowListRequest {
  /** "" lists all namespaces. */
  namespace: string;
  labelSelector?: string;
  fieldSelector?: string;
  limit?: number;
  continue?: string;
  /** How the name of the field selector is compared: `Exact` (default), `Contains`, `Prefix`, `NotEquals`. */
  nameFilter?: string;
  createdAfter?: string;
  finishedBefore?: string;
  /** `NAME` or `NAME=VALUE`: only workflows that were given this parameter. */
  parameter?: string;
  /** Only workflows with a step that waits, the one that waits longest first. */
  waiting?: boolean;
  /** Nodes are not wanted, so they are not even loaded. */
  withoutNodes?: boolean;
  /** Starts and ends are shown in milliseconds. */
  exactTimes?: boolean;
  /** It is shown since when a step waits. */
  waits?: boolean;
}

export interface WorkflowPage {
  items: Workflow[];
  continue?: string;
  /** How many come after the page, if asked for. */
  remaining?: number;
  /** The archive did not answer, so what it has is missing. */
  isWithoutArchive?: true;
  version: string;
}

/** How `nameFilter` compares the name of the field selector. */
const NAME_MATCHES: Readonly<Record<string, NameMatch>> = {
  "": "exact",
  Exact: "exact",
  Contains: "contains",
  Prefix: "prefix",
  NotEquals: "not",
};

/** Most entries that are examined for one page. */
const MAX_SCAN = 5_000;
/** Most workflows that are read for a page with a filter that no index knows, and how many together at least. */
const MAX_READ = 1_000;
const MIN_READ = 100;
const NO_OFFSET: PageStart = { offset: 0 };

/** Lists workflows, unfinished ones first. */
export async function listWorkflows(
  deps: ServiceDeps,
  caller: Caller,
  request: WorkflowListRequest,
): Promise<WorkflowPage> {
  const { query, showRemaining } = workflowQuery(request);
  const { limit } = query;
  const from = parseContinueToken(request.continue);
  await requireWorkflowList(caller, query.namespace ?? "");
  if (request.waiting === true || request.waits === true) deps.olderWaits?.begin();
  const isWanted = parameterFilter(request.parameter ?? "");
  const parameter = indexedParameter(deps, request.parameter ?? "");
  if (parameter !== undefined) query.parameter = parameter;
  if (isWanted !== undefined && limit > 0) query.limit = Math.max(limit, MIN_READ);
  const first = bounded({ ...query, count: showRemaining });
  const list = deps.settings.archive && query.name?.match === "exact"
    ? listOfName(deps, query.name.value)
    : listOf(deps);
  let page = await deps.workflows.page(() => pageFrom(list, from, first), sizeOfPage);
  const { version } = page;
  let { isWithoutArchive } = page;
  const how: Shown = { query, isWanted, exactTimes: request.exactTimes, waits: request.waits };
  const items = await shownItems(deps, page, how);
  for (
    let read = query.limit;
    isWanted !== undefined && items.length < limit;
    read += query.limit
  ) {
    if (page.continue === undefined || read >= MAX_READ) break;
    const next = { ...bounded(query), continue: page.continue };
    page = await deps.workflows.page(() => list(next), sizeOfPage);
    isWithoutArchive ??= page.isWithoutArchive;
    for (const item of await shownItems(deps, page, how)) items.push(item);
  }
  const shown = limit > 0 ? items.slice(0, limit) : items;
  const last = shown.at(-1);
  const next = shown.length < items.length && last !== undefined ? last.next : page.continue;
  // As in the reference, who sends an offset learns only on request that there is more after a full page.
  const isLast = from.offset > 0 && limit > 0 && shown.length === limit && !showRemaining;
  return {
    items: inOrder(shown.map(({ workflow }) => workflow), request),
    version,
    ...defined({
      isWithoutArchive,
      // Offsets count also what the filter has left out.
      continue: isLast ? undefined : tokenAfter(isWanted ? NO_OFFSET : from, shown.length, next),
      remaining: showRemaining && limit > 0 && isWanted === undefined
        ? remainingOf(page)
        : undefined,
    }),
  };
}

/** How many workflows come after a page; undefined where nobody counts them: the archive has more. */
export function remainingOf({ remaining, continue: next }: ListPage): number | undefined {
  return remaining ?? (next === undefined ? 0 : undefined);
}

/** Which items of a page are shown, and how. */
interface Shown {
  query: ListQuery;
  isWanted: ((workflow: Workflow) => boolean) | undefined;
  exactTimes: boolean | undefined;
  waits: boolean | undefined;
}

/** Items as a list shows them: steps that wait come in the order of the store. */
function inOrder(items: Workflow[], { waiting }: WorkflowListRequest): Workflow[] {
  return waiting === true ? items : items.sort(compareShown);
}

interface ShownItem {
  workflow: Workflow;
  /** The cursor that continues after it. */
  next: string;
}

/** The items of a page as they are shown. */
async function shownItems(
  deps: ServiceDeps,
  page: ListPage,
  { query, isWanted, exactTimes, waits }: Shown,
): Promise<ShownItem[]> {
  const items: ShownItem[] = [];
  const turns = new Turns();
  for (const item of page.items) {
    if (!deps.settings.archive && isArchivedActor(item.id)) continue;
    const known = { index: item.index, onUnreadable: deps.onUnreadable, exactTimes };
    const workflow = await turns.run(workflowSteps(item, known));
    if (isWanted?.(workflow) !== false) {
      items.push({
        workflow: isArchivedActor(item.id)
          ? reducedWorkflow(workflow)
          : waits === true
          ? withWait(workflow, item.index.waitsSince)
          : workflow,
        next: cursorAfter(item, query),
      });
    }
    // While a list has thousands of items, others get their turn.
    await turns.pause();
  }
  return items;
}

/** Tells which workflows were given a parameter; undefined: any. @param wanted `NAME` or `NAME=VALUE` */
function parameterFilter(wanted: string): ((workflow: Workflow) => boolean) | undefined {
  if (wanted === "") return undefined;
  const at = wanted.indexOf("=");
  const [name, value] = at < 0 ? [wanted, undefined] : [wanted.slice(0, at), wanted.slice(at + 1)];
  return ({ spec }) =>
    (spec.arguments?.parameters ?? []).some((one) =>
      one.name === name && (value === undefined || String(one.value ?? "") === value)
    );
}

/** The parameter and value by which the archive finds workflows; undefined when it cannot, or there is none. */
function indexedParameter(
  { settings, history }: ServiceDeps,
  wanted: string,
): ListQuery["parameter"] {
  const at = wanted.indexOf("=");
  const name = wanted.slice(0, at);
  if (history === undefined || at < 0) return undefined;
  if (settings.archiveIndexParameters?.includes(name) !== true) return undefined;
  return { name, value: wanted.slice(at + 1) };
}

/** Characters of stored text in a page. */
export function sizeOfPage({ items }: ListPage): number {
  return items.reduce((sum, { parts }) => sum + sizeOfParts(parts), 0);
}

/** The store's query for a list request. */
export function workflowQuery(
  request: WorkflowListRequest,
): { query: ListQuery; showRemaining: boolean } {
  const fields = parseWorkflowFieldSelector(request.fieldSelector ?? "");
  const labels = parseLabelSelector(request.labelSelector ?? "");
  if (
    request.namespace !== "" && fields.namespace !== undefined &&
    fields.namespace !== request.namespace
  ) {
    throw invalid(
      `'namespace' query param ("${request.namespace}") and fieldselector 'metadata.namespace' ` +
        `("${fields.namespace}") are both specified and contradict each other`,
    );
  }
  const namespace = request.namespace === "" ? fields.namespace ?? "" : request.namespace;
  const name = nameQuery(fields.name, fields.notName, nameMatch(request));
  return {
    query: {
      kind: "wf",
      limit: Math.max(0, request.limit ?? 0),
      ...defined({
        namespace: namespace || undefined,
        notNamespace: fields.notNamespace,
        name,
        labels: labels.length === 0 ? undefined : labels,
        startedAfter: fields.startedAfter,
        startedBefore: withWholeSecond(fields.startedBefore),
        createdAfter: parseBound(request.createdAfter),
        finishedBefore: withWholeSecond(parseBound(request.finishedBefore)),
        withoutNodes: request.withoutNodes,
        waiting: request.waiting === true ? true : undefined,
      }),
    },
    showRemaining: fields.showRemaining === true,
  };
}

type NameMatch = NonNullable<ListQuery["name"]>["match"];

/**
 * How the name is compared. An unknown way is ignored if there is a field selector, which clients of the reference rely on.
 */
function nameMatch({ nameFilter = "", fieldSelector = "" }: WorkflowListRequest) {
  if (Object.hasOwn(NAME_MATCHES, nameFilter)) return NAME_MATCHES[nameFilter];
  if (fieldSelector !== "") return undefined;
  throw invalid(`unknown nameFilter "${nameFilter}": use Exact, Contains, Prefix or NotEquals`);
}

function nameQuery(
  name: string | undefined,
  notName: string | undefined,
  match: NameMatch | undefined,
): ListQuery["name"] | undefined {
  if (notName !== undefined) return { value: notName, match: "not" };
  return name === undefined || match === undefined ? undefined : { value: name, match };
}

function parseBound(text: string | undefined): number | undefined {
  return text === undefined || text === "" ? undefined : parseRequestTime(text);
}

/** An upper bound. One in whole seconds includes all that is shown with it: clients see no milliseconds. */
function withWholeSecond(bound: number | undefined): number | undefined {
  return bound !== undefined && bound % 1000 === 0 ? bound + 999 : bound;
}

/** A query with the bounds of one page. */
function bounded(query: ListQuery): ListQuery {
  const sized = { ...query, maxSize: MAX_PAGE_SIZE };
  return query.limit > 0 ? { ...sized, maxScan: MAX_SCAN } : sized;
}

/** Unfinished workflows by creation, then finished ones by their end; newest first. */
function compareShown(a: Workflow, b: Workflow): number {
  const [left, right] = [finishedText(a), finishedText(b)];
  if (left === "" && right === "") return compareText(createdText(b), createdText(a));
  if (left === "") return -1;
  if (right === "") return 1;
  return compareText(right, left);
}

function finishedText(workflow: Workflow): string {
  return workflow.status?.finishedAt ?? "";
}

function createdText(workflow: Workflow): string {
  return workflow.metadata.creationTimestamp ?? "";
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** An archived workflow as lists show it: without templates and nodes. */
export function reducedWorkflow(workflow: Workflow): Workflow {
  const { name, namespace, uid, creationTimestamp, labels, annotations } = workflow.metadata;
  const { suspend, arguments: given } = workflow.spec;
  const status = workflow.status;
  return {
    metadata: defined({ name, namespace, uid, creationTimestamp, labels, annotations }),
    spec: { ...defined({ suspend }), arguments: given ?? {} },
    ...(status !== undefined && { status: reducedStatus(status) }),
  };
}

function reducedStatus(
  { phase, startedAt, finishedAt, progress, message, ...status }: NonNullable<Workflow["status"]>,
): NonNullable<Workflow["status"]> {
  const { estimatedDuration, resourcesDuration } = status;
  return {
    ...defined({ phase }),
    startedAt,
    finishedAt,
    ...defined({ progress, message, estimatedDuration, resourcesDuration }),
  };
}
