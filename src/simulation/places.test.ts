/** Who gets a free place of the parallelism: the first in the tree, whether the workflow is in memory or was loaded. */
import { describe, expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import type { TaskRule } from "./task_rule.ts";

/** Long enough for all tasks, one after the other. */
const WAIT_S = 30;

/** The steps in the order in which their tasks began; those that began together stand together. */
function orderOf(spec: string, rules: TaskRule[], isForgetful: boolean): string[] {
  const work = "  - { name: work, container: { image: x } }";
  const simulation = simulateWorkflow(`entrypoint: main\n${spec}\n${work}`, WAIT_S, {
    rules,
    isForgetful,
  });
  const { nodes = {}, phase } = simulation.view("w").status ?? {};
  expect(phase).not.toBe("Running");
  const begun = new Map<string, string[]>();
  for (const { type, startedAt, displayName = "" } of Object.values(nodes)) {
    if (type !== "Pod" || startedAt === null || startedAt === undefined) continue;
    begun.set(startedAt, [...begun.get(startedAt) ?? [], displayName]);
  }
  return [...begun].sort().map(([, names]) => names.sort().join(" "));
}

describe.each([["in memory", false], ["loaded again after each commit", true]])(
  "%s",
  (_title, isForgetful) => {
    test("a task that waits goes before one that has become ready, if the walk comes to it first", () => {
      const order = orderOf(
        `
parallelism: 2
templates:
  - name: main
    dag: { tasks: [
      { name: z, template: work },
      { name: a, template: pair, depends: z },
      { name: b, template: chain }] }
  - name: pair
    steps: [[{ name: a1, template: work }, { name: a2, template: work }]]
  - name: chain
    steps: [
      [{ name: b1, template: work }],
      [{ name: b2, template: work }],
      [{ name: b3, template: work }]]`,
        [{ node: "z$", after: 2 }],
        isForgetful,
      );
      expect(order).toEqual(["b1 z", "b2", "a1", "a2", "b3"]);
    });

    test.each(["", "x"])(
      "a task that has become ready goes before a later one that waits %s",
      (x) => {
        const order = orderOf(
          `
${x === "" ? "parallelism: 1" : ""}
templates:
  - name: main
    ${x === "" ? "" : "parallelism: 1"}
    dag: { tasks: [
      { name: t0, template: work },
      { name: t1, template: work, depends: t0 },
      { name: t2, template: work }] }`,
          [],
          isForgetful,
        );
        expect(order).toEqual(["t0", "t1", "t2"]);
      },
    );

    test("a task that is ready begins before the failure of another one ends the dag", () => {
      const order = orderOf(
        `
parallelism: 2
templates:
  - name: main
    dag: { tasks: [
      { name: a, template: work },
      { name: b, template: work },
      { name: c, template: work, depends: a },
      { name: d, template: work, depends: c }] }`,
        [{ node: "b$", outcome: "Failed" }],
        isForgetful,
      );
      expect(order).toEqual(["a b", "c", "d"]);
    });
  },
);
