/**
 * The graph that clients see, derived from where nodes stand: which nodes a node leads to (`outbound`), and who its
 * children are. Nothing of it is stored, so a new child never rewrites a list.
 */
import { STEP_SIZE, type Steps } from "../base/steps.ts";
import type { NodeRecord, WorkflowState } from "./state.ts";

/** What was found out of groups while nothing changes: without it, looking at all groups costs the square of their depth. */
export interface KnownOutbound {
  own: Map<string, readonly string[]>;
  all: Map<string, readonly string[]>;
}

export function nothingKnown(): KnownOutbound {
  return { own: new Map(), all: new Map() };
}

/** The last nodes of what a node stands for: what comes next is their child. */
export function outboundOf(
  state: WorkflowState,
  node: NodeRecord,
  known: KnownOutbound = nothingKnown(),
): string[] {
  const found: string[] = [];
  collect(state, node, found, known);
  return found;
}

function collect(
  state: WorkflowState,
  node: NodeRecord,
  found: string[],
  known: KnownOutbound,
): void {
  switch (node.type) {
    case "Skipped":
    case "Suspend":
    case "HTTP":
    case "Plugin":
      found.push(node.id);
      return;
    case "Pod": {
      const containers = membersOf(state, node).filter((member) => member.type === "Container");
      if (containers.length === 0) found.push(node.id);
      else found.push(...lastContainers(containers));
      return;
    }
    case "Container":
      found.push(node.id);
      return;
    case "Retry": {
      const last = membersOf(state, node).at(-1);
      found.push(last?.id ?? node.id);
      return;
    }
    case "TaskGroup":
    case "StepGroup": {
      const members = membersOf(state, node);
      if (members.length === 0) found.push(node.id);
      for (const member of members) collect(state, member, found, known);
      return;
    }
    case "Steps":
    case "DAG":
      if (node.memoizationStatus?.hit === true) found.push(node.id);
      else for (const id of allOutbound(state, node, known)) found.push(id);
  }
}

function allOutbound(
  state: WorkflowState,
  node: NodeRecord,
  known: KnownOutbound,
): readonly string[] {
  const before = known.all.get(node.id);
  if (before !== undefined) return before;
  const found: string[] = [];
  for (const id of ownOutbound(state, node, known)) collectId(state, id, found, known);
  known.all.set(node.id, found);
  return found;
}

function collectId(
  state: WorkflowState,
  id: string,
  found: string[],
  known: KnownOutbound,
): void {
  const node = state.nodes.get(id);
  if (node === undefined) return;
  if (node.type === "Retry") found.push(id);
  else collect(state, node, found, known);
}

/** Containers that no other one depends on. */
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
  if (node.outbound !== undefined) return node.outbound;
  const before = known.own.get(node.id);
  if (before !== undefined) return before;
  const found = findOwnOutbound(state, node, known);
  known.own.set(node.id, found);
  return found;
}

function findOwnOutbound(
  state: WorkflowState,
  node: NodeRecord,
  known: KnownOutbound,
): readonly string[] {
  const found: string[] = [];
  if (node.type === "Steps") {
    const last = membersOf(state, node).filter((member) => member.type === "StepGroup").at(-1);
    for (const member of last === undefined ? [] : membersOf(state, last)) {
      collect(state, member, found, known);
    }
    return found;
  }
  for (const id of node.targets ?? []) {
    const target = state.nodes.get(id);
    if (target !== undefined) collect(state, target, found, known);
  }
  return found;
}

function membersOf(state: WorkflowState, node: NodeRecord): NodeRecord[] {
  return (state.runtime.members.get(node.id) ?? [])
    .map((id) => state.nodes.get(id))
    .filter((member) => member !== undefined);
}

/** Most edges of a graph that are worked out in full: a join of wide loops has the product of their lengths. */
const MAX_EDGES = 1_000_000;

/** Where a graph has too many edges: the order of a node, and of its predecessors the first that is not followed further. */
export type EdgeLimit = readonly [order: number, predecessor: number];

export interface Edges {
  /** Children of every node that has some, each once, in the order of their creation. */
  children: Map<string, string[]>;
  /** From here on, what comes next is the child of the group before. Absent: all edges are there. */
  limit?: EdgeLimit;
}

/** All edges of the graph, step by step. */
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
    // All edges to a child are found together.
    else if (list.at(-1) !== child) list.push(child);
  };
  const ordered = [...state.nodes.values()].sort((a, b) => a.order - b.order);
  let nextPause = STEP_SIZE;
  for (const [at, node] of ordered.entries()) {
    for (const parent of node.parents ?? []) link(parent, node.id);
    for (const [index, id] of (node.after ?? []).entries()) {
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
  return limit === undefined ? { children } : { children, limit };
}

/** Parents of a node, each once. @param limit of the graph's edges */
export function parentsOf(state: WorkflowState, node: NodeRecord, limit?: EdgeLimit): string[] {
  const parents = new Set(node.parents);
  const [order, predecessor] = limit ?? [Infinity, 0];
  for (const [index, id] of (node.after ?? []).entries()) {
    const before = state.nodes.get(id);
    if (before === undefined) continue;
    const isBeyond = node.order > order || (node.order === order && index >= predecessor);
    for (const parent of isBeyond ? [id] : outboundOf(state, before)) parents.add(parent);
  }
  return [...parents];
}
