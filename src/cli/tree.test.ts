import { expect, test } from "vitest";
import type { NodeStatus, Workflow } from "../spec/manifest.ts";
import { span, treeLines } from "./tree.ts";

test.each([[0, "0s"], [999, "0s"], [61_000, "1m1s"], [3_600_000, "1h"], [90_061_000, "1d1h"]])(
  "span(%d) is %s",
  (ms, text) => {
    expect(span(ms)).toBe(text);
  },
);

function node(name: string, more: Partial<NodeStatus>): NodeStatus {
  return {
    id: name,
    name,
    displayName: name,
    type: "Pod",
    phase: "Succeeded",
    startedAt: "2026-01-01T00:00:00Z",
    finishedAt: "2026-01-01T00:00:05Z",
    ...more,
  };
}

test("treeLines() nests attempts under their retry node and hides step groups", () => {
  const nodes = [
    node("wf", { type: "Steps", templateName: "main" }),
    node("wf[0]", { type: "StepGroup", boundaryID: "wf" }),
    node("wf[0].a", { displayName: "a", type: "Retry", boundaryID: "wf" }),
    node("wf[0].a(0)", {
      displayName: "a(0)",
      phase: "Failed",
      boundaryID: "wf",
      message: "main: Error (exit code 1)",
    }),
    node("wf[1].wait", {
      displayName: "wait",
      type: "Suspend",
      phase: "Running",
      finishedAt: null,
      boundaryID: "wf",
    }),
  ];
  const workflow: Workflow = {
    metadata: { name: "wf" },
    spec: {},
    status: {
      startedAt: null,
      finishedAt: null,
      nodes: Object.fromEntries(nodes.map((n) => [n.id, n])),
    },
  };
  expect(treeLines(workflow, { now: Date.parse("2026-01-01T00:01:00Z"), colour: false })).toEqual([
    "STEP         TEMPLATE  DURATION  MESSAGE",
    "✔ wf         main      5s",
    " ├─✔ a                 5s",
    " │ └─✖ a(0)            5s        main: Error (exit code 1)",
    " └─ǁ wait              1m",
  ]);
});
