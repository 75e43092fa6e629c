/**
 * The nodes of a workflow as a tree: what a step contains lies below it, in the order of the manifest. Nodes that only hold others
 * together (step groups, task groups) are left out, attempts lie below their retry, and the items of a loop below one entry.
 */
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import { type Look, lookOfNode, LOOKS } from "./phases.ts";

export interface TreeItem {
  /** Id of the node, or of the loop that was made up for its items. */
  id: string;
  /** Absent for a loop. */
  node?: NodeStatus;
  title: string;
  look: Look;
  kind: "node" | "retry" | "loop";
  children: TreeItem[];
}

export type Nodes = Readonly<Record<string, NodeStatus>>;

/** So many items of a loop make an entry of their own. */
const LOOP_SIZE = 3;
/** Tells whether a node only holds others together. */
export function isGroup({ type }: NodeStatus): boolean {
  return type === "StepGroup" || type === "TaskGroup";
}

export function nodesOf(workflow: Workflow): Nodes {
  return workflow.status?.nodes ?? {};
}

export function titleOf(node: NodeStatus): string {
  return node.displayName || node.name || node.id;
}

/** The roots of the tree: the workflow's own node, then exit handlers and whatever else has no parent. */
export function treeOf(nodes: Nodes): TreeItem[] {
  const order = orderOf(nodes);
  const childrenOf = new Map<string, NodeStatus[]>();
  for (const id of order) {
    const node = nodes[id];
    if (node === undefined || isGroup(node)) continue;
    const parent = parentOf(node, nodes, attempts(nodes));
    const siblings = childrenOf.get(parent);
    if (siblings === undefined) childrenOf.set(parent, [node]);
    else siblings.push(node);
  }
  const seen = new Set<string>();
  const build = (node: NodeStatus): TreeItem => {
    seen.add(node.id);
    const own = (childrenOf.get(node.id) ?? []).filter(({ id }) => !seen.has(id)).map(build);
    return {
      id: node.id,
      node,
      title: titleOf(node),
      look: lookOfNode(node),
      kind: node.type === "Retry" ? "retry" : "node",
      // Attempts have numbers too, but are no loop.
      children: node.type === "Retry" ? own : withLoops(own),
    };
  };
  return withLoops((childrenOf.get("") ?? []).map(build));
}

const attemptCache = new WeakMap<Nodes, ReadonlyMap<string, string>>();

/** Attempt → its retry. */
function attempts(nodes: Nodes): ReadonlyMap<string, string> {
  const known = attemptCache.get(nodes);
  if (known !== undefined) return known;
  const found = new Map<string, string>();
  for (const { id, type, name, children } of Object.values(nodes)) {
    if (type !== "Retry") continue;
    for (const child of children ?? []) {
      // A retry also leads to its hooks.
      if (nodes[child]?.name.startsWith(`${name}(`)) found.set(child, id);
    }
  }
  attemptCache.set(nodes, found);
  return found;
}

function parentOf(
  node: NodeStatus,
  nodes: Nodes,
  retryOf: ReadonlyMap<string, string>,
): string {
  const retry = retryOf.get(node.id);
  if (retry !== undefined) return retry;
  const { boundaryID = "" } = node;
  return boundaryID !== node.id && nodes[boundaryID] !== undefined ? boundaryID : "";
}

/** Ids in an order in which siblings stay together as the manifest has them, and nothing comes before what it follows. */
function orderOf(nodes: Nodes): string[] {
  const open = new Map<string, number>();
  for (const { children = [] } of Object.values(nodes)) {
    for (const child of children) open.set(child, (open.get(child) ?? 0) + 1);
  }
  const order = Object.values(nodes).filter(({ id }) => !open.has(id))
    .sort((a, b) => compareText(a.startedAt ?? "", b.startedAt ?? "")).map(({ id }) => id);
  // The list grows while it is read.
  for (const id of order) {
    for (const child of nodes[id]?.children ?? []) {
      const rest = (open.get(child) ?? 0) - 1;
      open.set(child, rest);
      if (rest === 0) order.push(child);
    }
  }
  // Nodes that follow upon themselves are damaged, and are shown all the same.
  const seen = new Set(order);
  return [...order, ...Object.keys(nodes).filter((id) => !seen.has(id))];
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** The title of a loop's item without its index: `each(0:x)` is one of `each`. */
function loopOf({ title, node }: TreeItem): string | undefined {
  if (node === undefined) return undefined;
  return /^(.+)\([0-9]+(?::.*)?\)$/s.exec(title)?.[1];
}

/** The index in the title of a loop's item. Items are listed as they began, which says nothing. */
function indexOf({ title }: TreeItem): number {
  return Number(/\(([0-9]+)[^(]*\)$/s.exec(title)?.[1] ?? 0);
}

/** Puts the items of each loop below one entry, where the first of them stood. */
function withLoops(items: TreeItem[]): TreeItem[] {
  const loops = new Map<string, TreeItem[]>();
  for (const item of items) {
    const loop = loopOf(item);
    if (loop === undefined) continue;
    const members = loops.get(loop);
    if (members === undefined) loops.set(loop, [item]);
    else members.push(item);
  }
  return items.flatMap((item) => {
    const loop = loopOf(item);
    const members = loop === undefined ? undefined : loops.get(loop);
    if (loop === undefined || members === undefined || members.length < LOOP_SIZE) return [item];
    if (members[0] !== item) return [];
    const entry: TreeItem = {
      id: `loop:${item.node?.boundaryID ?? ""}:${loop}`,
      title: loop,
      look: worstLook(members),
      kind: "loop",
      children: members.toSorted((a, b) => indexOf(a) - indexOf(b)),
    };
    return [entry];
  });
}

/** The look that stands for several. */
export function worstLook(items: readonly { look: Look }[]): Look {
  return LOOKS.find((look) => items.some((item) => item.look === look)) ?? "Pending";
}

/** How many items have each look, the worst first. */
export function countLooks(items: readonly { look: Look }[]): [Look, number][] {
  const counts = new Map<Look, number>();
  for (const { look } of items) counts.set(look, (counts.get(look) ?? 0) + 1);
  return LOOKS.flatMap((look) => {
    const count = counts.get(look);
    return count === undefined ? [] : [[look, count] as [Look, number]];
  });
}

/** Every item of a tree with its depth and its place, as far as `isOpen` allows. */
export function visibleItems(
  items: readonly TreeItem[],
  isOpen: (item: TreeItem) => boolean,
  depth = 0,
): { item: TreeItem; depth: number }[] {
  return items.flatMap((item) => [
    { item, depth },
    ...(isOpen(item) ? visibleItems(item.children, isOpen, depth + 1) : []),
  ]);
}

/** Items that are closed until somebody opens them: large loops, and retries. */
export function isFoldedFirst({ kind, children }: TreeItem): boolean {
  return kind === "retry" || (kind === "loop" && children.length > 5);
}

/** Ids of the items above a node, so that they can be opened. */
export function pathTo(items: readonly TreeItem[], id: string): string[] | undefined {
  for (const item of items) {
    if (item.id === id) return [];
    const below = pathTo(item.children, id);
    if (below !== undefined) return [item.id, ...below];
  }
  return undefined;
}
