import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { expect, test } from "vitest";
import type { NodeStatus, Workflow } from "../../spec/manifest.ts";
import { fitStatus } from "./fit_status.ts";

function workflowOf(nodes: number, message = "m"): Workflow {
  return {
    metadata: {},
    spec: {},
    status: {
      phase: "Running",
      startedAt: null,
      finishedAt: null,
      message,
      nodes: Object.fromEntries(
        Array.from(
          { length: nodes },
          (_, index) => [`n${index}`, { id: `n${index}` } as NodeStatus],
        ),
      ),
    },
  };
}

test("a status that fits is shown as it is", async () => {
  const workflow = workflowOf(3);
  expect(await fitStatus(workflow, 1_000)).toEqual(workflow.status);
});

test("a larger one has its nodes compressed, as other clients read them", async () => {
  const workflow = workflowOf(500);
  const { nodes, compressedNodes, ...rest } = await fitStatus(workflow, 5_000);
  expect(nodes).toBeUndefined();
  expect(rest["message"]).toBe("m");
  const text = await promisify(gunzip)(Buffer.from(String(compressedNodes), "base64"));
  expect(JSON.parse(text.toString())).toEqual(workflow.status?.nodes);
});

test("one that is still too large loses its nodes, then everything long", async () => {
  const bare = await fitStatus(workflowOf(5_000), 500);
  expect(bare).toEqual({ phase: "Running", startedAt: null, finishedAt: null, message: "m" });
  const cut = await fitStatus(workflowOf(5_000, "x".repeat(100_000)), 20_000);
  expect(String(cut["message"]).length).toBe(10_000);
});
