import { expect, test } from "vitest";
import type { Workflow } from "../spec/manifest.ts";
import { parseProjection } from "./projection.ts";
import { isUnwritten } from "./route.ts";
import { changedWire, workflowText, workflowWire } from "./wire.ts";

const outputs = {
  parameters: [{ name: "p", value: "1" }],
  artifacts: [{ name: "a", s3: { key: "k" } }],
};
const node = {
  id: "x",
  name: "x",
  displayName: "x",
  type: "Pod",
  startedAt: null,
  finishedAt: null,
  inputs: outputs,
  memoizationStatus: { hit: true, key: "k", cacheName: "c" },
};
const workflow = {
  metadata: { name: "w" },
  spec: {},
  status: { phase: "Running", outputs, nodes: { x: node } },
} as unknown as Workflow;

const shown = (fields: string) => workflowWire(workflow, parseProjection(fields))["status"];
const times = { startedAt: null, finishedAt: null };
const mandatory = { id: "", name: "", type: "", ...times };

test.each<[fields: string, status: object]>([
  ["status.outputs.parameters.value", {
    ...times,
    outputs: { parameters: [{ name: "", value: "1" }] },
  }],
  ["status.outputs.artifacts.s3", {
    ...times,
    outputs: { artifacts: [{ name: "", s3: { key: "k" } }] },
  }],
  ["status.nodes.x.inputs.parameters.value", {
    ...times,
    nodes: { x: { ...mandatory, inputs: { parameters: [{ name: "", value: "1" }] } } },
  }],
  ["status.nodes.x.memoizationStatus.key", {
    ...times,
    nodes: {
      x: { ...mandatory, memoizationStatus: { hit: false, key: "k", cacheName: "" } },
    },
  }],
  ["status.nodes.x.displayName", {
    ...times,
    nodes: { x: { ...mandatory, displayName: "x" } },
  }],
])("fields=%s leaves the members that clients rely on", (fields, status) => {
  expect(shown(fields)).toEqual(status);
});

test("a status of which nothing is left out is shown as it is", () => {
  const { status } = workflow;
  expect(shown("status")).toEqual({ ...times, ...status });
  expect(shown("-spec")).toEqual({ ...times, ...status });
});

test("the answer of a further request to a workflow with a long spec is written later", () => {
  const spec = { arguments: { parameters: [{ name: "p", value: "<".repeat(2 ** 18) }] } };
  const long = { ...workflow, spec } as unknown as Workflow;
  const call: Parameters<typeof changedWire>[0] = { isMinimal: false };
  const first = changedWire(call, long);
  const brief = { metadata: { name: "w" }, status: { phase: "Running" } };
  expect([first, call.brief]).toEqual([workflowText(long), brief]);

  const later: Parameters<typeof changedWire>[0] = { isMinimal: false };
  const failed = { ...long, status: { phase: "Failed" } } as unknown as Workflow;
  const second = changedWire(later, failed);
  if (typeof second === "string" || !isUnwritten(second)) throw new Error("it is written");
  expect(second.size).toBe(workflowText(long).length);
  expect(second.write()).toBe(workflowText(failed));
  expect(later.brief).toMatchObject({ status: { phase: "Failed" } });
  expect(changedWire({ isMinimal: true }, long)).toEqual(brief);
  expect(typeof changedWire({ isMinimal: false }, workflow)).toBe("string");
});
