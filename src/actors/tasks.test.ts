import { expect, test, vi } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import type { Json } from "../base/json.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { Executor } from "../executors/port.ts";
import type { Logger } from "../platform/log.ts";
import { Tasks } from "./tasks.ts";

/** What the workflow of a task is told when an executor reports an outcome. */
function toldOf(outcome: TaskOutcome): { posted: Json[]; logged: number } {
  const posted: Json[] = [];
  const error = vi.fn();
  const executor = {
    ...{ name: "test", refuses: () => undefined },
    start(task: TaskSpec, report: (fact: unknown) => void) {
      report({ type: "task-ended", task: task.id, outcome });
    },
  } as unknown as Executor;
  const tasks = new Tasks({
    ...{ executors: [executor], maxStarts: 1, clock: new ManualClock() },
    post: (_actor, body) => void posted.push(body),
    log: { error } as unknown as Logger,
  });
  void tasks.start("wf/ns/a", { id: "t", namespace: "ns" } as TaskSpec, () => true);
  return { posted, logged: error.mock.calls.length };
}

test("an outcome is reported as it is", () => {
  const outcome: TaskOutcome = { phase: "Succeeded", resourcesDuration: { cpu: 1 } };
  expect(toldOf(outcome)).toEqual({
    posted: [{ type: "task-ended", task: "t", outcome }],
    logged: 0,
  });
});

test("a task whose executor reports what its workflow would refuse ends in phase Error, and the log has the report", () => {
  const { posted, logged } = toldOf({ phase: "Succeeded", resourcesDuration: { cpu: Infinity } });
  expect(posted).toMatchObject([{
    ...{ type: "task-ended", task: "t" },
    outcome: { phase: "Error", message: expect.stringContaining("no valid outcome") },
  }]);
  expect(logged).toBe(1);
});
