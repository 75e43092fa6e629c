import { expect, test } from "vitest";
import { ENGINE_ENV as ENV } from "../../../test/support/engine_env.ts";
import type { TaskSpec } from "../effect.ts";
import type { Template, WorkflowSpec } from "../../spec/manifest.ts";
import { advance } from "../advance.ts";
import { takeChanges } from "../codec.ts";
import { createWorkflow } from "../create.ts";

/** The first task of a workflow whose spec has these pod settings. */
function taskOf(
  settings: Partial<WorkflowSpec>,
  around: Partial<Template> = {},
): TaskSpec | undefined {
  const state = createWorkflow({
    metadata: { name: "wf", namespace: "n", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      entrypoint: "main",
      arguments: { parameters: [{ name: "zone", value: "east" }] },
      ...settings,
      templates: [
        {
          name: "main",
          ...around,
          steps: [[{
            name: "a",
            template: "work",
            arguments: { parameters: [{ name: "disk", value: "ssd" }] },
          }]],
        },
        { name: "work", inputs: { parameters: [{ name: "disk" }] }, container: { image: "i" } },
      ],
    },
  }, ENV);
  advance(state, ENV);
  const { effects } = takeChanges(state);
  return effects.flatMap((one) => one.type === "start-task" ? [one.task] : [])[0];
}

test("the tags in the pod settings of a workflow are replaced for each pod", () => {
  const task = taskOf({
    nodeSelector: { zone: "{{workflow.parameters.zone}}", disk: "{{inputs.parameters.disk}}" },
    podMetadata: {
      labels: { node: "{{node.name}}", later: "{{=inputs.parameters.disk + '1'}}" },
      annotations: { pod: "{{pod.name}}" },
    },
    podSpecPatch: 'priorityClassName: "{{inputs.parameters.disk}}"',
    serviceAccountName: "plain",
  });
  expect(task?.podSpec).toMatchObject({
    nodeSelector: { zone: "east", disk: "ssd" },
    podMetadata: {
      labels: { node: "wf[0].a", later: "ssd1" },
      annotations: { pod: task?.podName },
    },
    podSpecPatch: 'priorityClassName: "ssd"',
    serviceAccountName: "plain",
  });
});

test("settings whose tags fail end the step", () => {
  expect(taskOf({ podMetadata: { labels: { x: "{{=1 +}}" } } })).toBeUndefined();
});

test("where the pods of a steps template run is said by it, before the workflow", () => {
  const tolerations = [{ key: "a" }];
  const settings = { nodeSelector: { zone: "east" }, tolerations, schedulerName: "mine" };
  const around = {
    nodeSelector: { zone: "{{workflow.parameters.zone}}-1" },
    affinity: { podAffinity: {} },
    tolerations: [],
  };
  expect(taskOf(settings, around)?.podSpec).toMatchObject({
    nodeSelector: { zone: "east-1" },
    affinity: { podAffinity: {} },
    tolerations,
    schedulerName: "mine",
  });
  expect(taskOf(settings)?.podSpec).toMatchObject(settings);
});
