/** The tree and the graph of steps. */
import { describe, expect, test } from "vitest";
import type { NodeStatus } from "../../../spec/manifest.ts";
import { stepsWith } from "./find.ts";
import { firstLook, graphOf, shownAs } from "./graph.ts";
import { withGroups } from "./siblings.ts";
import { countLooks, isFoldedFirst, type Nodes, pathTo, type TreeItem, treeOf } from "./tree.ts";

function node(id: string, type: NodeStatus["type"], more: Partial<NodeStatus> = {}): NodeStatus {
  const displayName = more.name?.split(".").at(-1) ?? id;
  return {
    id,
    name: id,
    displayName,
    type,
    phase: "Succeeded",
    startedAt: null,
    finishedAt: null,
    ...(id !== "w" && { boundaryID: "w" }),
    ...more,
  };
}

function nodesFrom(...all: NodeStatus[]): Nodes {
  return Object.fromEntries(all.map((one) => [one.id, one]));
}

/** Steps: a, then a loop of `count` items, then a step with two attempts. */
function withLoop(count: number): Nodes {
  const items = Array.from({ length: count }, (_, index) =>
    node(`i${index}`, "Pod", {
      name: `w[1].each(${index}:x)`,
      children: ["g2"],
      phase: index === 0 ? "Failed" : "Succeeded",
    }));
  return nodesFrom(
    node("w", "Steps", { children: ["g0"] }),
    node("g0", "StepGroup", { children: ["a"] }),
    node("a", "Pod", { children: ["g1"] }),
    node("g1", "StepGroup", { children: items.map(({ id }) => id).reverse() }),
    ...items,
    node("g2", "StepGroup", { children: ["r"] }),
    node("r", "Retry", { name: "w[2].last", children: ["r0", "r1"] }),
    node("r0", "Pod", { name: "w[2].last(0)", phase: "Failed" }),
    node("r1", "Pod", { name: "w[2].last(1)" }),
  );
}

const titles = (items: readonly TreeItem[]): unknown[] =>
  items.map(({ title, children }) => children.length === 0 ? title : [title, titles(children)]);

describe("the tree", () => {
  test("has steps in the order of the manifest, items below their loop, attempts below their retry", () => {
    expect(titles(treeOf(withLoop(3)))).toEqual([
      ["w", ["a", ["each", ["each(0:x)", "each(1:x)", "each(2:x)"]], [
        "last",
        ["last(0)", "last(1)"],
      ]]],
    ]);
  });

  test("leaves two items of a loop where they are", () => {
    expect(titles(treeOf(withLoop(2)))[0]).toEqual(["w", ["a", "each(1:x)", "each(0:x)", [
      "last",
      ["last(0)", "last(1)"],
    ]]]);
  });

  test("shows a node whose parent is unknown, and ends with nodes that name each other", () => {
    const odd = nodesFrom(
      node("x", "Pod", { boundaryID: "gone" }),
      node("y", "DAG", { boundaryID: "z", children: ["z"] }),
      node("z", "DAG", { boundaryID: "y", children: ["y"] }),
    );
    expect(titles(treeOf(odd))).toEqual(["x"]);
  });

  test("knows what lies above a step, and counts looks with the worst first", () => {
    const tree = treeOf(withLoop(3));
    expect(pathTo(tree, "i1")).toEqual(["w", "loop:w:each"]);
    const loop = tree[0]?.children[1];
    expect(loop?.look).toBe("Failed");
    expect(countLooks(loop?.children ?? [])).toEqual([["Failed", 1], ["Succeeded", 2]]);
  });
});

describe("the graph", () => {
  const drawn = (nodes: Nodes, isOpen: (item: TreeItem) => boolean) =>
    graphOf(nodes, treeOf(nodes), isOpen);

  test("folds loops and retries, and keeps what follows upon what", () => {
    const graph = drawn(withLoop(200), (item) => !isFoldedFirst(item));
    expect(graph.nodes.map(({ id }) => id)).toEqual(["a", "loop:w:each", "r"]);
    expect(graph.nodes[1]?.counts).toEqual([["Failed", 1], ["Succeeded", 199]]);
    expect(graph.edges).toEqual([["a", "loop:w:each"], ["loop:w:each", "r"]]);
  });

  test("shows every item of an open loop, and many to many through a point", () => {
    const open = drawn(withLoop(20), (item) => item.kind === "loop");
    expect(open.nodes).toHaveLength(22);
    expect(open.edges).toHaveLength(40);
    const items = ["p", "q", "s", "t"];
    const crossed = nodesFrom(
      node("w", "Steps", { children: ["g0"] }),
      node("g0", "StepGroup", { children: items }),
      ...items.map((id) => node(id, "Pod", { children: ["g1"] })),
      node("g1", "StepGroup", { children: items.map((id) => `${id}2`) }),
      ...items.map((id) => node(`${id}2`, "Pod")),
    );
    const graph = drawn(crossed, () => true);
    expect(graph.nodes.filter(({ kind }) => kind === "joint").map(({ id }) => id)).toEqual(["g1"]);
    expect(graph.edges).toHaveLength(8);
  });

  test("tells what a step is a part of, unless that is the workflow", () => {
    const { nodes } = drawn(
      nodesFrom(
        node("w", "DAG", { children: ["a", "b"] }),
        node("a", "Pod"),
        node("b", "Steps", { children: ["g"] }),
        node("g", "StepGroup", { boundaryID: "b", children: ["b1"] }),
        node("b1", "Pod", { boundaryID: "b" }),
      ),
      () => true,
    );
    expect(nodes.map(({ id, within }) => [id, within])).toEqual([["a", ""], ["b1", "b"]]);
  });

  test("shows a step by itself, folded with others, or by what is in it", () => {
    const nodes = withLoop(200);
    const tree = treeOf(nodes);
    const folded = graphOf(nodes, tree, (item) => !isFoldedFirst(item));
    expect(shownAs(folded, tree, "a")).toBe("a");
    expect(shownAs(folded, tree, "i7")).toBe("loop:w:each");
    expect(shownAs(folded, tree, "r1")).toBe("r");
    expect(shownAs(folded, tree, "w")).toBe("a");
    expect(shownAs(folded, tree, "nowhere")).toBeUndefined();
    const open = withGroups(graphOf(nodes, tree, () => true), (id) => id === "i7");
    expect(open.nodes.map(({ id }) => id)).toEqual(["a", "group:i0", "i7", "r", "r0", "r1"]);
    expect(shownAs(open, tree, "i8")).toBe("group:i0");
    expect(shownAs(open, tree, "i7")).toBe("i7");
    expect(shownAs(open, tree, "loop:w:each")).toBe("group:i0");
  });

  test("is looked at first at the chosen step, else where somebody is needed, else at its beginning", () => {
    const nodes = withLoop(200);
    const tree = treeOf(nodes);
    const graph = graphOf(nodes, tree, (item) => !isFoldedFirst(item));
    expect(firstLook(graph, tree, undefined)).toBe("loop:w:each");
    expect(firstLook(graph, tree, "r1")).toBe("r");
    const done = nodesFrom(node("w", "DAG", { children: ["a"] }), node("a", "Pod"));
    const small = graphOf(done, treeOf(done), () => true);
    expect(firstLook(small, treeOf(done), undefined)).toBe("a");
    const runs = nodesFrom(
      node("w", "DAG", { children: ["a", "b", "c"], phase: "Running" }),
      node("a", "Pod"),
      node("b", "Pod", { phase: "Pending" }),
      node("c", "Pod", { phase: "Running" }),
    );
    expect(firstLook(graphOf(runs, treeOf(runs), () => true), treeOf(runs), undefined)).toBe("c");
  });

  test("finds steps by their names, their messages and what they got", () => {
    const tree = treeOf(nodesFrom(
      node("w", "DAG", { children: ["a", "b", "c"] }),
      node("a", "Pod", { inputs: { parameters: [{ name: "uuid", value: "Job-4711" }] } }),
      node("b", "Pod", { message: "no job-4711 here" }),
      node("c", "Pod"),
    ));
    expect(stepsWith(tree, "JOB-4711")).toEqual(["a", "b"]);
    expect(stepsWith(tree, "c")).toEqual(["c"]);
    expect(stepsWith(tree, "4712")).toEqual([]);
  });

  describe("the exit handler", () => {
    const exit = (type: NodeStatus["type"], more: Partial<NodeStatus> = {}) =>
      node("x", type, { name: "w.onExit", boundaryID: "", ...more });
    const main = [
      node("w", "DAG", { children: ["a"] }),
      node("a", "Pod", { children: ["b", "c"] }),
      node("b", "Pod"),
      node("c", "Retry", { name: "w.c", children: ["c0"] }),
      node("c0", "Pod", { name: "w.c(0)" }),
    ];

    test("follows upon all that ends the workflow", () => {
      const { edges } = drawn(nodesFrom(...main, exit("Pod")), () => false);
      expect(edges).toEqual([["a", "b"], ["a", "c"], ["b", "x"], ["c", "x"]]);
    });

    test("follows upon the last attempt of a retry that is open, with its first steps", () => {
      const steps = [
        exit("Steps", { children: ["xg0"] }),
        node("xg0", "StepGroup", { boundaryID: "x", children: ["x1"] }),
        node("x1", "Pod", { boundaryID: "x", children: ["xg1"] }),
        node("xg1", "StepGroup", { boundaryID: "x", children: ["x2"] }),
        node("x2", "Pod", { boundaryID: "x" }),
      ];
      const { edges } = drawn(nodesFrom(...main, ...steps), () => true);
      expect(edges).toContainEqual(["c0", "x1"]);
      expect(edges).toContainEqual(["b", "x1"]);
      expect(edges.filter(([, to]) => to === "x2")).toEqual([["x1", "x2"]]);
    });

    test("is reached through a point where many end and many begin", () => {
      const ids = Array.from({ length: 7 }, (_, index) => `${index}`);
      const many = nodesFrom(
        node("w", "DAG", { children: ids.map((id) => `a${id}`) }),
        ...ids.map((id) => node(`a${id}`, "Pod")),
        exit("DAG", { children: ids.map((id) => `x${id}`) }),
        ...ids.map((id) => node(`x${id}`, "Pod", { boundaryID: "x" })),
      );
      const { nodes, edges } = drawn(many, () => true);
      expect(nodes.filter(({ kind }) => kind === "joint")).toHaveLength(1);
      expect(edges).toHaveLength(14);
    });
  });
});
