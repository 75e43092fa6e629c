/** A plain retry also repeats what failed although nothing in it did. */
import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import type { TaskRule } from "./task_rule.ts";

function retried(templates: string, rules: TaskRule[], isStopped: boolean) {
  const spec = `
entrypoint: main
templates:
  - { name: work, container: { image: x } }
${templates}`;
  const simulation = simulateWorkflow(spec, 10, { rules });
  if (isStopped) simulation.control("w", { type: "stop" });
  passTime(simulation, 10);
  expect(simulation.view("w").status?.phase).toBe("Failed");
  simulation.rules.unshift({});
  simulation.control("w", { type: "retry" });
  passTime(simulation, 10);
  return simulation.view("w").status;
}

test.each([
  "steps: [[{ name: x, template: work }]]",
  "dag: { tasks: [{ name: x, template: work }] }",
  "retryStrategy: { limit: 1 }, container: { image: x }",
])("of the steps that are stopped while they wait for a lock: %s", (body) => {
  const status = retried(
    `
  - { name: main, steps: [[{ name: a, template: locked }, { name: b, template: locked, onExit: work }]] }
  - { name: locked, synchronization: { mutexes: [{ name: m }] }, ${body} }`,
    [{ node: "a", outcome: "Hang" }],
    true,
  );
  expect(status?.phase).toBe("Succeeded");
});

test("of a pod whose containers have succeeded, but whose outputs were lost", () => {
  const status = retried(
    `
  - { name: main, steps: [[{ name: a, template: set }], [{ name: b, template: work }]] }
  - name: set
    containerSet: { containers: [{ name: one, image: x }, { name: main, image: x, dependencies: [one] }] }`,
    [{ node: "a", outcome: "Error" }],
    false,
  );
  expect(status?.phase).toBe("Succeeded");
});

test.each([
  "main, dag: { tasks: [{ name: a, template: work, onExit: work }] }",
  "main, steps: [[{ name: m, template: inner }]] }\n  - { name: inner, dag: { tasks: [{ name: a, template: work, onExit: work }] }",
])("of a DAG that is stopped while only an exit handler runs: %s", (main) => {
  const rules: TaskRule[] = [{ node: "onExit", after: 15 }];
  const status = retried(`  - { name: ${main} }`, rules, true);
  expect(status?.phase).toBe("Succeeded");
});
