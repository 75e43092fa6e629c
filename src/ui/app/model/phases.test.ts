import { expect, test } from "vitest";
import type { NodeStatus, Workflow, WorkflowStatus } from "../../../spec/manifest.ts";
import { lookOfWorkflow } from "./phases.ts";
import { waitTip } from "./waits.ts";

const NOW = Date.parse("2026-11-28T12:00:00Z");
const node = (type: string, phase: string): NodeStatus =>
  ({
    id: "n",
    name: "n",
    displayName: "approve",
    type,
    phase,
    startedAt: "2026-11-28T11:55:00Z",
  }) as NodeStatus;
const workflow = (status: Partial<WorkflowStatus>, spec: object = {}): Workflow => ({
  metadata: { name: "wf" },
  spec,
  status: { startedAt: null, finishedAt: null, ...status },
});

test("a running workflow waits while one of its suspend steps does, known by its nodes or without them", () => {
  const looks = [
    workflow({ phase: "Running", nodes: { n: node("Suspend", "Running") } }),
    workflow({ phase: "Running", waitsSince: "2026-11-28T11:55:00Z" }),
    workflow({ phase: "Running", nodes: { n: node("Suspend", "Succeeded") } }),
    workflow({ phase: "Running", nodes: { n: node("Pod", "Running") } }),
    workflow({ phase: "Running", waitsSince: "2026-11-28T11:55:00Z" }, { suspend: true }),
    workflow({ phase: "Failed", nodes: { n: node("Suspend", "Running") } }),
    workflow({}),
  ].map(lookOfWorkflow);
  expect(looks).toEqual([
    "Waiting",
    "Waiting",
    "Running",
    "Running",
    "Suspended",
    "Failed",
    "Pending",
  ]);
});

test("the tip of a phase says what resumes the workflow", () => {
  const known = workflow({ phase: "Running", nodes: { n: node("Suspend", "Running") } });
  expect(waitTip(known, NOW)).toBe(
    "Step “approve” has been waiting for a call for 5 min. It goes on when somebody resumes it.",
  );
  const unknown = workflow({ phase: "Running", waitsSince: "2026-11-28T11:55:00Z" });
  expect(waitTip(unknown, NOW)).toMatch(/^A step has been waiting since .*11:55.*resumes it/);
  expect(waitTip(workflow({ phase: "Running" }), NOW)).toBeUndefined();
});
