import { expect, test, vi } from "vitest";
import { ENGINE_ENV } from "../../test/support/engine_env.ts";
import { manyNodes } from "../../test/support/large_workflow.ts";
import { runToEnd, STEP_SIZE, type Steps } from "../base/steps.ts";
import { loadSteps, loadWorkflow } from "./codec.ts";
import { control } from "./orders/control.ts";
import { prepareRetry } from "./orders/manual_retry.ts";
import { viewSteps, viewWorkflow } from "./view.ts";

const NODES = 5_000;
const { parts } = manyNodes("large", NODES);

/** How often the work can be interrupted, and its result. */
function counted<T>(steps: Steps<T>): [number, T] {
  for (let count = 0;; count++) {
    const { done, value } = steps.next();
    if (done === true) return [count, value];
  }
}

test("a workflow with many nodes is loaded and viewed in many steps, with the same result", () => {
  const [reads, state] = counted(loadSteps(parts));
  expect(reads).toBeGreaterThanOrEqual(NODES / STEP_SIZE);
  const [views, view] = counted(viewSteps(state));
  expect(views).toBeGreaterThanOrEqual(3 * NODES / STEP_SIZE);
  expect(view).toEqual(viewWorkflow(loadWorkflow(parts)));
  expect(Object.keys(view.status?.nodes ?? {})).toHaveLength(NODES + 2);
});

test("a small workflow is loaded and viewed in one step", () => {
  const small = manyNodes("small", 10).parts;
  const [reads, state] = counted(loadSteps(small));
  expect([reads, counted(viewSteps(state))[0]]).toEqual([0, 0]);
  expect(runToEnd(viewSteps(state)).metadata.name).toBe("small");
});

test("a retry of many nodes is worked out in many steps, and then begins without looking at them again", () => {
  const state = loadWorkflow(parts);
  const [steps, prepared] = counted(prepareRetry(state, { type: "retry" }));
  expect(steps).toBeGreaterThanOrEqual(5 * NODES / STEP_SIZE);
  const looks = [vi.spyOn(state.nodes, "get"), vi.spyOn(state.nodes, "values")];
  control(state, { type: "retry" }, ENGINE_ENV, prepared);
  expect(looks.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBeLessThan(10);
  expect(prepared.work).toHaveLength(NODES + 2);
});
