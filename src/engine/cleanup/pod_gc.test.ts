import { expect, test } from "vitest";
import { ENGINE_ENV as ENV } from "../../../test/support/engine_env.ts";
import type { WorkflowSpec } from "../../spec/manifest.ts";
import { accept } from "../accept.ts";
import { advance } from "../advance.ts";
import { takeChanges } from "../codec.ts";
import { createWorkflow } from "../create.ts";
import { cleanDelayMs } from "../nodes/task.ts";
import { control } from "../orders/control.ts";

/** Names of the steps that are removed, of two with the labels `tier: a` and `tier: b`. */
function removed(
  podGC: WorkflowSpec["podGC"],
  labels: Record<string, string> = { app: "shop" },
): string[] {
  const step = (tier: string) => ({
    name: tier,
    template: "work",
    arguments: { parameters: [{ name: "tier", value: tier }] },
  });
  const state = createWorkflow({
    metadata: { name: "wf", namespace: "n", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      entrypoint: "main",
      podMetadata: { labels },
      ...(podGC === undefined ? {} : { podGC }),
      templates: [
        { name: "main", steps: [[step("a"), step("b")]] },
        {
          name: "work",
          inputs: { parameters: [{ name: "tier" }] },
          metadata: { labels: { tier: "{{inputs.parameters.tier}}" } },
          container: { image: "i" },
        },
      ],
    },
  }, ENV);
  const cleaned: string[] = [];
  const tasks = new Map<string, string>();
  const collect = () => {
    for (const effect of takeChanges(state).effects) {
      if (effect.type === "start-task") tasks.set(effect.task.id, effect.task.displayName);
      if (effect.type === "clean-tasks") cleaned.push(...effect.tasks);
    }
  };
  advance(state, ENV);
  collect();
  for (const task of tasks.keys()) {
    accept(state, { type: "task-ended", task, outcome: { phase: "Succeeded" } }, ENV);
    advance(state, ENV);
    collect();
  }
  return cleaned.map((task) => tasks.get(task) ?? "?").sort();
}

test.each(["OnPodCompletion", "OnWorkflowCompletion"])("%s removes the chosen pods", (strategy) => {
  expect(removed({ strategy })).toEqual(["a", "b"]);
  expect(removed({ strategy, labelSelector: { matchLabels: { app: "shop", tier: "b" } } }))
    .toEqual(["b"]);
  const expression = (operator: string, values?: string[]) =>
    removed({
      strategy,
      labelSelector: {
        matchExpressions: [{ key: "tier", operator, ...(values === undefined ? {} : { values }) }],
      },
    });
  expect(expression("In", ["a", "z"])).toEqual(["a"]);
  expect(expression("NotIn", ["a"])).toEqual(["b"]);
  expect(expression("Exists")).toEqual(["a", "b"]);
  expect(expression("DoesNotExist")).toEqual([]);
});

test.each(["OnPodCompletion", "OnWorkflowCompletion"])(
  "%s: a delay that can't be read is the usual one, and ends nothing",
  (strategy) => {
    expect(removed({ strategy, deleteDelayDuration: "soon" })).toEqual(["a", "b"]);
  },
);

test("the delay before pods are removed", () => {
  const delays = [undefined, "", "soon", "0", "7", "1m", "-5s"].map(cleanDelayMs);
  expect(delays).toEqual([5_000, 5_000, 5_000, 0, 7_000, 60_000, 0]);
});

test("the labels of a template win over those of all pods, as on the pods", () => {
  const strategy = "OnPodCompletion";
  const labels = { tier: "all", app: "shop" };
  const chosen = (tier: string) =>
    removed({ strategy, labelSelector: { matchLabels: { tier } } }, labels);
  expect(chosen("all")).toEqual([]);
  expect(chosen("b")).toEqual(["b"]);
});

test.each([
  ["OnPodCompletion", true],
  ["OnPodSuccess", false],
])("%s and the pods that a stop ends", (strategy, isRemoved) => {
  const state = createWorkflow({
    metadata: { name: "wf", namespace: "n", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      entrypoint: "main",
      podGC: { strategy },
      templates: [{ name: "main", container: { image: "i" } }],
    },
  }, ENV);
  advance(state, ENV);
  takeChanges(state);
  control(state, { type: "stop" }, ENV);
  advance(state, ENV);
  advance(state, ENV);
  const effects = takeChanges(state).effects.map(({ type }) => type);
  expect(effects.filter((type) => type === "cancel-task" || type === "clean-tasks")).toEqual(
    isRemoved ? ["cancel-task", "clean-tasks"] : ["cancel-task"],
  );
});
