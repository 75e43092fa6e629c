/** Watching workflows: what exists first, then every change. */
import { isArchivedActor } from "../../actors/actor_ids.ts";
import { isOlder } from "../../actors/views.ts";
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { matchesFields } from "../../expr/selectors/field_selector.ts";
import {
  type LabelTerm,
  matchesLabels,
  parseLabelSelector,
} from "../../expr/selectors/label_selector.ts";
import { Turns } from "../../platform/turns.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { ListQuery, QueryStore } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { WORKFLOW } from "../kinds.ts";
import { isDeleted } from "../history/archived_form.ts";
import { parseObjectFields } from "../manifests/reads.ts";
import { type Excerpt, watchedParts, type WorkflowChange } from "./change.ts";
import { checkNotAhead, readResourceVersion } from "../resource_version.ts";
import { sizeOfPage } from "./list.ts";
import { getWorkflow, LATEST } from "./reads.ts";
import { workflowSteps } from "./stored_workflow.ts";
import { timeLimit } from "../watch_timeout.ts";

export interface WatchRequest {
  /** "" watches all namespaces. */
  namespace: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Absent or `0`: what exists comes first. Otherwise only changes after this version. */
  resourceVersion?: string;
  /** Ends the watch. */
  timeoutSeconds?: number;
  /** Only workflows with a step that waits: one whose last step goes on disappears. */
  waiting?: boolean;
  /** Starts and ends are shown in milliseconds. */
  exactTimes?: boolean;
}

export interface WatchEvent {
  type: "ADDED" | "MODIFIED" | "DELETED";
  /** To make a form of it may take a while. */
  isLarge: boolean;
  /** The object as text; `write` is called once for all watchers of the same change. */
  textOf(write: (workflow: Workflow) => string): string;
  /** An excerpt; `write` is called once for all watchers of the same change that want the same. */
  excerptOf<Form>(excerpt: Excerpt<Form>): Form;
}

/**
 * How many existing objects are read at a time, and characters of them, unless one alone has more: they are held as long as
 * the client does not read.
 */
const PAGE = 100;
const PAGE_SIZE = 2 ** 16;

/** Characters of a large change. */
const LARGE = 2 ** 14;

/** What a watcher wants to see. */
interface Filter {
  namespace: string;
  /** The one name that can match, if there is one. */
  name: string | undefined;
  labels: LabelTerm[];
  waiting: boolean;
  exactTimes: boolean;
  matches(namespace: string, name: string): boolean;
}

/**
 * Opens a watch. Events that are there at the same time come together. Whatever can be refused is refused before this resolves.
 * @throws {Problem} NotFound when the selected name does not exist
 */
export async function watchWorkflows(
  deps: ServiceDeps,
  caller: Caller,
  request: WatchRequest,
  signal: AbortSignal,
): Promise<AsyncIterable<WatchEvent[]>> {
  const { namespace, waiting = false, exactTimes = false } = request;
  const labels = parseLabelSelector(request.labelSelector ?? "");
  const terms = parseObjectFields(request.fieldSelector ?? "");
  const version = readResourceVersion(request.resourceVersion ?? "");
  await requireAccess(caller, { verb: "watch", resource: WORKFLOW.resource, namespace });
  await checkNotAhead(deps.store.query, version);
  const named = terms.find((term) => term.field === "metadata.name" && term.operator === "=");
  const isFromBeginning = version === "" || version === "0";
  let archived: Workflow | undefined;
  let before: Version | undefined;
  if (named !== undefined) {
    // Whoever waits for its end must see that it was deleted after it was found.
    if (isFromBeginning) before = await deps.store.query.version();
    const found = await getWorkflow(deps, caller, { namespace, name: named.value }, {
      withoutNodes: true,
      exactTimes,
    });
    if (named.value === LATEST) named.value = found.metadata.name ?? "";
    if (isDeleted(found.metadata.labels, deps.settings.naming)) archived = found;
  }
  const filter: Filter = {
    namespace,
    name: named?.value,
    labels,
    waiting,
    exactTimes,
    matches: (at, name) =>
      (namespace === "" || namespace === at) &&
      matchesFields(terms, (field) => field === "metadata.name" ? name : at),
  };
  const until = timeLimit(deps.clock, signal, request.timeoutSeconds);
  return isFromBeginning
    ? fromTheBeginning(deps, filter, until, { archived, before })
    : changes(deps, filter, version, until, new Map());
}

/** What was found of the workflow that is named, if one is. */
interface Named {
  archived: Workflow | undefined;
  /** The version of the store before that. */
  before: Version | undefined;
}

async function* fromTheBeginning(
  deps: ServiceDeps,
  filter: Filter,
  signal: AbortSignal,
  { archived, before }: Named,
): AsyncIterable<WatchEvent[]> {
  // A client that waits for the end of an archived workflow sees that it has ended.
  const isWanted = archived !== undefined && !filter.waiting &&
    matchesLabels(filter.labels, archived.metadata.labels ?? {});
  if (isWanted) yield [addedEvent(archived)];
  // One that is named may have moved into the archive; who waits for its end must see it.
  const { query } = filter.name === undefined ? deps.history?.live ?? deps.store : deps.store;
  const version = before ?? await deps.store.query.version();
  const known = new Map<string, Version>();
  let cursor: string | undefined;
  do {
    cursor = yield* existing({ deps, filter, signal, query, version, known }, cursor);
  } while (cursor !== undefined);
  const { namespace, name } = filter;
  const followed = changes(deps, filter, version, signal, known);
  if (namespace === "" || name === undefined) yield* followed;
  else yield* untilDeleted(followed);
}

/**
 * Who waits for the end of one workflow waits for nothing once it is deleted. The reference's `wait` sees only that the watch
 * ends: it opens another one, and learns that there is no such workflow.
 */
async function* untilDeleted(batches: AsyncIterable<Change[]>): AsyncIterable<WatchEvent[]> {
  for await (const batch of batches) {
    const end = batch.findIndex(({ isGone }) => isGone);
    yield end < 0 ? batch : batch.slice(0, end + 1);
    if (end >= 0) return;
  }
}

/** What the events about existing workflows are made from. */
interface Existing {
  deps: ServiceDeps;
  filter: Filter;
  signal: AbortSignal;
  query: Pick<QueryStore, "list">;
  version: Version;
  /** The versions of those that are shown in a later state than `version`. */
  known: Map<string, Version>;
}

/**
 * The events of one page; returns where the next one begins. A generator of its own: one that waits for the next page would
 * still refer to this one.
 */
async function* existing(
  { deps, filter, signal, query, version, known }: Existing,
  cursor: string | undefined,
): AsyncGenerator<WatchEvent[], string | undefined> {
  const { exactTimes } = filter;
  const asked: ListQuery = {
    kind: "wf",
    limit: PAGE,
    maxSize: PAGE_SIZE,
    ...defined({
      namespace: filter.namespace || undefined,
      name: filter.name === undefined ? undefined : { value: filter.name, match: "exact" as const },
      labels: filter.labels.length === 0 ? undefined : filter.labels,
      waiting: filter.waiting || undefined,
      continue: cursor,
    }),
  };
  const page = await deps.workflows.page(() => query.list(asked), sizeOfPage);
  const items = page.items
    .filter(({ index }) => filter.matches(index.namespace, index.name))
    .sort((a, b) => a.id < b.id ? -1 : 1);
  const turns = new Turns();
  for (const item of items) {
    if (signal.aborted) break;
    if (isArchivedActor(item.id)) continue;
    if (isOlder(version, item.version)) known.set(item.id, item.version);
    const shown = { ...item, parts: watchedParts(item.parts) };
    const options = { index: item.index, onUnreadable: deps.onUnreadable, exactTimes };
    yield [addedEvent(await turns.run(workflowSteps(shown, options)), item.index.waitsSince)];
  }
  deps.workflows.givePage(sizeOfPage(page));
  return signal.aborted ? undefined : page.continue;
}

async function* changes(
  deps: ServiceDeps,
  filter: Filter,
  after: Version,
  signal: AbortSignal,
  known: ReadonlyMap<string, Version>,
): AsyncIterable<Change[]> {
  const { namespace, name, exactTimes } = filter;
  const scope = { namespace, name, exactTimes, known };
  for await (const found of deps.watches.follow(after, signal, scope)) {
    const events = found.flatMap((change) => changeEvent(change, filter));
    if (events.length > 0) yield events;
  }
}

/** An event about a change. */
interface Change extends WatchEvent {
  /** The workflow was deleted; an event of this type also comes when it is no longer selected. */
  isGone: boolean;
}

/** The event that a watcher gets for a change, if any. */
function changeEvent(change: WorkflowChange, filter: Filter): Change[] {
  const type = shownType(change, filter);
  if (type === undefined) return [];
  return [{
    type,
    isGone: change.type === "DELETED",
    isLarge: change.size > LARGE,
    textOf: (write) => change.textOf(write),
    excerptOf: (excerpt) => change.excerptOf(excerpt),
  }];
}

function addedEvent(workflow: Workflow, waitsSince?: number): WatchEvent {
  return {
    type: "ADDED",
    // Nobody counted it.
    isLarge: true,
    textOf: (write) => write(workflow),
    excerptOf: ({ write }) => write(workflow, waitsSince),
  };
}

/** The type of a change for a watcher: what it selects by may begin or cease to be true of an object. */
function shownType(change: WorkflowChange, filter: Filter): WatchEvent["type"] | undefined {
  if (!filter.matches(change.namespace, change.name)) return undefined;
  if (filter.labels.length === 0 && !filter.waiting) return change.type;
  const matches = (!filter.waiting || change.isWaiting) &&
    matchesLabels(filter.labels, change.labels);
  if (change.type === "ADDED") return matches ? "ADDED" : undefined;
  const matched = (!filter.waiting || change.hasWaited) &&
    matchesLabels(filter.labels, change.labelsBefore ?? change.labels);
  if (change.type === "DELETED") return matched ? "DELETED" : undefined;
  if (matches) return matched ? "MODIFIED" : "ADDED";
  return matched ? "DELETED" : undefined;
}
