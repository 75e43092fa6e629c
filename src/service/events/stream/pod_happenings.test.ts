import { expect, test } from "vitest";
import { nodeId, podName } from "../../../engine/scope/names.ts";
import { blankNode, type NodeRecord } from "../../../engine/records.ts";
import { podHappenings, podOf, workflowsOfPod } from "./pod_happenings.ts";

const NODE: NodeRecord = {
  ...blankNode(nodeId("wf", "wf.a"), "wf.a", "a", "member", "Pod", "Running"),
  order: 1,
  templateName: "step",
  startedAt: 1_000,
};
const reasons = (node: Partial<NodeRecord>) =>
  podHappenings({ ...NODE, finishedAt: 2_000, ...node }).map(({ reason, message, at }) =>
    `${at} ${reason}: ${message}`
  );

test("podHappenings() tells of a start, an exit code and a lack of memory", () => {
  expect(reasons({ phase: "Pending" })).toEqual([]);
  expect(reasons({ phase: "Omitted" })).toEqual([]);
  expect(reasons({ phase: "Running" })).toEqual(["1000 Started: Started the step"]);
  const killed = "main: OOMKilled (exit code 137)";
  expect(reasons({ phase: "Failed", message: killed, outputs: { exitCode: "137" } })).toEqual([
    "1000 Started: Started the step",
    `2000 OOMKilled: Out of memory: ${killed}`,
  ]);
  expect(reasons({ phase: "Error", message: "no such image" })).toEqual([
    "2000 Failed: Ended: no such image",
  ]);
});

test("workflowsOfPod() names the workflow of every pod", () => {
  for (const workflow of ["a", "a-b", "a-b-c-d"]) {
    for (const name of [workflow, `${workflow}.x`]) {
      const pod = podName(workflow, { id: nodeId(workflow, name), name }, "my-template");
      expect(workflowsOfPod(pod)).toContain(workflow);
    }
  }
  expect(workflowsOfPod("a-".repeat(200))).toHaveLength(32);
  expect(podOf("wf", NODE)).toBe(podName("wf", NODE, "step"));
  expect(podOf("wf", { ...NODE, type: "Steps" })).toBeUndefined();
});
