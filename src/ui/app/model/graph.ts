/** What the graph of a workflow shows: steps and what follows upon what. Loops and retries are one node until somebody opens them. */
import type { NodeStatus } from "../../../spec/manifest.ts";
import type { Look } from "./phases.ts";
import { countLooks, type Nodes, pathTo, type TreeItem, worstLook } from "./tree.ts";

export interface GraphNode {
  id: string;
  kind: "node" | "retry" | "loop" | "group" | "joint";
  title: string;
  /** Title of the step that it is a part of; "" for a step of the workflow itself. */
  within: string;
  look: Look;
  node?: NodeStatus;
  /** Of a loop or a retry that is folded, and of a group: how many of its parts have each look. */
  counts: [Look, number][];
  /** Of a group: the steps that it stands for. */
  members?: string[];
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
  const visit = (item: TreeItem, hiddenBy: string | undefined, within: string): void => {
    const isFolded = item.kind !== "node" && !isOpen(item);
    const isContainer = item.node !== undefined && CONTAINERS.has(item.node.type) &&
      item.children.length > 0;
    const isLoop = item.kind === "loop";
    const own = hiddenBy ?? (isFolded || !(isContainer || isLoop) ? item.id : undefined);
    if (own !== undefined) places.set(item.id, own);
    if (own === item.id) shown.set(item.id, graphNode(item, isFolded, within));
    const below = hiddenBy ?? (isFolded ? item.id : undefined);
    const inside = isContainer && item !== tree[0] ? item.title : within;
    for (const child of item.children) visit(child, below, inside);
  };
  for (const item of tree) visit(item, undefined, "");
  for (const { id, boundaryID = "" } of Object.values(nodes)) {
    // Groups are not in the tree; inside something folded they are hidden with it.
    const place = places.get(boundaryID);
    const isHidden = place !== undefined && place !== boundaryID;
    if (!places.has(id) && isHidden) places.set(id, place);
  }
  addJoints(nodes, places, shown);
  const edges = edgesOf(nodes, places);
  edges.push(...edgesToExit(tree, shown, edges));
  return { nodes: [...shown.values()], edges };
}

/** The node of the graph that shows a step: its own, that of what it is folded into, or the first one inside it. */
export function shownAs(
  { nodes }: Graph,
  tree: readonly TreeItem[],
  step: string,
): string | undefined {
  const places = new Map<string, string>();
  for (const { id, members = [] } of nodes) {
    for (const one of [id, ...members]) places.set(one, id);
  }
  const path = pathTo(tree, step) ?? [];
  const around = [step, ...path.toReversed()].find((id) => places.has(id));
  if (around !== undefined) return places.get(around);
  let items = tree;
  for (const id of [...path, step]) items = items.find((item) => item.id === id)?.children ?? [];
  return firstOf(items, places);
}

function firstOf(
  items: readonly TreeItem[],
  places: ReadonlyMap<string, string>,
): string | undefined {
  for (const { id, children } of items) {
    const found = places.get(id) ?? firstOf(children, places);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What needs somebody, or goes on. */
const LIVELY: ReadonlySet<Look> = new Set(["Error", "Failed", "Waiting", "Running", "Suspended"]);

/** The node of the graph that is looked at first: the chosen step, else one that failed, waits or runs, else the beginning. */
export function firstLook(
  graph: Graph,
  tree: readonly TreeItem[],
  selected: string | undefined,
): string | undefined {
  const chosen = selected === undefined ? undefined : shownAs(graph, tree, selected);
  if (chosen !== undefined) return chosen;
  const worst = worstLook(graph.nodes);
  const first = graph.nodes.find(({ look }) => look === worst && LIVELY.has(look));
  return (first ?? graph.nodes[0])?.id;
}

function graphNode(
  { id, kind, title, look, node, children }: TreeItem,
  isFolded: boolean,
  within: string,
): GraphNode {
  return {
    id,
    kind,
    title,
    within,
    look,
    ...(node !== undefined && { node }),
    counts: isFolded ? countLooks(children) : [],
  };
}

/** A point where edges meet. */
function joint(id: string): GraphNode {
  return { id, kind: "joint", title: "", within: "", look: "Pending", counts: [] };
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
    shown.set(id, joint(id));
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

/** The exit handler begins when all else has ended: its first steps follow upon the last ones of the workflow. */
function edgesToExit(
  [own, ...others]: readonly TreeItem[],
  shown: Map<string, GraphNode>,
  edges: Graph["edges"],
): Graph["edges"] {
  const exit = others.find(({ node }) => node?.name === `${own?.node?.name}.onExit`);
  if (own === undefined || exit === undefined) return [];
  const haveNext = new Set(edges.map(([from]) => from));
  const havePrevious = new Set(edges.map(([, to]) => to));
  const last = shownBelow(own, shown).filter((id) => !haveNext.has(id));
  const first = shownBelow(exit, shown).filter((id) => !havePrevious.has(id));
  if (last.length * first.length <= MOST_CROSSED || first.length === 1) {
    return last.flatMap((from) => first.map((to): [string, string] => [from, to]));
  }
  const middle = joint(`exit:${exit.id}`);
  shown.set(middle.id, middle);
  return [
    ...last.map((from): [string, string] => [from, middle.id]),
    ...first.map((to): [string, string] => [middle.id, to]),
  ];
}

function shownBelow(item: TreeItem, shown: ReadonlyMap<string, GraphNode>): string[] {
  const below = item.children.flatMap((child) => shownBelow(child, shown));
  return shown.has(item.id) ? [item.id, ...below] : below;
}
