import { expect, test } from "vitest";
import { ENGINE_ENV } from "../../test/support/engine_env.ts";
import type { NodeStatus, WorkflowStatus } from "../spec/manifest.ts";
import { createWorkflow } from "./create.ts";
import { viewWorkflow } from "./view.ts";

test("an imported workflow shows the sums that came with it, whatever its nodes say", () => {
  const times = { startedAt: "2026-01-01T00:00:00Z", finishedAt: "2026-01-01T00:01:00Z" };
  const node: NodeStatus = {
    ...{ id: "wf", name: "wf", displayName: "wf", type: "Pod", phase: "Succeeded" },
    ...{ resourcesDuration: { cpu: 1 }, progress: "1/1" },
    ...times,
  };
  const shown = (sums: Partial<WorkflowStatus>) =>
    viewWorkflow(createWorkflow({
      metadata: { name: "wf", namespace: "ns", uid: "u", creationTimestamp: times.startedAt },
      spec: { entrypoint: "main", arguments: {}, templates: [{ name: "main", suspend: {} }] },
      status: { ...times, phase: "Succeeded", nodes: { wf: node }, ...sums },
    }, ENGINE_ENV)).status;
  const sums = { progress: "3/3", resourcesDuration: { cpu: 5, memory: 2 } };
  expect(shown(sums)).toMatchObject(sums);
  expect(shown({})?.resourcesDuration).toBeUndefined();
  expect(shown(sums)?.nodes?.["wf"]).toMatchObject({ resourcesDuration: { cpu: 1 } });
});
