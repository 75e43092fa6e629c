/**
 * The stored form of a workflow: part `h` is the header, `s` the specs, `a` the arguments in them, `n:<id>` one node each.
 * Every part carries a schema number; a newer program reads what an older one wrote. Arguments are apart, because without
 * them workflows of one manifest have the same specs, which are then read once for all of them.
 */
import { parseShared } from "../base/shared_json.ts";
import type { Arguments } from "../spec/manifest.ts";
import type { Changes } from "./engine.ts";
import type { IndexEntry } from "./index_entry.ts";
import { buildRuntime } from "./runtime.ts";
import type { Header, NodeRecord, Pending, StoredSpecs, WorkflowState } from "./state.ts";

/** Number of the stored form. In 1, arguments were in the specs. */
const SCHEMA = 2;
const NODE_PREFIX = "n:";
/** What a part of this schema that is not empty begins with. */
const PREFIX = `{"schema":${SCHEMA},`;

export function emptyPending(): Pending {
  return {
    header: false,
    specs: false,
    index: false,
    nodes: new Set(),
    dropped: new Set(),
    effects: [],
    phased: new Set(),
    needs: new Map(),
  };
}

/**
 * A workflow from its stored parts.
 * @throws {Error} when a part is missing, or was written by a newer program
 */
export function loadWorkflow(parts: Record<string, string>): WorkflowState {
  const nodes = new Map<string, NodeRecord>();
  for (const [key, text] of Object.entries(parts)) {
    if (!key.startsWith(NODE_PREFIX)) continue;
    const node = decode<NodeRecord>(text, key);
    nodes.set(node.id, node);
  }
  return {
    header: decode<Header>(parts["h"], "h"),
    specs: withArguments(
      { ...decode<StoredSpecs>(parts["s"], "s", parseShared) },
      parts["a"] === undefined ? {} : decode<StoredArguments>(parts["a"], "a"),
    ),
    nodes,
    runtime: buildRuntime(nodes.values()),
    pending: emptyPending(),
  };
}

function decode<T>(
  text: string | undefined,
  key: string,
  parse: (text: string) => unknown = JSON.parse,
): T {
  if (text === undefined) throw new Error(`Stored workflow has no part "${key}"`);
  if (text.startsWith(PREFIX)) return parse(`{${text.slice(PREFIX.length)}`) as T;
  const { schema, ...value } = parse(text) as { schema?: number } & T;
  if (schema === undefined || schema > SCHEMA) {
    throw new Error(
      `Part "${key}" has schema ${schema ?? "none"}; this program reads up to ${SCHEMA}`,
    );
  }
  return value as T;
}

function encode(value: object): string {
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
  if (pending.header || hasProgressed) put["h"] = encode(state.header);
  if (pending.specs) {
    const [specs, given] = splitArguments(state.specs);
    put["s"] = encode(specs);
    put["a"] = encode(given);
  }
  for (const id of pending.nodes) {
    const node = state.nodes.get(id);
    if (node !== undefined) put[NODE_PREFIX + id] = encode(node);
  }
  return {
    put,
    drop: pending.dropped.size === 0 ? [] : droppedParts(state, pending),
    ...(pending.index ? { index: indexEntry(state) } : {}),
    effects: pending.effects,
    needs: [...pending.needs.values()],
  };
}

function droppedParts({ nodes }: WorkflowState, { dropped }: Pending): string[] {
  return [...dropped].filter((id) => !nodes.has(id)).map((id) => NODE_PREFIX + id);
}

/** What lists show of a workflow. */
function indexEntry(state: WorkflowState): IndexEntry {
  const { metadata, phase, startedAt, finishedAt } = state.header;
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
