/**
 * The stored form of a workflow. Part `h` is the header, `s` the specs, `a` the arguments in them, `n:<id>` one node, `r` a
 * retry under way, and `o` other requests about many nodes. Every part has a schema number; a newer program reads what an
 * older one wrote. Arguments are stored apart, because without them all workflows of a manifest have the same specs, which
 * are then read once for all of them.
 */
import { errorText } from "../base/error_text.ts";
import { parseShared } from "../base/shared_json.ts";
import { runToEnd, STEP_SIZE, type Steps } from "../base/steps.ts";
import { newTable } from "../base/table.ts";
import type { Arguments } from "../spec/manifest.ts";
import type { Changes } from "./engine.ts";
import type { IndexEntry } from "./index_entry.ts";
import {
  newPart,
  NODE_PREFIX,
  type NodePart,
  noSizes,
  noteNodeSize,
  notePartSize,
  type PartSizes,
} from "./part_sizes.ts";
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
  fixedMembers,
  hasEnded,
  type Header,
  movingMembers,
  type NodeRecord,
  parseProgress,
  type StoredSpecs,
} from "./records.ts";
import { specText } from "../spec/spec_text.ts";
import { waitsSince } from "./waits.ts";
import { isArguments, isHeader, isSpecs, nodeOf } from "./stored/stored_form.ts";

/** Number of the stored form. In 1, arguments were in the specs. */
const SCHEMA = 2;
/** Part of a retry that is under way. */
export const RETRY_PART = "r";
/** Part of requests about many nodes that are under way. */
export const ORDERS_PART = "o";
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
    node.part = newPart(key, text.length, true);
    sizes.total += text.length;
    if (nodes.size % STEP_SIZE === 0) yield;
  }
  if (nodes.size > STEP_SIZE) yield;
  const state = yield* stateSteps(parts, nodes, sizes);
  if (options.toView === true) return state;
  if (nodes.size > STEP_SIZE) yield;
  return Object.assign(state, loadOngoing(parts, nodes));
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
  const header = decode<Header>(parts["h"], "h", isHeader);
  const specs = withArguments(
    { ...decode<StoredSpecs>(parts["s"], "s", isSpecs, parseShared) },
    parts["a"] === undefined ? {} : decode<StoredArguments>(parts["a"], "a", isArguments),
  );
  header.machine = adoptedLife(header, specs);
  const runtime = yield* runtimeSteps(nodes.values(), header.isCut);
  return {
    header,
    specs,
    nodes,
    runtime,
    pending: emptyPending(),
    sizes,
    // An older program may have written the entry of a workflow that waits.
    shownWait: runtime.waits.since === undefined ? undefined : "unknown",
    headText: undefined,
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

function decode<T>(
  text: string | undefined,
  key: string,
  isWhole: (value: unknown) => boolean,
  parse: (text: string) => unknown = JSON.parse,
): T {
  if (text === undefined) throw new Error(`part "${key}" is missing`);
  const isPlain = text.startsWith(PREFIX);
  const value = parsePart(isPlain ? `{${text.slice(PREFIX.length)}` : text, key, parse);
  if (isPlain && isWhole(value)) return value as T;
  const { schema, ...rest } = (value ?? {}) as { schema?: number };
  if (!isPlain && typeof schema !== "number") throw damaged(key, "it has no number of its form");
  if (schema !== undefined && schema > SCHEMA) {
    throw new NewerSchema(
      `part "${key}" has schema ${schema}; this program reads up to ${SCHEMA}`,
    );
  }
  if (!isWhole(rest)) throw damaged(key, "members are missing or of another type");
  return rest as T;
}

function decodeNode(text: string, key: string): NodeRecord {
  const node = text.startsWith(PREFIX) ? nodeOf(parsePart(text, key)) : undefined;
  if (node !== undefined) return node;
  const rest = decode<NodeRecord>(text, key, (value) => nodeOf(value) !== undefined);
  return nodeOf(rest) as NodeRecord;
}

/** A part as it is stored. */
export function encodePart(value: object): string {
  const text = JSON.stringify(value);
  return text === "{}" ? `{"schema":${SCHEMA}}` : PREFIX + text.slice(1);
}

/** A part that is not empty without its last bracket. Put together without a copy, as texts of the runtime are. */
function openPart(value: object): string {
  return PREFIX + JSON.stringify(value).slice(1, -1);
}

/** Arguments of the specs, by the member that has them. */
type StoredArguments = { [K in typeof SPEC_MEMBERS[number]]?: Arguments };

const SPEC_MEMBERS = ["spec", "storedWorkflowTemplateSpec"] as const;

/** Stands in the place of arguments, so that members keep their order. */
const ELSEWHERE = "{}";

function withArguments(specs: StoredSpecs, given: StoredArguments): StoredSpecs {
  for (const member of SPEC_MEMBERS) {
    const value = given[member];
    if (value !== undefined) specs[member] = { ...specs[member], arguments: value };
  }
  return specs;
}

function argumentsOf(specs: StoredSpecs): StoredArguments {
  const found: StoredArguments = {};
  for (const member of SPEC_MEMBERS) {
    const given = specs[member]?.arguments;
    if (given !== undefined) found[member] = given;
  }
  return found;
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

/** What has to be stored and done because of everything since the last call. */
export function takeChanges(state: WorkflowState): Changes {
  const { pending } = state;
  state.pending = emptyPending();
  const put = newTable<string>();
  let isChanged = false;
  const write = (key: string, text: string) => {
    put[key] = text;
    notePartSize(state.sizes, key, text.length);
    isChanged = true;
  };
  // Lists show progress without loading a node, so the header carries it.
  const progress = `${state.runtime.progressDone}/${state.runtime.progressTotal}`;
  const hasProgressed = state.header.phase !== "" && state.header.progress !== progress;
  if (hasProgressed) state.header.progress = progress;
  if (pending.header || hasProgressed) write("h", headerText(state, pending.header));
  if (pending.specs) {
    write("s", specsText(state.specs));
    write("a", encodePart(argumentsOf(state.specs)));
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
  for (const node of pending.nodes.values()) {
    const part = node.part ??= newPart(NODE_PREFIX + node.id, 0, false);
    const text = nodeText(part, node);
    put[part.key] = text;
    noteNodeSize(state.sizes, part, text.length);
    isChanged = true;
  }
  const { effects } = pending;
  const needs = pending.needs === undefined ? [] : [...pending.needs.values()];
  // What was loaded and did not change is not written.
  const isOtherWait = isChanged && hasOtherWait(state);
  return pending.index || isOtherWait
    ? { put, drop, index: shownEntry(state), effects, needs }
    : { put, drop, effects, needs };
}

/** The part of a node. A node that runs is written several times, and most of its text stays the same. */
function nodeText(part: NodePart, node: NodeRecord): string {
  // It may have members that are not known here.
  if (node.isImported === true || part.isLoaded) {
    return encodePart({ ...node, part: undefined });
  }
  let { head } = part;
  if (head === undefined || part.inputs !== node.inputs) {
    head = openPart(fixedMembers(node));
    part.inputs = node.inputs;
  }
  part.head = hasEnded(node) ? undefined : head;
  return `${head},${JSON.stringify(movingMembers(node)).slice(1)}`;
}

/** The part of the header. Often nothing else of it has changed than its progress. */
function headerText(state: WorkflowState, hasOtherChanges: boolean): string {
  const { header } = state;
  if (hasOtherChanges) {
    state.headText = undefined;
    return encodePart(header);
  }
  state.headText ??= openPart({ ...header, progress: undefined });
  return `${state.headText},"progress":${JSON.stringify(header.progress)}}`;
}

/** Keys of the nodes that are gone. */
function droppedParts(sizes: PartSizes, dropped: ReadonlyMap<string, NodeRecord>): string[] {
  return Array.from(dropped.values(), ({ id, part }) => {
    if (part !== undefined) noteNodeSize(sizes, part, 0);
    return NODE_PREFIX + id;
  });
}

/** Tells whether the index entry says something else about steps that wait than is true now. */
function hasOtherWait({ runtime: { waits }, shownWait, nodes }: WorkflowState): boolean {
  return waits.since !== shownWait && waitsSince(waits, nodes) !== shownWait;
}

function shownEntry(state: WorkflowState): IndexEntry {
  const since = state.shownWait = waitsSince(state.runtime.waits, state.nodes);
  const entry = indexEntry(state);
  return since === undefined ? entry : { ...entry, waitsSince: since };
}

/** What lists show of a workflow, as far as its header tells. */
export function indexEntry({ header }: Pick<WorkflowState, "header">): IndexEntry {
  const { metadata, phase, startedAt, finishedAt } = header;
  const { creationTimestamp } = metadata;
  const createdAt = creationTimestamp === undefined || creationTimestamp === null
    ? 0
    : Date.parse(creationTimestamp);
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    labels: { ...metadata.labels },
    phase,
    createdAt: Math.min(createdAt, startedAt ?? createdAt, finishedAt ?? createdAt),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
  };
}
