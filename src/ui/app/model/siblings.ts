/** Steps that stand side by side between the same steps: many of them are one node of the graph until somebody opens it. */
import type { Graph, GraphNode } from "./graph.ts";
import { countLooks, worstLook } from "./tree.ts";

/** So many siblings are shown one by one: their names say more than a count. */
const MOST_SHOWN = 20;
/** Shorter beginnings of their names say nothing. */
const LEAST_PREFIX = 2;
const COUNTING = new Intl.Collator("en", { numeric: true });

/** Puts many siblings into one node. @param isApart tells whether a step is shown by itself all the same */
export function withGroups(graph: Graph, isApart: (id: string) => boolean): Graph {
  const shown = new Map(graph.nodes.map((node): [string, GraphNode[]] => [node.id, [node]]));
  const places = new Map<string, string>();
  for (const siblings of siblingsOf(graph)) {
    const inOrder = siblings.toSorted((a, b) => COUNTING.compare(a.title, b.title));
    const members = inOrder.filter(({ id }) => !isApart(id));
    const group = members.length > MOST_SHOWN ? groupOf(members) : undefined;
    for (const { id } of group === undefined ? [] : members) places.set(id, group?.id ?? "");
    const rest = inOrder.filter(({ id }) => !places.has(id));
    const all = group === undefined ? rest : [group, ...rest];
    for (const [at, { id }] of siblings.entries()) shown.set(id, all.slice(at, at + 1));
  }
  return {
    nodes: graph.nodes.flatMap(({ id }) => shown.get(id) ?? []),
    edges: places.size === 0 ? graph.edges : edgesBetween(graph.edges, places),
  };
}

function edgesBetween(edges: Graph["edges"], places: ReadonlyMap<string, string>): Graph["edges"] {
  const found = new Map<string, [string, string]>();
  for (const [from, to] of edges) {
    const edge: [string, string] = [places.get(from) ?? from, places.get(to) ?? to];
    found.set(edge.join(" "), edge);
  }
  return [...found.values()];
}

/** Many steps of one template that follow upon the same steps, and are followed by the same ones. */
function siblingsOf({ nodes, edges }: Graph): GraphNode[][] {
  const numbers = new Map(nodes.map(({ id }, at) => [id, at]));
  const before: number[][] = nodes.map(() => []);
  const after: number[][] = nodes.map(() => []);
  for (const [from, to] of edges) {
    const [start = -1, end = -1] = [numbers.get(from), numbers.get(to)];
    before[end]?.push(start);
    after[start]?.push(end);
  }
  const listed = (all: number[] = []) => all.sort((a, b) => a - b).join();
  const alike = new Map<string, GraphNode[]>();
  for (const [at, node] of nodes.entries()) {
    if (node.kind === "joint") continue;
    const key = `${listed(before[at])} ${listed(after[at])} ${node.within}`;
    const same = alike.get(key);
    if (same === undefined) alike.set(key, [node]);
    else same.push(node);
  }
  return [...alike.values()].filter(({ length }) => length > MOST_SHOWN);
}

function groupOf(members: readonly GraphNode[]): GraphNode {
  const [first] = members;
  return {
    id: `group:${first?.id ?? ""}`,
    kind: "group",
    title: prefixOf(members.map(({ title }) => title)),
    within: first?.within ?? "",
    look: worstLook(members),
    counts: countLooks(members),
    members: members.map(({ id }) => id),
  };
}

/** What all names begin with, without the beginning of a number; "" when that says nothing. */
function prefixOf([first = "", ...others]: readonly string[]): string {
  let length = first.length;
  for (const other of others) {
    while (!other.startsWith(first.slice(0, length))) length--;
  }
  const prefix = first.slice(0, length).replace(/[0-9]+$/, "");
  return prefix.length < LEAST_PREFIX ? "" : prefix;
}
