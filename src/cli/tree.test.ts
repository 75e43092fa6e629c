import { expect, test } from "vitest";
import type { NodeStatus, Workflow } from "../spec/manifest.ts";
import { treeLines, type TreeOptions } from "./tree.ts";

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

function lines(nodes: NodeStatus[], options: Partial<TreeOptions> = {}): string[] {
  const workflow: Workflow = {
    metadata: { name: "wf" },
    spec: {},
    status: {
      startedAt: null,
      finishedAt: null,
      nodes: Object.fromEntries(nodes.map((n) => [n.id, n])),
    },
  };
  return treeLines(workflow, {
    now: Date.parse("2026-01-01T00:01:00Z"),
    colour: false,
    columns: "short",
    ...options,
  });
}

const STEPS = [
  node("wf", { type: "Steps", templateName: "main", phase: "Running", children: ["wf[0]"] }),
  node("wf[0]", { type: "StepGroup", boundaryID: "wf", children: ["a", "b"] }),
  node("a", {
    name: "wf[0].a",
    type: "Retry",
    boundaryID: "wf",
    templateName: "work",
    children: ["wf-1"],
  }),
  node("wf-1", {
    name: "wf[0].a(0)",
    displayName: "a(0)",
    phase: "Failed",
    boundaryID: "wf",
    templateName: "work",
    message: "main: Error (exit code 1)",
  }),
  node("b", { name: "wf[0].b", boundaryID: "wf", templateName: "work", children: ["wf[1]"] }),
  node("wf[1]", { type: "StepGroup", phase: "Running", boundaryID: "wf", children: ["c"] }),
  node("c", {
    name: "wf[1].c",
    displayName: "wait",
    type: "Suspend",
    phase: "Running",
    finishedAt: null,
    boundaryID: "wf",
  }),
];

test("treeLines() shows groups of steps by their members, and attempts under the node that is retried", () => {
  expect(lines(STEPS)).toEqual([
    "STEP           TEMPLATE  DURATION  MESSAGE",
    " ● wf          main",
    " ├─┬─✔ a       work",
    " │ │ └─✖ a(0)  work      5s        main: Error (exit code 1)",
    " │ └─✔ b       work      5s",
    " └───ǁ wait",
  ]);
});

test("treeLines() names pods", () => {
  const [, , , attempt] = lines(STEPS, { columns: "normal" });
  expect(attempt).toMatch(/ a\(0\) +work +wf-work-1 +5s /);
});

test("treeLines() draws the nodes that pass a filter under their shown parents", () => {
  expect(lines(STEPS, { selector: "phase=Failed" }).slice(1)).toEqual([
    " ──✖ a(0)  work      5s        main: Error (exit code 1)",
  ]);
  expect(lines(STEPS, { phase: "Running" }).slice(1)).toEqual([" ● wf        main", " └───ǁ wait"]);
});

test("treeLines() can do without symbols", () => {
  expect(lines(STEPS, { plain: true }).at(-1)).toBe(" `---Suspended wait");
});

test("what steps are called and say can't steer the terminal", () => {
  const evil = "\u001b]0;owned\u0007";
  const found = lines([node("wf", { displayName: `a(0:${evil})`, message: `no ${evil}` })]).join();
  expect(found).toContain("\\u001b]0;owned\\u0007");
  expect(found).not.toContain("\u001b");
});
