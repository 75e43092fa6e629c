/**
 * Stored actors as the workflows that clients see. One that cannot be read is shown as what is known of it, in phase Error
 * with a message that says so.
 */
import { isArchivedActor, parseWorkflowActorId } from "../actors/actor_ids.ts";
import { isJsonObject } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { runToEnd, type Steps } from "../base/steps.ts";
import { loadSteps, loadWithoutNodes } from "../engine/codec.ts";
import { rfc3339 } from "../engine/time_text.ts";
import { viewSteps, viewWorkflow } from "../engine/view.ts";
import { type Turns } from "../platform/turns.ts";
import { ARCHIVED_NAME_LABEL, type Workflow } from "../spec/manifest.ts";
import {
  type Change,
  type IndexEntry,
  NODE_PART_PREFIX,
  type Store,
  type StoredActor,
} from "../store/port.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";

/** Workflows that stand for records that cannot be read. */
const standIns = new WeakSet<Workflow>();

/** Tells whether a workflow stands for a record that cannot be read. */
export function isUnreadable(workflow: Workflow): boolean {
  return standIns.has(workflow);
}

/** @throws {Problem} FailedPrecondition for a workflow that stands for a record that cannot be read */
export function requireReadable(workflow: Workflow): Workflow {
  if (!isUnreadable(workflow)) return workflow;
  const { name = "" } = workflow.metadata;
  const text = `workflow "${name}": ${workflow.status?.message ?? ""}`;
  throw new Problem(ProblemCode.FailedPrecondition, text);
}

/** What is known of a stored actor besides its parts. */
interface Known {
  index?: IndexEntry | undefined;
  onUnreadable?: ReportUnreadable | undefined;
}

/** The workflow of a stored actor, with its version. Nodes that were not loaded are not shown. */
export function workflowFromStored(stored: StoredActor, known: Known = {}): Workflow {
  return runToEnd(workflowSteps(stored, known));
}

/** The same for one that may have many nodes, step by step. */
export function* workflowSteps(stored: StoredActor, known: Known = {}): Steps<Workflow> {
  let workflow: Workflow;
  try {
    workflow = yield* viewSteps(yield* loadSteps(stored.parts));
    checkPlace(stored, workflow);
  } catch (cause) {
    known.onUnreadable?.("workflow", stored.id, { err: cause });
    return standIn(stored, known.index, cause);
  }
  return {
    ...workflow,
    metadata: { ...workflow.metadata, resourceVersion: stored.version },
  };
}

/** Reads the workflow of a stored actor of which nothing else is known. */
export async function readStoredWorkflow(
  stored: StoredActor,
  { store, onUnreadable }: { store: Store; onUnreadable?: ReportUnreadable },
  turns: Turns,
): Promise<Workflow> {
  const workflow = await turns.run(workflowSteps(stored, { onUnreadable }));
  if (!isUnreadable(workflow)) return workflow;
  const index = await findIndex(store, stored);
  return index === undefined ? workflow : standIn(stored, index, workflow.status?.message ?? "");
}

/** What lists show of an actor. */
export async function findIndex(
  { query }: Pick<Store, "query">,
  { id }: StoredActor,
): Promise<IndexEntry | undefined> {
  const [, namespace = "", name = ""] = id.split("/");
  const exact = { value: name, match: "exact" } as const;
  const { items } = await query.list({ kind: "wf", namespace, name: exact, limit: 1, parts: [] });
  return items[0]?.index;
}

/** A record that names another workflow than the one that it is stored for is damaged. */
function checkPlace({ id }: StoredActor, { metadata }: Workflow): void {
  const place = parseWorkflowActorId(id);
  if (place === undefined) return;
  if (place.name === metadata.name && place.namespace === metadata.namespace) return;
  throw new Error(`part "h" is damaged: it names "${metadata.namespace}/${metadata.name}"`);
}

/** What is shown instead of a record that cannot be read. */
function standIn(stored: StoredActor, index: IndexEntry | undefined, cause: unknown): Workflow {
  const head = headOf(stored);
  const [, namespace = "", place = ""] = stored.id.split("/");
  const name = isArchivedActor(stored.id)
    ? index?.labels[ARCHIVED_NAME_LABEL] ?? place.slice(0, place.lastIndexOf("@"))
    : place;
  const { [ARCHIVED_NAME_LABEL]: _archived, ...labels } = index?.labels ?? {};
  const known = index === undefined || index.uid === ""
    ? {}
    : { uid: index.uid, labels, creationTimestamp: rfc3339(index.createdAt) };
  const { startedAt, finishedAt } = index ?? {};
  const why = cause instanceof Error ? cause.message : String(cause);
  const told = typeof head?.status?.finishedAt === "string" ? head.status.message : undefined;
  const text = why.startsWith(UNREADABLE)
    ? why
    : `${UNREADABLE} (${why}): it can only be terminated or deleted`;
  const workflow: Workflow = {
    metadata: { ...head?.metadata, ...known, namespace, name, resourceVersion: stored.version },
    spec: head?.spec ?? {},
    status: {
      startedAt: startedAt === undefined ? null : rfc3339(startedAt),
      finishedAt: finishedAt === undefined ? null : rfc3339(finishedAt),
      ...head?.status,
      phase: "Error",
      message: told === undefined || told === text ? text : `${told}; ${text}`,
    },
  };
  standIns.add(workflow);
  return workflow;
}

const UNREADABLE = "the stored record cannot be read";

/** What can be read of a workflow without its nodes; undefined when that is nothing. */
function headOf(stored: StoredActor): Workflow | undefined {
  try {
    const workflow = viewWorkflow(loadWithoutNodes(stored.parts));
    checkPlace(stored, workflow);
    return workflow;
  } catch {
    return undefined;
  }
}

/** How often tasks of a node were started; part of task ids. */
export function startsOf(stored: StoredActor, nodeId: string): number {
  const text = stored.parts[`${NODE_PART_PREFIX}${nodeId}`];
  const node = text === undefined ? undefined : parseOrUndefined(text);
  return isJsonObject(node) ? Number(node["starts"] ?? 1) : 1;
}

/**
 * The workflow of a change: as it was then, or what the list index had where the feed doesn't tell more (an older version
 * of the program has written it).
 */
export function changedWorkflow(
  stored: StoredActor,
  { index, version }: Change,
  place: { namespace: string; name: string },
  onUnreadable?: ReportUnreadable,
): Workflow {
  const isKnown = stored.parts["h"] !== undefined && stored.parts["s"] !== undefined;
  if (isKnown) return workflowFromStored({ ...stored, version }, { index, onUnreadable });
  const known = index === undefined ? {} : { uid: index.uid, labels: index.labels };
  return {
    spec: { arguments: {} },
    metadata: { ...place, ...known, resourceVersion: version },
  };
}

/** Labels of a workflow by the text of its header; undefined without one, and for one that cannot be read. */
export function labelsOf(header: string | undefined): Record<string, string> | undefined {
  const value = header === undefined ? undefined : parseOrUndefined(header);
  if (!isJsonObject(value) || !isJsonObject(value["metadata"])) return undefined;
  const { labels } = value["metadata"];
  return isJsonObject(labels) ? labels as Record<string, string> : {};
}
