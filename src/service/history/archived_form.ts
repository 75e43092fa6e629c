/** A workflow on its way into the archive and out of it. What its object does not show stands in a member of our own. */
import { partsByKey } from "../../base/part_text.ts";
import { parseMembers, splitObject } from "../../archive/object_text.ts";
import type { ArchivedEntry, ArchivedWorkflow } from "../../archive/port.ts";
import { archivedActorId, archivedActorName, workflowActorId } from "../../actors/actor_ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import { Problem } from "../../base/problem.ts";
import { STEP_SIZE, type Steps } from "../../base/steps.ts";
import { indexEntry, loadSteps, takeChanges } from "../../engine/codec.ts";
import { recreateSteps } from "../../engine/create.ts";
import { deletionTime } from "../../engine/finish.ts";
import { pastOf, recallPast, type WorkflowPast } from "../../engine/past.ts";
import { isCompleted } from "../../engine/records.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { viewSteps } from "../../engine/view.ts";
import { ARCHIVED_NAME_LABEL, type Workflow } from "../../spec/manifest.ts";
import { archivingStatusLabel, type Naming, PERSISTED } from "../../spec/naming.ts";
import { adoptedSteps } from "../../spec/schema/adopted.ts";
import { type IndexEntry, NODE_PART_PREFIX, type StoredActor } from "../../store/port.ts";

/** A longer object is parsed a little at a time, characters. */
const PARSED_AT_ONCE = 2 ** 18;
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
  // Exact times: a retry brings them back, and `exactTimes` shows them. Argo Workflows reads them too.
  const view = yield* viewSteps(state, { exactTimes: true });
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

/** A row as the store would have it, step by step. Its parts are empty when its object cannot be read, or was not asked for. */
export function* storedSteps(
  row: ArchivedWorkflow,
  naming: Naming,
): Steps<StoredActor & { index: IndexEntry }> {
  const { namespace, name, uid, labels } = row;
  const known = { namespace, name, uid, labels, phase: row.phase, createdAt: row.createdAt };
  const { startedAt, finishedAt } = row;
  const index: IndexEntry = {
    ...known,
    ...(startedAt !== undefined && { startedAt }),
    finishedAt,
  };
  const restored = yield* restoreSteps(row.object);
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
function* objectSteps(
  text: string,
): Steps<{ workflow: Workflow; past: WorkflowPast } | undefined> {
  if (text === "") return undefined;
  const value = text.length > PARSED_AT_ONCE ? yield* parseSteps(text) : parseOrUndefined(text);
  if (!isJsonObject(value) || !isJsonObject(value["metadata"]) || !isJsonObject(value["spec"])) {
    return undefined;
  }
  const { [PAST]: past, ...workflow } = value;
  const isKnown = isJsonObject(past) && typeof past["retries"] === "number";
  return isKnown
    ? { workflow: workflow as unknown as Workflow, past: past as unknown as WorkflowPast }
    : { workflow: yield* foreignSteps(workflow), past: { retries: 0 } };
}

/** Parses a large object: its nodes one by one. Undefined when it is none. */
function* parseSteps(text: string): Steps<JsonObject | undefined> {
  const { brief, large: { nodes, ...others } } = yield* splitObject(text);
  const object = parseOrUndefined(brief);
  const status = isJsonObject(object) ? object["status"] : undefined;
  if (!isJsonObject(object) || !isJsonObject(status)) return undefined;
  for (const [key, member] of Object.entries(others)) {
    status[key] = parseOrUndefined(member) as Json ?? null;
  }
  if (nodes !== undefined) status["nodes"] = (yield* parseMembers(nodes)) ?? null;
  return object;
}

/** An object that another system has written, maybe long ago. */
function* foreignSteps(object: JsonObject): Steps<Workflow> {
  try {
    return yield* adoptedSteps(object);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return object as unknown as Workflow;
  }
}

function* restoreSteps(
  text: string,
): Steps<{ version: string; parts: Record<string, string> } | undefined> {
  const object = yield* objectSteps(text);
  if (object === undefined) return undefined;
  const { workflow, past } = object;
  const { resourceVersion: version = "0", ...metadata } = workflow.metadata;
  try {
    const state = yield* recreateSteps({ ...workflow, metadata });
    recallPast(state, past);
    return { version, parts: yield* partSteps(state) };
  } catch {
    // Another system may have written it.
    return undefined;
  }
}

/** The parts of a state that was just made, all of which have to be stored. */
function* partSteps(state: WorkflowState): Steps<Record<string, string>> {
  const { nodes } = state.pending;
  const parts: Record<string, string> = {};
  let done = 0;
  do {
    state.pending.nodes = nodes.slice(done, done += STEP_SIZE);
    Object.assign(parts, partsByKey(takeChanges(state).put));
    if (done < nodes.length) yield;
  } while (done < nodes.length);
  return parts;
}
