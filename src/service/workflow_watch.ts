/** Watching workflows: what is there first, then every change. */
import { isArchivedActor } from "../actors/actor_ids.ts";
import { isOlder } from "../actors/views.ts";
import type { Caller } from "../auth/port.ts";
import { invalid } from "../base/problem.ts";
import { matchesFields } from "../expr/field_selector.ts";
import { type LabelTerm, matchesLabels, parseLabelSelector } from "../expr/label_selector.ts";
import { Turns } from "../platform/turns.ts";
import type { Workflow } from "../spec/manifest.ts";
import type { Version } from "../store/port.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";
import { WORKFLOW } from "./kinds.ts";
import { parseObjectFields } from "./manifests.ts";
import { MAX_PORTION_SIZE } from "./page_size.ts";
import { watchedParts, type WorkflowChange } from "./workflow_change.ts";
import { getWorkflow, isDeletedWorkflow, LATEST } from "./workflow_reads.ts";
import { workflowSteps } from "./stored_workflow.ts";
import { timeLimit } from "./time_limit.ts";

export interface WatchRequest {
  /** "" watches all namespaces. */
  namespace: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Absent or `0`: what exists comes first. Else only changes after it. */
  resourceVersion?: string;
  /** Ends the watch. */
  timeoutSeconds?: number;
}

export interface WatchEvent {
  type: "ADDED" | "MODIFIED" | "DELETED";
  /** Not to be changed. */
  object(): Workflow;
  /** The object as text; `write` is called once for all watchers of the same change. */
  textOf(write: (workflow: Workflow) => string): string;
}

/** Objects that are read at a time before a watch follows the changes. */
const PAGE = 100;

/** What a watcher wants to see. */
interface Filter {
  namespace: string;
  /** The one name that can match, if there is one. */
  name: string | undefined;
  labels: LabelTerm[];
  matches(namespace: string, name: string): boolean;
}

/**
 * Opens a watch; events that are there at a time come together. Whatever can be refused is refused before the result is
 * there.
 * @throws {Problem} NotFound when a name is selected that does not exist
 */
export async function watchWorkflows(
  deps: ServiceDeps,
  caller: Caller,
  request: WatchRequest,
  signal: AbortSignal,
): Promise<AsyncIterable<WatchEvent[]>> {
  const { namespace } = request;
  const labels = parseLabelSelector(request.labelSelector ?? "");
  const terms = parseObjectFields(request.fieldSelector ?? "");
  const version = request.resourceVersion ?? "";
  if (!/^[0-9]*$/.test(version)) throw invalid(`invalid resource version: ${version}`);
  await requireAccess(caller, { verb: "watch", resource: WORKFLOW.resource, namespace });
  const named = terms.find((term) => term.field === "metadata.name" && term.operator === "=");
  let archived: Workflow | undefined;
  if (named !== undefined) {
    const found = await getWorkflow(deps, caller, { namespace, name: named.value });
    if (named.value === LATEST) named.value = found.metadata.name ?? "";
    if (isDeletedWorkflow(deps, found.metadata)) archived = found;
  }
  const filter: Filter = {
    namespace,
    name: named?.value,
    labels,
    matches: (at, name) =>
      (namespace === "" || namespace === at) &&
      matchesFields(terms, (field) => field === "metadata.name" ? name : at),
  };
  const until = timeLimit(deps.clock, signal, request.timeoutSeconds);
  return version === "" || version === "0"
    ? fromTheBeginning(deps, filter, until, archived)
    : changes(deps, filter, version, until, new Map());
}

async function* fromTheBeginning(
  deps: ServiceDeps,
  filter: Filter,
  signal: AbortSignal,
  archived: Workflow | undefined,
): AsyncIterable<WatchEvent[]> {
  // Who waits for the end of one that only the archive has sees the end.
  if (archived !== undefined) yield [addedEvent(archived)];
  const version = await deps.store.query.version();
  const known = new Map<string, Version>();
  const turns = new Turns();
  let cursor: string | undefined;
  do {
    const page = await deps.store.query.list({
      kind: "wf",
      limit: PAGE,
      maxSize: MAX_PORTION_SIZE,
      ...(filter.namespace === "" ? {} : { namespace: filter.namespace }),
      ...(filter.labels.length === 0 ? {} : { labels: filter.labels }),
      ...(cursor === undefined ? {} : { continue: cursor }),
    });
    const items = page.items
      .filter(({ index }) => filter.matches(index.namespace, index.name))
      .sort((a, b) => a.id < b.id ? -1 : 1);
    for (const item of items) {
      if (signal.aborted) return;
      if (isArchivedActor(item.id)) continue;
      if (isOlder(version, item.version)) known.set(item.id, item.version);
      const shown = { ...item, parts: watchedParts(item.parts) };
      const options = { index: item.index, onUnreadable: deps.onUnreadable };
      yield [addedEvent(await turns.run(workflowSteps(shown, options)))];
    }
    cursor = page.continue;
  } while (cursor !== undefined);
  yield* changes(deps, filter, version, signal, known);
}

async function* changes(
  deps: ServiceDeps,
  filter: Filter,
  after: Version,
  signal: AbortSignal,
  known: ReadonlyMap<string, Version>,
): AsyncIterable<WatchEvent[]> {
  const { namespace, name } = filter;
  for await (const found of deps.watches.follow(after, signal, { namespace, name, known })) {
    const events = found.flatMap((change) => changeEvent(change, filter));
    if (events.length > 0) yield events;
  }
}

/** What a watcher gets of a change, if anything. */
function changeEvent(change: WorkflowChange, filter: Filter): WatchEvent[] {
  const type = shownType(change, filter);
  if (type === undefined) return [];
  return [{
    type,
    object: () => change.workflow,
    textOf: (write) => change.textOf(write),
  }];
}

function addedEvent(workflow: Workflow): WatchEvent {
  return { type: "ADDED", object: () => workflow, textOf: (write) => write(workflow) };
}

/** What a change is to a watcher: with a label selector an object can come into view and leave it. */
function shownType(change: WorkflowChange, filter: Filter): WatchEvent["type"] | undefined {
  if (!filter.matches(change.namespace, change.name)) return undefined;
  if (filter.labels.length === 0) return change.type;
  const matches = matchesLabels(filter.labels, change.labels);
  if (change.type === "ADDED") return matches ? "ADDED" : undefined;
  const matched = change.labelsBefore === undefined
    ? matches
    : matchesLabels(filter.labels, change.labelsBefore);
  if (change.type === "DELETED") return matched ? "DELETED" : undefined;
  if (matches) return matched ? "MODIFIED" : "ADDED";
  return matched ? "DELETED" : undefined;
}
