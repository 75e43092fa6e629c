/** What the graph of a workflow shows: steps and what follows upon what. Loops and retries are one node until somebody opens them. */
import type { NodeStatus } from "../../../spec/manifest.ts";
import type { Look } from "./phases.ts";
import { countLooks, type Nodes, type TreeItem } from "./tree.ts";

export interface GraphNode {
  id: string;
  kind: "node" | "retry" | "loop" | "joint";
  title: string;
  look: Look;
  node?: NodeStatus;
  /** Of a loop or a retry that is folded: how many of its parts have each look. */
  counts: [Look, number][];
}

export interface Graph {
  nodes: GraphNode[];
  edges: [from: string, to: string][];
}

/** So many edges through one point are drawn as a point. */
const MOST_CROSSED = 12;
const CONTAINERS: ReadonlySet<string> = new Set(["Steps", "DAG", "StepGroup", "TaskGroup"]);

/** Makes the graph. @param isOpen tells whether the parts of a loop or retry are shown one by one */
export function graphOf(
  nodes: Nodes,
  tree: readonly TreeItem[],
  isOpen: (item: TreeItem) => boolean,
): Graph {
  const shown = new Map<string, GraphNode>();
  /** Node → graph node that stands for it. */
  const places = new Map<string, string>();
  const visit = (item: TreeItem, hiddenBy: string | undefined): void => {
    const isFolded = item.kind !== "node" && !isOpen(item);
    const isContainer = item.node !== undefined && CONTAINERS.has(item.node.type) &&
      item.children.length > 0;
    const isLoop = item.kind === "loop";
    const own = hiddenBy ?? (isFolded || !(isContainer || isLoop) ? item.id : undefined);
    if (own !== undefined) places.set(item.id, own);
    if (own === item.id) shown.set(item.id, graphNode(item, isFolded));
    const below = hiddenBy ?? (isFolded ? item.id : undefined);
    for (const child of item.children) visit(child, below);
  };
  for (const item of tree) visit(item, undefined);
  for (const { id, boundaryID = "" } of Object.values(nodes)) {
    // Groups are not in the tree; inside something folded they are hidden with it.
    const place = places.get(boundaryID);
    const isHidden = place !== undefined && place !== boundaryID;
    if (!places.has(id) && isHidden) places.set(id, place);
  }
  addJoints(nodes, places, shown);
  return { nodes: [...shown.values()], edges: edgesOf(nodes, places) };
}

function graphNode({ id, kind, title, look, node, children }: TreeItem, isFolded: boolean) {
  return {
    id,
    kind,
    title,
    look,
    ...(node !== undefined && { node }),
    counts: isFolded ? countLooks(children) : [],
  };
}

/** Keeps those groups as points that would otherwise connect many nodes with many. */
function addJoints(
  nodes: Nodes,
  places: Map<string, string>,
  shown: Map<string, GraphNode>,
): void {
  const parents = new Map<string, Set<string>>();
  for (const { id, children = [] } of Object.values(nodes)) {
    for (const child of children) {
      if (places.has(child)) continue;
      const found = parents.get(child) ?? new Set();
      parents.set(child, found.add(places.get(id) ?? id));
    }
  }
  for (const [id, from] of parents) {
    const to = new Set((nodes[id]?.children ?? []).map((child) => places.get(child) ?? child));
    if (from.size < 2 || to.size < 2 || from.size * to.size <= MOST_CROSSED) continue;
    places.set(id, id);
    shown.set(id, { id, kind: "joint", title: "", look: "Pending", counts: [] });
  }
}

function edgesOf(nodes: Nodes, places: ReadonlyMap<string, string>): Graph["edges"] {
  const memo = new Map<string, ReadonlySet<string>>();
  const targets = (id: string): ReadonlySet<string> => {
    const place = places.get(id);
    if (place !== undefined) return new Set([place]);
    const known = memo.get(id);
    if (known !== undefined) return known;
    memo.set(id, new Set());
    const found = new Set((nodes[id]?.children ?? []).flatMap((child) => [...targets(child)]));
    memo.set(id, found);
    return found;
  };
  const edges = new Map<string, [string, string]>();
  for (const { id, children = [] } of Object.values(nodes)) {
    const from = places.get(id);
    if (from === undefined) continue;
    for (const child of children) {
      for (const to of targets(child)) {
        if (to !== from) edges.set(`${from} ${to}`, [from, to]);
      }
    }
  }
  return [...edges.values()];
}
