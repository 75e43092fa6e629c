/**
 * The graph that clients see: which nodes are last in a node (`outbound`), and which nodes are its children. It is derived
 * from the places of the nodes and never stored, so a new child rewrites no list.
 */
import { sortSteps, STEP_SIZE, type Steps } from "../../base/steps.ts";
import type { NodeType } from "../../spec/manifest.ts";
import type { EdgeLimit } from "../ongoing.ts";
import { membersOf } from "../live.ts";
import type { WorkflowState } from "../state.ts";
import { byOrder, type NodeRecord } from "../records.ts";

/** What is known of groups while nothing changes. Without it, a look at all groups costs the square of their depth. */
export interface KnownOutbound {
  own: Map<string, readonly string[]> | undefined;
  all: Map<string, readonly string[]> | undefined;
  /**
   * A Steps or DAG node that failFast or an error has ended shows no last nodes, so what comes after it has no parent. If true,
   * it has those that were last inside it.
   */
  isWhole: boolean;
}

/** For the first of several calls. Pass it on as long as nothing changes. */
export function nothingKnown(isWhole = false): KnownOutbound {
  return { own: undefined, all: undefined, isWhole };
}

/** The last nodes inside a node. Whatever comes next is a child of these. */
export function outboundOf(
  state: WorkflowState,
  node: NodeRecord,
  known: KnownOutbound = nothingKnown(),
): string[] {
  const found: string[] = [];
  collect(state, node, found, known);
  return found;
}

type Collect = (
  state: WorkflowState,
  node: NodeRecord,
  found: string[],
  known: KnownOutbound,
) => void;

const collect: Collect = (state, node, found, known) => {
  // A node of an imported status may have an unknown type.
  if (Object.hasOwn(OUTBOUND, node.type)) OUTBOUND[node.type](state, node, found, known);
};

const collectItself: Collect = (_state, node, found) => {
  found.push(node.id);
};

const collectMembers: Collect = (state, node, found, known) => {
  const members = membersOf(node);
  if (members.length === 0) found.push(node.id);
  for (const member of members) collect(state, member, found, known);
};

const collectInside: Collect = (state, node, found, known) => {
  if (node.memoizationStatus?.hit === true) found.push(node.id);
  else for (const id of allOutbound(state, node, known)) found.push(id);
};

/** Finds the last nodes inside a node of each type. */
const OUTBOUND: Readonly<Record<NodeType, Collect>> = {
  Steps: collectInside,
  DAG: collectInside,
  StepGroup: collectMembers,
  TaskGroup: collectMembers,
  Retry(_state, node, found) {
    found.push(membersOf(node).at(-1)?.id ?? node.id);
  },
  Pod(state, node, found, known) {
    const members = membersOf(node);
    const containers = members.filter((member) => member.type === "Container");
    if (containers.length === 0) return void found.push(node.id);
    found.push(...lastContainers(containers));
    // Hooks of a container set stand beside its containers.
    for (const member of members) {
      if (member.type !== "Container") collect(state, member, found, known);
    }
  },
  Skipped: collectItself,
  Suspend: collectItself,
  HTTP: collectItself,
  Plugin: collectItself,
  Container: collectItself,
};

function allOutbound(
  state: WorkflowState,
  node: NodeRecord,
  known: KnownOutbound,
): readonly string[] {
  const before = known.all?.get(node.id);
  if (before !== undefined) return before;
  const found: string[] = [];
  for (const id of ownOutbound(state, node, known)) {
    // A node in which nothing began is its own last one.
    if (id === node.id) found.push(id);
    else collectId(state, id, found, known);
  }
  (known.all ??= new Map()).set(node.id, found);
  return found;
}

function collectId(
  state: WorkflowState,
  id: string,
  found: string[],
  known: KnownOutbound,
): void {
  const node = state.nodes.get(id);
  if (node !== undefined) collect(state, node, found, known);
}

/** Containers on which no other container depends. */
function lastContainers(containers: readonly NodeRecord[]): string[] {
  const parents = new Set(containers.flatMap((container) => container.parents ?? []));
  return containers.map(({ id }) => id).filter((id) => !parents.has(id));
}

/** What a Steps or DAG node shows as its outbound nodes. */
export function ownOutbound(
  state: WorkflowState,
  node: NodeRecord,
  known: KnownOutbound = nothingKnown(),
): readonly string[] {
  if (node.outbound !== undefined && !(known.isWhole && node.outbound.length === 0)) {
    return node.outbound;
  }
  const before = known.own?.get(node.id);
  if (before !== undefined) return before;
  const found = findOwnOutbound(state, node, known);
  (known.own ??= new Map()).set(node.id, found);
  return found;
}

function findOwnOutbound(
  state: WorkflowState,
  node: NodeRecord,
  known: KnownOutbound,
): readonly string[] {
  const found: string[] = [];
  if (node.type === "Steps") {
    const last = membersOf(node).filter((member) => member.type === "StepGroup").at(-1);
    for (const member of last === undefined ? [] : membersOf(last)) {
      collect(state, member, found, known);
    }
  } else {
    for (const target of targetsOf(state, node, known)) collect(state, target, found, known);
  }
  if (known.isWhole && found.length === 0) found.push(node.id);
  return found;
}

/** The nodes of a DAG's targets. One that did not come to its end has none; then all its tasks, if the graph is to be whole. */
function targetsOf(
  { nodes }: WorkflowState,
  node: NodeRecord,
  { isWhole }: KnownOutbound,
): readonly NodeRecord[] {
  if (node.targets === undefined) return isWhole ? membersOf(node) : [];
  return node.targets.flatMap((id) => nodes.get(id) ?? []);
}

/** Most edges that are worked out in full: where wide loops join, there are as many as the product of their lengths. */
const MAX_EDGES = 1_000_000;

export interface Edges {
  /** All nodes in the order of creation. */
  ordered: readonly NodeRecord[];
  /** The children of each node that has children, each once, in the order of creation. */
  children: Map<string, string[]>;
  /** From here on a node is the child of the group before it. Absent: all edges are there. */
  limit?: EdgeLimit;
}

const NONE: readonly string[] = [];

/** Works out all edges of the graph, step by step. */
export function* edgeSteps(
  state: WorkflowState,
  known: KnownOutbound = nothingKnown(),
): Steps<Edges> {
  const children = new Map<string, string[]>();
  let edges = 0;
  let limit: EdgeLimit | undefined;
  const link = (parent: string, child: string) => {
    edges++;
    const list = children.get(parent);
    if (list === undefined) children.set(parent, [child]);
    // All edges to a child are found one after the other.
    else if (list.at(-1) !== child) list.push(child);
  };
  const ordered = yield* sortSteps(state.nodes.values(), byOrder);
  let nextPause = STEP_SIZE;
  for (let at = 0; at < ordered.length; at++) {
    const node = ordered[at] as NodeRecord;
    for (const parent of node.parents ?? NONE) link(parent, node.id);
    const { after = NONE } = node;
    for (let index = 0; index < after.length; index++) {
      const id = after[index] as string;
      const before = state.nodes.get(id);
      if (before === undefined) continue;
      if (edges > MAX_EDGES) limit ??= [node.order, index];
      if (limit !== undefined) link(id, node.id);
      else for (const parent of outboundOf(state, before, known)) link(parent, node.id);
    }
    if (at + edges < nextPause) continue;
    nextPause = at + edges + STEP_SIZE;
    yield;
  }
  return limit === undefined ? { ordered, children } : { ordered, children, limit };
}

/** The parents of a node in the whole graph, each once. @param limit of the graph's edges */
export function parentsOf(state: WorkflowState, node: NodeRecord, limit?: EdgeLimit): string[] {
  const parents = new Set(node.parents);
  const [order, predecessor] = limit ?? [Infinity, 0];
  for (const [index, id] of (node.after ?? []).entries()) {
    const before = state.nodes.get(id);
    if (before === undefined) continue;
    const isBeyond = node.order > order || (node.order === order && index >= predecessor);
    for (const parent of isBeyond ? [id] : outboundOf(state, before, nothingKnown(true))) {
      parents.add(parent);
    }
  }
  return [...parents];
}
