/**
 * The stored form of a workflow: part `h` is the header, `s` the specs, `a` the arguments in them, `n:<id>` one node each,
 * `r` a retry that is under way, and `o` what else was asked about many nodes.
 * Every part carries a schema number; a newer program reads what an older one wrote. Arguments are apart, because without
 * them workflows of one manifest have the same specs, which are then read once for all of them.
 */
import { parseShared } from "../base/shared_json.ts";
import { runToEnd, STEP_SIZE, type Steps } from "../base/steps.ts";
import type { Arguments } from "../spec/manifest.ts";
import type { Changes } from "./engine.ts";
import type { IndexEntry } from "./index_entry.ts";
import { noSizes, noteNodeSize, notePartSize } from "./limits.ts";
import {
  areOrders,
  isPlan,
  packOrders,
  packPlan,
  type StoredOrders,
  type StoredPlan,
  unpackOrders,
  unpackPlan,
} from "./ongoing_record.ts";
import { buildRuntime, parseProgress } from "./runtime.ts";
import type { Header, NodeRecord, Pending, StoredSpecs, WorkflowState } from "./state.ts";
import { isArguments, isHeader, isNode, isSpecs } from "./stored_form.ts";

/** Number of the stored form. In 1, arguments were in the specs. */
const SCHEMA = 2;
const NODE_PREFIX = "n:";
/** Part of a retry that is under way. */
export const RETRY_PART = "r";
/** Part of requests about many nodes that are under way. */
export const ORDERS_PART = "o";
/** What a part of this schema that is not empty begins with. */
const PREFIX = `{"schema":${SCHEMA},`;

export function emptyPending(): Pending {
  return {
    header: false,
    specs: false,
    index: false,
    retrying: false,
    orders: false,
    nodes: new Set(),
    dropped: new Set(),
    effects: [],
    phased: new Set(),
    needs: new Map(),
  };
}

/**
 * A workflow from its stored parts.
 * @throws {Error} when a part is missing or damaged, or was written by a newer program; the text names the part
 */
export function loadWorkflow(parts: Record<string, string>): WorkflowState {
  return runToEnd(loadSteps(parts));
}

/** The same for one with many nodes, step by step. */
export function* loadSteps(parts: Record<string, string>): Steps<WorkflowState> {
  const nodes = new Map<string, NodeRecord>();
  const sizes = noSizes();
  for (const [key, text] of Object.entries(parts)) {
    if (!key.startsWith(NODE_PREFIX)) {
      notePartSize(sizes, key, text.length);
      continue;
    }
    const node = decode<NodeRecord>(text, key, isNode);
    if (node.id !== key.slice(NODE_PREFIX.length)) throw damaged(key, "it is another node's");
    nodes.set(node.id, node);
    noteNodeSize(sizes, node.id, text.length);
    if (nodes.size % STEP_SIZE === 0) yield;
  }
  if (nodes.size > STEP_SIZE) yield;
  return stateOf(parts, nodes, sizes);
}

/**
 * A workflow as its header tells, without its nodes; one whose specs cannot be read has empty ones. Enough to end it or to
 * delete it, and never to be stored as a whole.
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

function stateOf(
  parts: Record<string, string>,
  nodes: Map<string, NodeRecord> = new Map(),
  sizes: WorkflowState["sizes"] = noSizes(),
): WorkflowState {
  const header = decode<Header>(parts["h"], "h", isHeader);
  return {
    header,
    specs: withArguments(
      { ...decode<StoredSpecs>(parts["s"], "s", isSpecs, parseShared) },
      parts["a"] === undefined ? {} : decode<StoredArguments>(parts["a"], "a", isArguments),
    ),
    nodes,
    runtime: buildRuntime(nodes.values(), header.isCut),
    pending: emptyPending(),
    sizes,
    ...loadOngoing(parts, nodes),
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

/** What is to be stored of what is under way; "" when it is to be dropped. */
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

/** A newer program has written this; an older one leaves it alone. */
export class NewerSchema extends Error {
  override readonly name = "NewerSchema";
}

function damaged(key: string, why: string): Error {
  return new Error(`part "${key}" is damaged: ${why}`);
}

function decode<T>(
  text: string | undefined,
  key: string,
  isWhole: (value: unknown) => boolean,
  parse: (text: string) => unknown = JSON.parse,
): T {
  if (text === undefined) throw new Error(`part "${key}" is missing`);
  const isPlain = text.startsWith(PREFIX);
  let value: unknown;
  try {
    value = parse(isPlain ? `{${text.slice(PREFIX.length)}` : text);
  } catch (cause) {
    throw damaged(key, cause instanceof Error ? cause.message : "it is no JSON");
  }
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

/** A part as it is stored. */
export function encodePart(value: object): string {
  const text = JSON.stringify(value);
  return text === "{}" ? `{"schema":${SCHEMA}}` : PREFIX + text.slice(1);
}

/** Arguments of the specs, by the member that has them. */
type StoredArguments = { [K in typeof SPEC_MEMBERS[number]]?: Arguments };

const SPEC_MEMBERS = ["spec", "storedWorkflowTemplateSpec"] as const;

/** Stands where arguments belong, so that members keep their order. */
const ELSEWHERE = {};

function withArguments(specs: StoredSpecs, given: StoredArguments): StoredSpecs {
  for (const member of SPEC_MEMBERS) {
    const value = given[member];
    if (value !== undefined) specs[member] = { ...specs[member], arguments: value };
  }
  return specs;
}

/** The specs without their arguments, and the arguments. */
function splitArguments(specs: StoredSpecs): [StoredSpecs, StoredArguments] {
  const rest = { ...specs };
  const found: StoredArguments = {};
  for (const member of SPEC_MEMBERS) {
    const spec = specs[member];
    if (spec?.arguments === undefined) continue;
    found[member] = spec.arguments;
    rest[member] = { ...spec, arguments: ELSEWHERE };
  }
  return [rest, found];
}

/** What is to be stored and done since the last call; the next call starts from nothing. */
export function takeChanges(state: WorkflowState): Changes {
  const { pending } = state;
  state.pending = emptyPending();
  const put: Record<string, string> = {};
  // Lists show progress without loading a node, so the header carries it.
  const progress = `${state.runtime.progressDone}/${state.runtime.progressTotal}`;
  const hasProgressed = state.header.phase !== "" && state.header.progress !== progress;
  if (hasProgressed) state.header.progress = progress;
  if (pending.header || hasProgressed) put["h"] = encodePart(state.header);
  if (pending.specs) {
    const [specs, given] = splitArguments(state.specs);
    put["s"] = encodePart(specs);
    put["a"] = encodePart(given);
  }
  const drop = pending.dropped.size === 0 ? [] : droppedParts(state, pending);
  for (const [key, text] of Object.entries(ongoingParts(state, pending))) {
    if (text !== "") put[key] = text;
    else {
      drop.push(key);
      notePartSize(state.sizes, key, 0);
    }
  }
  for (const key in put) notePartSize(state.sizes, key, put[key]?.length ?? 0);
  for (const id of pending.nodes) {
    const node = state.nodes.get(id);
    if (node === undefined) continue;
    const text = encodePart(node);
    put[NODE_PREFIX + id] = text;
    noteNodeSize(state.sizes, id, text.length);
  }
  return {
    put,
    drop,
    ...(pending.index ? { index: indexEntry(state) } : {}),
    effects: pending.effects,
    needs: [...pending.needs.values()],
  };
}

function droppedParts({ nodes, sizes }: WorkflowState, { dropped }: Pending): string[] {
  const gone = [...dropped].filter((id) => !nodes.has(id));
  for (const id of gone) noteNodeSize(sizes, id, 0);
  return gone.map((id) => NODE_PREFIX + id);
}

/** What lists show of a workflow. */
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
