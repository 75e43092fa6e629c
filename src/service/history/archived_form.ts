/** A workflow on its way into the archive and out of it. What its object does not show stands in a member of our own. */
import { partsByKey } from "../../base/part_text.ts";
import type { ArchivedEntry, ArchivedWorkflow } from "../../archive/port.ts";
import { archivedActorId, archivedActorName, workflowActorId } from "../../actors/actor_ids.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import { Problem } from "../../base/problem.ts";
import type { Steps } from "../../base/steps.ts";
import { indexEntry, loadSteps, takeChanges } from "../../engine/codec.ts";
import { createWorkflow } from "../../engine/create.ts";
import { deletionTime } from "../../engine/finish.ts";
import { pastOf, recallPast, type WorkflowPast } from "../../engine/past.ts";
import { isCompleted } from "../../engine/records.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { viewSteps } from "../../engine/view.ts";
import { ARCHIVED_NAME_LABEL, type Workflow } from "../../spec/manifest.ts";
import { archivingStatusLabel, type Naming, PERSISTED } from "../../spec/naming.ts";
import { adoptedWorkflow } from "../../spec/schema/adopted.ts";
import { type IndexEntry, NODE_PART_PREFIX, type StoredActor } from "../../store/port.ts";

/** The member of an archived object that holds the past of its workflow. */
const PAST = "sluice";

export interface FormOptions {
  naming: Naming;
  /** Parameters by which lists of the archive may filter. */
  indexParameters: ReadonlySet<string>;
}

/** A workflow as it goes into the archive. */
export interface ArchivedForm {
  /** Undefined: it has not ended, or has ended only by its header. */
  row?: ArchivedWorkflow;
  /** It stays: its `ttlStrategy` will delete it, or a finalizer holds it. */
  isHeld: boolean;
}

/**
 * The row of a stored workflow, step by step.
 * @throws {Error} when it cannot be read
 */
export function* archivedSteps(
  stored: StoredActor,
  options: FormOptions,
): Steps<ArchivedForm> {
  const state = yield* loadSteps(stored.parts);
  const { phase, finishedAt, isAside, metadata: { finalizers = [] } } = state.header;
  if (finishedAt === undefined || isAside === true || !isCompleted(phase)) {
    return { isHeld: false };
  }
  const isHeld = finalizers.length > 0 || deletionTime(state) !== undefined;
  const view = yield* viewSteps(state);
  const past = pastOf(state);
  const shown = { ...view.metadata, resourceVersion: stored.version };
  const row = {
    ...entryOf(state, options),
    edition: editionOf(state, options.naming),
    object: JSON.stringify({ ...view, metadata: shown, [PAST]: past }),
  };
  return { row, isHeld };
}

/** What lists filter and sort by. */
function entryOf(state: WorkflowState, { indexParameters }: FormOptions): ArchivedEntry {
  const { waitsSince: _waits, ...index } = indexEntry(state);
  const parameters: Record<string, string> = {};
  for (const { name, value } of state.specs.spec.arguments?.parameters ?? []) {
    if (indexParameters.has(name) && value !== undefined) parameters[name] = String(value);
  }
  const isIndexed = Object.keys(parameters).length > 0;
  return {
    ...index,
    finishedAt: index.finishedAt ?? index.createdAt,
    ...(isIndexed && { parameters }),
  };
}

/** Grows with each end of the workflow, and once more when it is deleted. */
function editionOf({ header }: WorkflowState, naming: Naming): number {
  return 2 * ((header.retries ?? 0) + 1) + (isDeleted(header.metadata.labels, naming) ? 1 : 0);
}

/** Tells whether a workflow was deleted and only the archive has it. */
export function isDeleted(
  labels: Readonly<Record<string, string>> | undefined,
  naming: Naming,
): boolean {
  return labels?.[archivingStatusLabel(naming)] === PERSISTED;
}

/** A row as the store would have it. Its parts are empty when its object cannot be read, or was not asked for. */
export function storedOf(
  row: ArchivedWorkflow,
  naming: Naming,
): StoredActor & { index: IndexEntry } {
  const { namespace, name, uid, labels } = row;
  const known = { namespace, name, uid, labels, phase: row.phase, createdAt: row.createdAt };
  const { startedAt, finishedAt } = row;
  const index: IndexEntry = {
    ...known,
    ...(startedAt !== undefined && { startedAt }),
    finishedAt,
  };
  const restored = restoredOf(row.object);
  const common = { version: restored?.version ?? "0", parts: restored?.parts ?? {} };
  if (!isDeleted(labels, naming)) {
    return { ...common, id: workflowActorId(namespace, name), index };
  }
  const shown = { ...labels, [ARCHIVED_NAME_LABEL]: name };
  return {
    ...common,
    id: archivedActorId(namespace, name, uid),
    index: { ...index, name: archivedActorName(name, uid), labels: shown },
  };
}

/** The same without its nodes if it has more than `maxNodes`. */
export function withinBounds(stored: StoredActor, maxNodes: number): StoredActor {
  const keys = Object.keys(stored.parts);
  const others = keys.filter((key) => !key.startsWith(NODE_PART_PREFIX));
  if (keys.length - others.length <= maxNodes) return stored;
  const parts = Object.fromEntries(others.map((key) => [key, stored.parts[key] ?? ""]));
  return { ...stored, parts, withoutNodes: true };
}

/** An archived object as a command brings it back: without what the archive added. Undefined when it is none. */
function objectOf(text: string): { workflow: Workflow; past: WorkflowPast } | undefined {
  if (text === "") return undefined;
  const value = parseOrUndefined(text);
  if (!isJsonObject(value) || !isJsonObject(value["metadata"]) || !isJsonObject(value["spec"])) {
    return undefined;
  }
  const { [PAST]: past, ...workflow } = value;
  const isKnown = isJsonObject(past) && typeof past["retries"] === "number";
  return isKnown
    ? { workflow: workflow as unknown as Workflow, past: past as unknown as WorkflowPast }
    : { workflow: foreign(workflow), past: { retries: 0 } };
}

/** An object that another system has written, maybe long ago. */
function foreign(object: JsonObject): Workflow {
  try {
    return adoptedWorkflow(object);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return object as unknown as Workflow;
  }
}

function restoredOf(
  text: string,
): { version: string; parts: Record<string, string> } | undefined {
  const object = objectOf(text);
  if (object === undefined) return undefined;
  const { workflow, past } = object;
  const { resourceVersion: version = "0", ...metadata } = workflow.metadata;
  try {
    const state = createWorkflow({ ...workflow, metadata }, ENV);
    recallPast(state, past);
    return { version, parts: partsByKey(takeChanges(state).put) };
  } catch {
    // Another system may have written it.
    return undefined;
  }
}

/** Nothing of it is asked for by what only takes over what an object says. */
const ENV = {
  now: 0,
  randomSuffix: () => "",
  findManifest: () => undefined,
  labelPrefix: "",
  apiGroup: "",
};
