/** Many siblings are one node of the graph. */
import { describe, expect, test } from "vitest";
import type { Graph, GraphNode } from "./graph.ts";
import { withGroups } from "./siblings.ts";

function node(id: string, more: Partial<GraphNode> = {}): GraphNode {
  return { id, kind: "node", title: id, within: "", look: "Succeeded", counts: [], ...more };
}

/** `a`, then so many steps, then `z`. */
function fan(count: number): Graph {
  const middle = Array.from(
    { length: count },
    (_, at) => node(`m${at}`, { title: `check-${at}`, look: at === 7 ? "Failed" : "Succeeded" }),
  );
  return {
    nodes: [node("a"), ...middle, node("z")],
    edges: middle.flatMap(({ id }): Graph["edges"] => [["a", id], [id, "z"]]),
  };
}
const none = () => false;

describe("siblings", () => {
  test("are one node with counts by phase, between what comes before and after", () => {
    const { nodes, edges } = withGroups(fan(60), none);
    expect(nodes.map(({ id }) => id)).toEqual(["a", "group:m0", "z"]);
    expect(edges).toEqual([["a", "group:m0"], ["group:m0", "z"]]);
    const [, group] = nodes;
    expect(group).toMatchObject({ kind: "group", title: "check-", look: "Failed" });
    expect(group?.counts).toEqual([["Failed", 1], ["Succeeded", 59]]);
    expect(group?.members).toHaveLength(60);
  });

  test("of a wide DAG of five layers, each after all of the one before, are five nodes", () => {
    const nodes = Array.from({ length: 300 }, (_, at) => node(`n${at}`));
    const edges = nodes.flatMap(({ id }, at): Graph["edges"] =>
      at < 60 ? [] : Array.from({ length: 60 }, (_, i) => {
        const layer = Math.floor(at / 60) - 1;
        return [`n${60 * layer + i}`, id];
      })
    );
    const graph = withGroups({ nodes, edges }, none);
    expect(graph.nodes).toHaveLength(5);
    expect(graph.edges).toHaveLength(4);
  });

  test("stay apart where they are few, lead to different steps or are parts of different ones", () => {
    const few = fan(20);
    expect(withGroups(few, none)).toEqual(few);
    const nodes = Array.from({ length: 60 }, (_, at) => [node(`n${at}`), node(`o${at}`)]).flat();
    const chains: Graph = {
      nodes,
      edges: Array.from({ length: 60 }, (_, at) => [`n${at}`, `o${at}`]),
    };
    expect(withGroups(chains, none)).toEqual(chains);
    const parts: Graph = {
      nodes: Array.from({ length: 60 }, (_, at) => node(`n${at}`, { within: `part-${at % 3}` })),
      edges: [],
    };
    expect(withGroups(parts, none)).toEqual(parts);
  });

  test("that somebody looks at stand beside the rest", () => {
    const { nodes, edges } = withGroups(fan(60), (id) => id === "m7");
    expect(nodes.map(({ id }) => id)).toEqual(["a", "group:m0", "m7", "z"]);
    expect(nodes[1]?.counts).toEqual([["Succeeded", 59]]);
    expect(edges).toHaveLength(4);
    expect(withGroups(fan(60), () => true).nodes).toHaveLength(62);
  });

  test("stand in the order of their numbers when they are open", () => {
    const graph = fan(30);
    const byText = graph.nodes.toSorted((a, b) => a.title < b.title ? -1 : 1);
    const { nodes } = withGroups({ ...graph, nodes: byText }, () => true);
    const titles = nodes.map(({ title }) => title).filter((title) => title.startsWith("check"));
    expect(titles).toEqual(Array.from({ length: 30 }, (_, at) => `check-${at}`));
    expect(nodes).toHaveLength(32);
  });

  test("without a common beginning of their names have none", () => {
    const { nodes } = fan(60);
    const mixed = nodes.map((one, at) => ({ ...one, title: `${at % 2 === 0 ? "x" : "y"}${at}` }));
    expect(withGroups({ ...fan(60), nodes: mixed }, none).nodes[1]?.title).toBe("");
  });
});
