/**
 * Stored actors as the workflows that clients see. For one that cannot be read, what is known of it is shown, in phase Error
 * and with a message that says so.
 */
import { isArchivedActor, parseWorkflowActorId } from "../../actors/actor_ids.ts";
import { errorText } from "../../base/error_text.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import { runToEnd, type Steps } from "../../base/steps.ts";
import { loadSteps, loadWithoutNodes } from "../../engine/codec.ts";
import { rfc3339 } from "../../engine/scope/time_text.ts";
import { viewSteps, viewWorkflow } from "../../engine/view.ts";
import { type Turns } from "../../platform/turns.ts";
import { ARCHIVED_NAME_LABEL, type OwnerReference, type Workflow } from "../../spec/manifest.ts";
import { withoutOwners } from "../../spec/naming.ts";
import {
  type Change,
  type IndexEntry,
  NODE_PART_PREFIX,
  type Store,
  type StoredActor,
} from "../../store/port.ts";
import type { ReportUnreadable } from "../../platform/unreadable.ts";

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
  /** Starts and ends are shown in milliseconds. */
  exactTimes?: boolean | undefined;
}

/** The workflow of a stored actor, with its version. Nodes that were not loaded are not shown. */
function workflowFromStored(stored: StoredActor, known: Known = {}): Workflow {
  return runToEnd(workflowSteps(stored, known));
}

/** The same, step by step, for a workflow that may have many nodes. */
export function* workflowSteps(stored: StoredActor, known: Known = {}): Steps<Workflow> {
  let workflow: Workflow;
  try {
    const state = yield* loadSteps(stored.parts, { toView: true });
    workflow = yield* viewSteps(state, { exactTimes: known.exactTimes === true });
    checkPlace(stored, workflow);
  } catch (cause) {
    known.onUnreadable?.("workflow", stored.id, { err: cause });
    return standIn(stored, known.index, cause);
  }
  return withVersion(workflow, stored);
}

/** Intentionally changed in place: what was just loaded is nobody else's. */
function withVersion(workflow: Workflow, { version }: StoredActor): Workflow {
  workflow.metadata.resourceVersion = version;
  return workflow;
}

/** The workflow without its nodes, and without what follows from them; undefined when it cannot be read. */
export function headFromStored(stored: StoredActor, exactTimes = false): Workflow | undefined {
  const head = stored.parts["s"] === undefined ? undefined : headOf(stored, exactTimes);
  // A spec that cannot be read comes as an empty one.
  if (head === undefined || Object.keys(head.spec).length === 0) return undefined;
  return withVersion(head, stored);
}

/** Reads the workflow of a stored actor of which nothing else is known. */
export async function readStoredWorkflow(
  stored: StoredActor,
  { store, onUnreadable }: { store: Store; onUnreadable?: ReportUnreadable },
  turns: Turns,
  exactTimes = false,
): Promise<Workflow> {
  const workflow = await turns.run(workflowSteps(stored, { onUnreadable, exactTimes }));
  if (!isUnreadable(workflow)) return workflow;
  const index = await findIndex(store, stored);
  return index === undefined ? workflow : standIn(stored, index, workflow.status?.message ?? "");
}

/** The entry of an actor in the index of lists. */
export async function findIndex(
  { query }: Pick<Store, "query">,
  { id }: StoredActor,
): Promise<IndexEntry | undefined> {
  const [, namespace = "", name = ""] = id.split("/");
  const exact = { value: name, match: "exact" } as const;
  const { items } = await query.list({ kind: "wf", namespace, name: exact, limit: 1, parts: [] });
  return items[0]?.index;
}

/** A record is damaged if it names another workflow than the one it is stored for. */
function checkPlace({ id }: StoredActor, { metadata }: Workflow): void {
  const place = parseWorkflowActorId(id);
  if (place === undefined) return;
  if (place.name === metadata.name && place.namespace === metadata.namespace) return;
  throw new Error(`part "h" is damaged: it names "${metadata.namespace}/${metadata.name}"`);
}

/** The workflow that is shown for a record that cannot be read. */
function standIn(stored: StoredActor, index: IndexEntry | undefined, cause: unknown): Workflow {
  const head = headOf(stored);
  const [, namespace = "", place = ""] = stored.id.split("/");
  const name = isArchivedActor(stored.id)
    ? index?.labels[ARCHIVED_NAME_LABEL] ?? place.slice(0, place.lastIndexOf("@"))
    : place;
  const { [ARCHIVED_NAME_LABEL]: _archived, ...labels } = withoutOwners(index?.labels ?? {});
  const known = index === undefined || index.uid === ""
    ? {}
    : { uid: index.uid, labels, creationTimestamp: rfc3339(index.createdAt) };
  const { startedAt, finishedAt } = index ?? {};
  const why = errorText(cause);
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

/** A workflow without its nodes; undefined when not even that can be read. */
function headOf(stored: StoredActor, exactTimes = false): Workflow | undefined {
  try {
    const workflow = viewWorkflow(loadWithoutNodes(stored.parts), { exactTimes });
    checkPlace(stored, workflow);
    return workflow;
  } catch {
    return undefined;
  }
}

/** How often the task of a node was started. Part of task ids. */
export function startsOf(stored: StoredActor, nodeId: string): number {
  const text = stored.parts[`${NODE_PART_PREFIX}${nodeId}`];
  const node = text === undefined ? undefined : parseOrUndefined(text);
  return isJsonObject(node) ? Number(node["starts"] ?? 1) : 1;
}

/**
 * The workflow of a change, as it was then. If an older version of the program wrote the change, the feed has only what the index
 * of lists had.
 */
export function changedWorkflow(
  stored: StoredActor,
  { index, version }: Change,
  place: { namespace: string; name: string },
  known: Omit<Known, "index"> = {},
): Workflow {
  const isKnown = stored.parts["h"] !== undefined && stored.parts["s"] !== undefined;
  if (isKnown) return workflowFromStored({ ...stored, version }, { ...known, index });
  const told = index === undefined ? {} : { uid: index.uid, labels: withoutOwners(index.labels) };
  return {
    spec: { arguments: {} },
    metadata: { ...place, ...told, resourceVersion: version },
  };
}

/** The same without nodes and without what follows from them, unless it cannot be read. */
export function changedHead(...source: Parameters<typeof changedWorkflow>): Workflow {
  const [stored, { version }, _place, known] = source;
  return headFromStored({ ...stored, version }, known?.exactTimes) ?? changedWorkflow(...source);
}

/** Labels of a workflow, from the text of its header; undefined when there is none or it cannot be read. */
export function labelsOf(header: string | undefined): Record<string, string> | undefined {
  const metadata = metadataOf(header);
  if (metadata === undefined) return undefined;
  const { labels } = metadata;
  return isJsonObject(labels) ? labels as Record<string, string> : {};
}

/** Owners of a workflow, from the text of its header; none when it cannot be read. */
export function ownersOf(header: string | undefined): OwnerReference[] {
  const owners = metadataOf(header)?.["ownerReferences"];
  if (!Array.isArray(owners)) return [];
  return owners.filter(isJsonObject) as unknown as OwnerReference[];
}

/** Metadata in the text of a stored object; undefined when there is none or it cannot be read. */
export function metadataOf(text: string | undefined): JsonObject | undefined {
  const value = text === undefined ? undefined : parseOrUndefined(text);
  const metadata = isJsonObject(value) ? value["metadata"] : undefined;
  return isJsonObject(metadata) ? metadata : undefined;
}
