/**
 * The stored form of a workflow. Part `h` is the header, `s` the specs, `a` the arguments in them, `n:<id>` one node, `r` a
 * retry under way, and `o` other requests about many nodes. Every part has a schema number; a newer program reads what an
 * older one wrote. Arguments are stored apart, because without them all workflows of a manifest have the same specs, which
 * are then read once for all of them.
 */
import type { PartText } from "../base/part_text.ts";
import { errorText } from "../base/error_text.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { parseShared } from "../base/shared_json.ts";
import { eachInSteps, runToEnd, sortSteps, STEP_SIZE, type Steps } from "../base/steps.ts";
import type { Arguments, OwnerReference } from "../spec/manifest.ts";
import { ownedByLabel } from "../spec/naming.ts";
import type { Changes } from "./engine.ts";
import type { IndexEntry } from "./index_entry.ts";
import { LIVE } from "./live.ts";
import { NODE_PREFIX, noSizes, noteNodeSize, notePartSize, type PartSizes } from "./part_sizes.ts";
import { adoptedLife } from "./life/life.ts";
import {
  areOrders,
  isPlan,
  packOrders,
  packPlan,
  type StoredOrders,
  type StoredPlan,
  unpackOrders,
  unpackPlan,
} from "./orders/ongoing_record.ts";
import { runtimeSteps } from "./runtime.ts";
import { emptyPending, type Pending, type WorkflowState } from "./state.ts";
import {
  blankHeader,
  byOrder,
  type Header,
  type NodeRecord,
  parseProgress,
  SCHEMA,
  type StoredSpecs,
} from "./records.ts";
import { specText } from "../spec/spec_text.ts";
import { waitsSince } from "./waits.ts";
import { isArguments, isHeader, isSpecs, nodeOf } from "./stored/stored_form.ts";

/** Part of a retry that is under way. */
export const RETRY_PART = "r";
/** Part of requests about many nodes that are under way. */
export const ORDERS_PART = "o";
/** A turn of a workflow changes fewer nodes; a new one that has many from the beginning has more. */
const MANY_CHANGES = 10_000;
/** The beginning of every part of this schema that is not empty. */
const PREFIX = `{"schema":${SCHEMA},`;

/**
 * Loads a workflow from its stored parts.
 * @throws {Error} when a part is missing or damaged, or a newer program wrote it. The text names the part.
 */
export function loadWorkflow(parts: Record<string, string>): WorkflowState {
  return runToEnd(loadSteps(parts));
}

export interface LoadOptions {
  /** Requests under way are left out: a view does not show them, and they may name all nodes. */
  toView?: boolean;
}

/** The same, step by step, for a workflow with many nodes. */
export function* loadSteps(
  parts: Record<string, string>,
  options: LoadOptions = {},
): Steps<WorkflowState> {
  const nodes = new Map<string, NodeRecord>();
  const sizes = noSizes();
  const keys = Object.keys(parts);
  if (keys.length > STEP_SIZE) yield;
  for (const key of keys) {
    const text = parts[key] ?? "";
    if (!key.startsWith(NODE_PREFIX)) {
      notePartSize(sizes, key, text.length);
      continue;
    }
    const node = decodeNode(text, key);
    if (node.id !== key.slice(NODE_PREFIX.length)) throw damaged(key, "it is another node's");
    nodes.set(node.id, node);
    node[LIVE].key = key;
    noteNodeSize(sizes, node[LIVE], text.length);
    if (nodes.size % STEP_SIZE === 0) yield;
  }
  if (nodes.size > STEP_SIZE) yield;
  const ordered = yield* orderedSteps(nodes);
  const state = yield* stateSteps(parts, ordered, sizes);
  if (options.toView === true) return state;
  if (nodes.size > STEP_SIZE) yield;
  return Object.assign(state, loadOngoing(parts, ordered));
}

/** The nodes in their order, as if they had just been made: stores return them in any order, and to sort many takes long. */
function* orderedSteps(nodes: Map<string, NodeRecord>): Steps<Map<string, NodeRecord>> {
  const ordered = new Map<string, NodeRecord>();
  yield* eachInSteps(yield* sortSteps(nodes.values(), byOrder), (node) => {
    ordered.set(node.id, node);
  });
  return ordered;
}

/**
 * Loads a workflow without its nodes; specs that cannot be read become empty. Enough to end or to delete it. It must not be
 * stored as a whole.
 * @throws {Error} when the header cannot be read
 */
export function loadWithoutNodes(parts: Record<string, string>): WorkflowState {
  const { h = "", s, a } = parts;
  let state: WorkflowState;
  try {
    state = stateOf({ h, ...(s === undefined ? {} : { s }), ...(a === undefined ? {} : { a }) });
  } catch {
    state = stateOf({ h, s: encodePart({ spec: {} }) });
  }
  const [done, total] = parseProgress(state.header.progress ?? "");
  Object.assign(state.runtime, { progressDone: done, progressTotal: total });
  return state;
}

function stateOf(parts: Record<string, string>): WorkflowState {
  return runToEnd(stateSteps(parts, new Map(), noSizes()));
}

function* stateSteps(
  parts: Record<string, string>,
  nodes: Map<string, NodeRecord>,
  sizes: WorkflowState["sizes"],
): Steps<WorkflowState> {
  const stored = decode<Header>(parts["h"], "h", isHeader);
  // In memory it has the members of a new one, in their order: what reads headers is compiled for one kind of object.
  const header = Object.assign(
    blankHeader(stored.metadata, stored.phase, stored.machine),
    stored,
  );
  header.schema = SCHEMA;
  const specs = withArguments(
    decode<StoredSpecs>(parts["s"], "s", isSpecs, parseShared),
    parts["a"] === undefined ? {} : decode<StoredArguments>(parts["a"], "a", isArguments),
  );
  header.machine = adoptedLife(header, specs);
  const runtime = yield* runtimeSteps(nodes, header.isCut);
  return {
    header,
    specs,
    nodes,
    runtime,
    pending: emptyPending(),
    sizes,
    // An older program may have written the entry of a workflow that waits.
    shownWait: runtime.waits.since === undefined ? undefined : "unknown",
  };
}

function loadOngoing(
  { [RETRY_PART]: retry, [ORDERS_PART]: orders }: Record<string, string>,
  nodes: ReadonlyMap<string, NodeRecord>,
): Pick<WorkflowState, "retrying" | "orders"> {
  const loaded: Pick<WorkflowState, "retrying" | "orders"> = {};
  if (retry !== undefined) {
    loaded.retrying = { plan: unpackPlan(nodes, decode<StoredPlan>(retry, RETRY_PART, isPlan)) };
  }
  if (orders !== undefined) {
    loaded.orders = unpackOrders(nodes, decode<StoredOrders>(orders, ORDERS_PART, areOrders));
  }
  return loaded;
}

/** Parts of requests under way; "" for a part that has to be dropped. */
function ongoingParts(state: WorkflowState, pending: Pending): Record<string, string> {
  const { nodes, retrying, orders } = state;
  const parts: Record<string, string> = {};
  if (pending.retrying) {
    parts[RETRY_PART] = retrying === undefined ? "" : encodePart(packPlan(nodes, retrying.plan));
  }
  if (pending.orders) {
    parts[ORDERS_PART] = orders === undefined ? "" : encodePart(packOrders(nodes, orders));
  }
  return parts;
}

/** A newer program wrote this: it is left alone. */
export class NewerSchema extends Error {
  override readonly name = "NewerSchema";
}

function damaged(key: string, why: string): Error {
  return new Error(`part "${key}" is damaged: ${why}`);
}

function parsePart(
  text: string,
  key: string,
  parse: (text: string) => unknown = JSON.parse,
): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw damaged(key, errorText(cause));
  }
}

/** The value of a part, with the number of its form, which it may have another one of than this program writes. */
function decode<T>(
  text: string | undefined,
  key: string,
  isWhole: (value: JsonObject) => boolean,
  parse?: (text: string) => unknown,
): T {
  if (text === undefined) throw new Error(`part "${key}" is missing`);
  const value = parsePart(text, key, parse);
  if (!isJsonObject(value) || typeof value["schema"] !== "number") {
    throw damaged(key, "it has no number of its form");
  }
  const { schema } = value;
  if (schema > SCHEMA) {
    throw new NewerSchema(
      `part "${key}" has schema ${schema}; this program reads up to ${SCHEMA}`,
    );
  }
  if (!isWhole(value)) throw damaged(key, "members are missing or of another type");
  return value as T;
}

function decodeNode(text: string, key: string): NodeRecord {
  let node: NodeRecord | undefined;
  decode(text, key, (value) => (node = nodeOf(value)) !== undefined);
  return node as unknown as NodeRecord;
}

/** A part that is no record, as it is stored. */
export function encodePart(value: object): string {
  return JSON.stringify({ schema: SCHEMA, ...value });
}

/** Arguments of the specs, by the member that has them. */
type StoredArguments = { [K in typeof SPEC_MEMBERS[number]]?: Arguments };

const SPEC_MEMBERS = ["spec", "storedWorkflowTemplateSpec"] as const;

/** Stands in the place of arguments, so that members keep their order. */
const ELSEWHERE: Arguments = {};

function withArguments(
  { schema: _schema, ...specs }: StoredSpecs & { schema?: number },
  given: StoredArguments,
): StoredSpecs {
  for (const member of SPEC_MEMBERS) {
    const value = given[member];
    if (value !== undefined) specs[member] = { ...specs[member], arguments: value };
  }
  return specs;
}

/** The part of the specs without arguments. */
function specsText({ spec, storedWorkflowTemplateSpec, ...others }: StoredSpecs): string {
  let text = `${PREFIX}"spec":${specText(spec, ELSEWHERE)}`;
  if (storedWorkflowTemplateSpec !== undefined) {
    text += `,"storedWorkflowTemplateSpec":${specText(storedWorkflowTemplateSpec, ELSEWHERE)}`;
  }
  const rest = JSON.stringify(others);
  return rest === "{}" ? `${text}}` : `${text},${rest.slice(1)}`;
}

/** The part of their arguments. */
function argumentsText({ spec, storedWorkflowTemplateSpec }: StoredSpecs): string {
  return encodePart(
    {
      spec: spec.arguments,
      storedWorkflowTemplateSpec: storedWorkflowTemplateSpec?.arguments,
    } satisfies { [K in keyof StoredArguments]: StoredArguments[K] | undefined },
  );
}

/** Makes the texts of many nodes ahead, if many have changed. Nothing may change between the last step and `takeChanges`. */
export function textSteps(state: WorkflowState): Steps<void> | undefined {
  const { nodes } = state.pending;
  if (nodes.length <= MANY_CHANGES) return undefined;
  const texts = state.pending.texts = new Map<NodeRecord, string>();
  return eachInSteps(nodes, (node) => {
    if (node[LIVE].isChanged) texts.set(node, JSON.stringify(node));
  });
}

/** What has to be stored and done because of everything since the last call. */
export function takeChanges(state: WorkflowState): Changes {
  const { pending } = state;
  state.pending = emptyPending();
  const put: PartText[] = [];
  const write = (key: string, text: string) => {
    put.push({ key, text });
    notePartSize(state.sizes, key, text.length);
  };
  // Lists show progress without loading a node, so the header carries it.
  const progress = `${state.runtime.progressDone}/${state.runtime.progressTotal}`;
  const hasProgressed = state.header.phase !== "" && state.header.progress !== progress;
  if (hasProgressed) state.header.progress = progress;
  if (pending.header || hasProgressed) write("h", JSON.stringify(state.header));
  if (pending.specs) {
    write("s", specsText(state.specs));
    write("a", argumentsText(state.specs));
  }
  const drop = pending.dropped === undefined ? [] : droppedParts(state.sizes, pending.dropped);
  if (pending.retrying || pending.orders) {
    for (const [key, text] of Object.entries(ongoingParts(state, pending))) {
      if (text !== "") write(key, text);
      else {
        drop.push(key);
        notePartSize(state.sizes, key, 0);
      }
    }
  }
  for (const node of pending.nodes) {
    const live = node[LIVE];
    if (!live.isChanged) continue;
    live.isChanged = false;
    const text = pending.texts?.get(node) ?? JSON.stringify(node);
    put.push({ key: live.key ??= NODE_PREFIX + node.id, text });
    noteNodeSize(state.sizes, live, text.length);
  }
  const { effects } = pending;
  const needs = pending.needs === undefined ? [] : [...pending.needs.values()];
  // What was loaded and did not change is not written.
  const isOtherWait = put.length > 0 && hasOtherWait(state);
  return pending.index || isOtherWait
    ? { put, drop, index: shownEntry(state), effects, needs }
    : { put, drop, effects, needs };
}

/** Keys of the nodes that are gone. */
function droppedParts(sizes: PartSizes, dropped: ReadonlyMap<string, NodeRecord>): string[] {
  return Array.from(dropped.values(), (node) => {
    noteNodeSize(sizes, node[LIVE], 0);
    return NODE_PREFIX + node.id;
  });
}

/** Tells whether the index entry says something else about steps that wait than is true now. */
function hasOtherWait({ runtime: { waits }, shownWait, nodes }: WorkflowState): boolean {
  return waits.since !== shownWait && waitsSince(waits, nodes) !== shownWait;
}

function shownEntry(state: WorkflowState): IndexEntry {
  const since = state.shownWait = waitsSince(state.runtime.waits, state.nodes);
  const entry = indexEntry(state);
  if (since !== undefined) entry.waitsSince = since;
  return entry;
}

/** Owners under which a workflow is filed. */
const MAX_INDEXED_OWNERS = 10;

/** Labels, and those by which a workflow is found that belongs to other workflows. */
function withOwners(
  labels: Record<string, string> = {},
  owners: readonly OwnerReference[],
): Record<string, string> {
  const all = { ...labels };
  for (const { kind, uid } of owners.slice(0, MAX_INDEXED_OWNERS)) {
    if (kind === "Workflow" && typeof uid === "string") all[ownedByLabel(uid)] = "";
  }
  return all;
}

/** What lists show of a workflow, as far as its header tells. */
export function indexEntry({ header }: Pick<WorkflowState, "header">): IndexEntry {
  const { metadata, phase, startedAt, finishedAt } = header;
  const { creationTimestamp } = metadata;
  const createdAt = creationTimestamp === undefined || creationTimestamp === null
    ? 0
    : Date.parse(creationTimestamp);
  const entry: IndexEntry = {
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    labels: metadata.ownerReferences === undefined
      ? metadata.labels ?? {}
      : withOwners(metadata.labels, metadata.ownerReferences),
    phase,
    createdAt: Math.min(createdAt, startedAt ?? createdAt, finishedAt ?? createdAt),
  };
  if (startedAt !== undefined) entry.startedAt = startedAt;
  if (finishedAt !== undefined) entry.finishedAt = finishedAt;
  return entry;
}
