/** A task that ends at its timeout before it has begun. */
import { expect, test } from "vitest";
import { ENGINE_ENV as ENV } from "../../../test/support/engine_env.ts";
import type { Template } from "../../spec/manifest.ts";
import { accept } from "../accept.ts";
import { advance } from "../advance.ts";
import { takeChanges } from "../codec.ts";
import type { TaskOutcome } from "../command.ts";
import { createWorkflow } from "../create.ts";
import { viewWorkflow } from "../view.ts";

const DEADLINE = "Pod was active on the node longer than the specified deadline";

/** The node after the executor has told an outcome, five seconds after the start. */
function afterEnd(template: Partial<Template>, outcome: TaskOutcome, isStarted = false) {
  const state = createWorkflow({
    metadata: { name: "wf", namespace: "n", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { entrypoint: "m", templates: [{ name: "m", container: { image: "i" }, ...template }] },
  }, ENV);
  advance(state, ENV);
  const start = takeChanges(state).effects.find(({ type }) => type === "start-task");
  const task = start?.type === "start-task" ? start.task.id : "";
  const later = { ...ENV, now: ENV.now + 5000 };
  if (isStarted) accept(state, { type: "task-started", task }, ENV);
  accept(state, { type: "task-ended", task, outcome }, later);
  advance(state, later);
  return viewWorkflow(state).status?.nodes?.["wf"];
}

const LATE: TaskOutcome = { phase: "Failed", message: DEADLINE, isLate: true };

test("it timed out, whether the engine's timer or the executor's deadline was first", () => {
  expect(afterEnd({ timeout: "5s" }, LATE)).toMatchObject({
    phase: "Failed",
    message: "timeout",
  });
});

test("one that had begun was active for too long", () => {
  expect(afterEnd({ timeout: "5s" }, LATE, true)).toMatchObject({ message: DEADLINE });
});

test("activeDeadlineSeconds that were over before the timeout count as they are", () => {
  expect(afterEnd({ timeout: "9s", activeDeadlineSeconds: 5 }, LATE))
    .toMatchObject({ message: DEADLINE });
  expect(afterEnd({ activeDeadlineSeconds: 5 }, LATE)).toMatchObject({ message: DEADLINE });
});

test("what ended for another reason keeps it", () => {
  expect(afterEnd({ timeout: "5s" }, { phase: "Succeeded" })).toMatchObject({
    phase: "Succeeded",
  });
  expect(afterEnd({ timeout: "5s" }, { phase: "Error", message: "pod deleted" }))
    .toMatchObject({ phase: "Error", message: "pod deleted" });
  const ofOlderReplica: TaskOutcome = { phase: "Failed", message: DEADLINE };
  expect(afterEnd({ timeout: "5s" }, ofOlderReplica)).toMatchObject({ message: DEADLINE });
});
