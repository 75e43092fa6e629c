import { expect, test } from "vitest";
import { parseNodeFieldSelector } from "../../../expr/selectors/node_field_selector.ts";
import type { NodeStatus, NodeType } from "../../../spec/manifest.ts";
import { idsOf, isChoosable, selectorOf, turned } from "./choice.ts";

const node = (id: string, type: NodeType, rest: Partial<NodeStatus> = {}): NodeStatus => ({
  id,
  name: id,
  displayName: id,
  type,
  phase: "Succeeded",
  startedAt: null,
  finishedAt: null,
  ...rest,
});

test.each([
  [node("a", "Pod"), true],
  [node("a", "Pod", { phase: "Failed" }), true],
  [node("a", "DAG", { phase: "Error" }), true],
  [node("a", "Suspend"), true],
  [node("a", "Pod", { phase: "Running" }), false],
  [node("a", "Skipped", { phase: "Omitted" }), false],
  [node("a", "StepGroup"), false],
  [node("a", "TaskGroup"), false],
  [node("a", "Retry"), true],
  [node("a(0)", "Pod", { nodeFlag: { retried: true } }), false],
])("%j can be chosen: %s", (one, want) => {
  expect(isChoosable(one)).toBe(want);
});

test("a loop is chosen by its items that have run", () => {
  const items = [node("a", "Pod"), node("b", "Pod", { phase: "Omitted" }), node("c", "Pod")];
  expect(idsOf({ children: items.map((one) => ({ node: one, children: [] }) as never) }))
    .toEqual(["a", "c"]);
});

test("choosing what is chosen gives it up", () => {
  expect([...turned(new Set(["a"]), ["a", "b"])]).toEqual(["a", "b"]);
  expect([...turned(new Set(["a", "b", "c"]), ["a", "b"])]).toEqual(["c"]);
});

test("the selector means exactly the chosen nodes", () => {
  const ids = new Set(["wf-1", "odd,)\\id", "wf-2"]);
  expect(parseNodeFieldSelector(selectorOf(ids))).toEqual([
    { field: "id", operator: "in", values: ids },
  ]);
});
