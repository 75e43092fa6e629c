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
    expect(group).toMatchObject({ kind: "group", title: "check-…", look: "Failed" });
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
    const one = fan(60);
    const others = Array.from({ length: 60 }, (_, at) => node(`o${at}`));
    const ways = others.flatMap(({ id }, at): Graph["edges"] => [[`m${at}`, id], ["z", id]]);
    const apart: Graph = { nodes: [...one.nodes, ...others], edges: [...one.edges, ...ways] };
    expect(withGroups(apart, none)).toEqual(apart);
    const parts: Graph = {
      nodes: Array.from({ length: 60 }, (_, at) => node(`n${at}`, { within: `part(${at % 3}:x)` })),
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

/** `s`, then so many times `a`, `b`, `c`, then `e`. @param change of the steps of one of them */
function chains(
  count: number,
  change: (at: number) => Partial<GraphNode>[] = () => [{}, {}, {}],
): Graph {
  const rows = Array.from(
    { length: count },
    (_, at) =>
      change(at).map((more, step) =>
        node(`${"abc"[step]}${at}`, { title: `${"abc"[step]}-${at}`, ...more })
      ),
  );
  return {
    nodes: [node("s"), ...rows.flat(), node("e")],
    edges: rows.flatMap((row): Graph["edges"] => [
      ["s", row[0]?.id ?? ""],
      ...row.slice(1).map(({ id }, at): [string, string] => [row[at]?.id ?? "", id]),
      ...row.slice(2).map(({ id }): [string, string] => [id, "e"]),
    ]),
  };
}

describe("chains side by side", () => {
  const ids = (graph: Graph) => withGroups(graph, none).nodes.map(({ id }) => id);

  test("are one chain", () => {
    const { nodes, edges } = withGroups(chains(60), none);
    expect(nodes.map(({ id }) => id)).toEqual(["s", "group:a0", "group:b0", "group:c0", "e"]);
    expect(edges).toEqual([
      ["s", "group:a0"],
      ["group:a0", "group:b0"],
      ["group:b0", "group:c0"],
      ["group:c0", "e"],
    ]);
    const few = chains(20);
    expect(withGroups(few, none)).toEqual(few);
  });

  test("also without a beginning and an end, and as parts that have numbers", () => {
    const bare = ({ nodes, edges }: Graph): Graph => ({
      nodes: nodes.slice(1, -1),
      edges: edges.filter(([from, to]) => from !== "s" && to !== "e"),
    });
    expect(ids(bare(chains(60)))).toEqual(["group:a0", "group:b0", "group:c0"]);
    const parts = (name: (at: number) => string) =>
      ids(chains(60, (at) => [{}, {}, {}].map(() => ({ within: name(at) }))));
    expect(parts((at) => `part-${at}`)).toHaveLength(5);
    const alike = chains(
      60,
      (at) => [{}, {}, {}].map(() => ({ within: `part-${at}`, title: "a" })),
    );
    expect(withGroups(alike, none).nodes[1]).toMatchObject({ title: "a", within: "" });
    expect(parts((at) => `each(${at}:x)`)).toHaveLength(182);
  });

  test("that have come to different steps are one chain too", () => {
    const steps: Partial<GraphNode>[][] = [
      [{ look: "Running" }],
      [{}, { look: "Running" }],
      [{}, {}, {}],
    ];
    const { nodes } = withGroups(chains(90, (at) => steps[at % 3] ?? []), none);
    expect(nodes.map(({ members = [] }) => members.length)).toEqual([0, 90, 60, 30, 0]);
    expect(nodes[1]?.counts).toEqual([["Running", 30], ["Succeeded", 60]]);
  });

  test("that ended early stand beside the others", () => {
    const one = chains(60, (at) => at === 7 ? [{}, { look: "Failed" }] : [{}, {}, {}]);
    expect(ids(one).filter((id) => !id.startsWith("group:"))).toEqual(["s", "a7", "b7", "e"]);
  });

  test("can be opened step by step, and one of them can be looked at", () => {
    const { nodes, edges } = withGroups(chains(60), (id) => id.startsWith("a"));
    expect(nodes).toHaveLength(64);
    expect(edges.filter(([, to]) => to === "group:b0")).toHaveLength(60);
    expect(withGroups(chains(60), (id) => id === "b7").edges).toContainEqual(["group:a0", "b7"]);
  });

  // If they took time by the square of their number, these would not end before the test is given up.
  test("of any length, and any number of siblings, take time in proportion to it", () => {
    const nodes = Array.from({ length: 50_000 }, (_, at) => node(`n${at}`));
    const long = nodes.slice(1).map(({ id }, at): [string, string] => [`n${at}`, id]);
    expect(withGroups({ nodes, edges: long }, none).nodes).toHaveLength(50_000);
    const wide = nodes.slice(1).map(({ id }): [string, string] => ["n0", id]);
    expect(withGroups({ nodes, edges: wide }, none).nodes).toHaveLength(2);
  });
});
