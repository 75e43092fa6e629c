/**
 * The graph that clients see, derived from where nodes stand: which nodes a node leads to (`outbound`), and who its
 * children are. Nothing of it is stored, so a new child never rewrites a list.
 */
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

/** Children of every node, each once. Beyond so many edges, what comes next is the child of the group before. */
export function allChildren(
  state: WorkflowState,
  known: KnownOutbound = nothingKnown(),
): Map<string, string[]> {
  const children = new Map<string, Set<string>>();
  let edges = 0;
  const link = (parent: string, child: string) => {
    edges++;
    const list = children.get(parent);
    if (list === undefined) children.set(parent, new Set([child]));
    else list.add(child);
  };
  const ordered = [...state.nodes.values()].sort((a, b) => a.order - b.order);
  for (const node of ordered) {
    for (const parent of node.parents ?? []) link(parent, node.id);
    for (const id of node.after ?? []) {
      const before = state.nodes.get(id);
      if (before === undefined) continue;
      if (edges > MAX_EDGES) link(id, node.id);
      else for (const parent of outboundOf(state, before, known)) link(parent, node.id);
    }
  }
  return new Map([...children].map(([id, set]) => [id, [...set]]));
}
