import { expect, test } from "vitest";
import { createWorkflow } from "../create.ts";
import { deletionEffects } from "./deletion.ts";
import type { EngineEnv } from "../engine.ts";
import { advance } from "../advance.ts";

const env: EngineEnv = {
  now: 0,
  randomSuffix: (length) => "a".repeat(length),
  findManifest: () => null,
  labelPrefix: "workflows.argoproj.io/",
  apiGroup: "argoproj.io",
};

test("deletionEffects() names every start of every task, and timers that may be set", () => {
  const container = { image: "x", command: ["true"] };
  const steps = [[{ name: "a", template: "a" }, { name: "b", template: "a" }]];
  const state = createWorkflow({
    metadata: { name: "wf", namespace: "default", uid: "u" },
    spec: { entrypoint: "main", templates: [{ name: "main", steps }, { name: "a", container }] },
  }, env);
  const clear = { type: "clear-timer", id: "workflow-deadline" };
  expect(deletionEffects(state)).toEqual([clear]);
  advance(state, env);
  const [timer, effect] = deletionEffects(state);
  expect(timer).toEqual(clear);
  expect(effect).toMatchObject({ type: "clean-tasks", delayMs: 0 });
  expect(effect?.type === "clean-tasks" && effect.tasks.length).toBe(2);
  expect(
    effect?.type === "clean-tasks" && effect.tasks.every((task) => /^u\/wf-\d+\/1$/.test(task)),
  ).toBe(true);
});
