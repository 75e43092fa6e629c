/**
 * Steps that stand side by side between the same steps: many of them are one node of the graph until somebody opens it. So are the
 * first steps of many chains side by side, the second ones, and so on.
 */
import { chainsOf } from "./chains.ts";
import type { Graph, GraphNode } from "./graph.ts";
import type { Look } from "./phases.ts";
import { countLooks, worstLook } from "./tree.ts";

/** So many siblings are shown one by one: their names say more than a count. */
const MOST_SHOWN = 20;
/** Shorter beginnings of their names say nothing. */
const LEAST_PREFIX = 2;
/** Looks of steps that have not ended. */
const GOING_ON: ReadonlySet<Look> = new Set(["Pending", "Waiting", "Running", "Suspended"]);
const COUNTING = new Intl.Collator("en", { numeric: true });

/** A chain of steps. */
interface Row {
  steps: GraphNode[];
  /** What it follows upon. */
  before: string;
  /** What follows upon it; undefined while its last step goes on, after which more may come. */
  after: string | undefined;
}

/**
 * Puts many siblings into one node.
 * @param isApart tells whether a step is shown by itself all the same
 * @param all siblings of the graph
 */
export function withGroups(
  graph: Graph,
  isApart: (id: string) => boolean,
  all = siblingsOf(graph),
): Graph {
  const shown = new Map(graph.nodes.map((node): [string, GraphNode[]] => [node.id, [node]]));
  const order = new Map(graph.nodes.map((node, at) => [node, at]));
  const placeOf = (node: GraphNode) => order.get(node) ?? 0;
  const places = new Map<string, string>();
  for (const siblings of all) {
    const members = siblings.filter(({ id }) => !isApart(id));
    const group = members.length > MOST_SHOWN ? groupOf(members) : undefined;
    for (const { id } of group === undefined ? [] : members) places.set(id, group?.id ?? "");
    const rest = siblings.filter(({ id }) => !places.has(id));
    const parts = group === undefined ? rest : [group, ...rest];
    const slots = siblings.toSorted((a, b) => placeOf(a) - placeOf(b));
    for (const [at, { id }] of slots.entries()) shown.set(id, parts.slice(at, at + 1));
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

/** Steps that have the same place in rows that are alike, where those are many; in the order of the rows. */
export function siblingsOf(graph: Graph): GraphNode[][] {
  return alikeOf(rowsOf(graph)).filter(({ length }) => length > MOST_SHOWN).flatMap((rows) => {
    const inOrder = rows.toSorted((a, b) => COUNTING.compare(nameOf(a), nameOf(b)));
    const places: GraphNode[][] = [];
    for (const { steps } of inOrder) {
      for (const [at, step] of steps.entries()) (places[at] ??= []).push(step);
    }
    return places;
  }).filter(({ length }) => length > MOST_SHOWN);
}

/** What one part of a workflow and the next have in common: the items of a loop are parts of different ones. */
function partOf({ within }: GraphNode): string {
  return within.endsWith(")") ? within : within.replaceAll(/[0-9]+/g, "#");
}

function nameOf({ steps: [first] }: Row): string {
  return `${first?.within} ${first?.title}`;
}

/** Rows that follow upon the same steps and are followed by the same ones. One that goes on is like those that begin so. */
function alikeOf(rows: readonly Row[]): Row[][] {
  const numbers = new Map<string, number>();
  const numberOf = (text: string) => numbers.get(text) ?? numbers.set(text, numbers.size).size - 1;
  /** Numbers of what a row begins with: its first step, its first two steps, and so on. */
  const beginnings = ({ before, steps }: Row) => {
    let at = numberOf(before);
    return steps.map((step) => at = numberOf(`${at} ${partOf(step)}`));
  };
  const ended = rows.filter(({ after }) => after !== undefined);
  const alike = [
    ...Map.groupBy(ended, (row) => `${beginnings(row).at(-1)} ${row.after}`).values(),
  ];
  /** Beginning → most of the rows that begin so. */
  const most = new Map<number, Row[]>();
  const begin = (same: Row[]) => {
    for (const at of same[0] === undefined ? [] : beginnings(same[0])) {
      if ((most.get(at)?.length ?? 0) < same.length) most.set(at, same);
    }
  };
  alike.forEach(begin);
  const open = rows.filter(({ after }) => after === undefined);
  for (const row of open.toSorted((a, b) => b.steps.length - a.steps.length)) {
    const same = most.get(beginnings(row).at(-1) ?? -1);
    if (same !== undefined) same.push(row);
    else begin(alike[alike.push([row]) - 1] ?? []);
  }
  return alike;
}

/** The chains of a graph. Points where edges meet are part of none. */
function rowsOf({ nodes, edges }: Graph): Row[] {
  const ids = nodes.map(({ id }) => id);
  return chainsOf(ids, edges, (at) => nodes[at]?.kind !== "joint").map((chain) => {
    const steps = chain.steps.flatMap((at) => nodes[at] ?? []);
    const goesOn = chain.after === "" && GOING_ON.has(steps.at(-1)?.look ?? "Pending");
    return { steps, before: chain.before, after: goesOn ? undefined : chain.after };
  });
}

function groupOf(members: readonly GraphNode[]): GraphNode {
  const [first] = members;
  return {
    id: `group:${first?.id ?? ""}`,
    kind: "group",
    title: prefixOf(members.map(({ title }) => title)),
    within: members.every(({ within }) => within === first?.within) ? first?.within ?? "" : "",
    look: worstLook(members),
    counts: countLooks(members),
    members: members.map(({ id }) => id),
  };
}

/** What all names begin with, without the beginning of a number; "" when that says nothing. The name itself, if all have it. */
function prefixOf([first = "", ...others]: readonly string[]): string {
  if (others.every((other) => other === first)) return first;
  let length = first.length;
  for (const other of others) {
    while (!other.startsWith(first.slice(0, length))) length--;
  }
  const prefix = first.slice(0, length).replace(/[0-9]+$/, "");
  return prefix.length < LEAST_PREFIX ? "" : `${prefix}…`;
}
