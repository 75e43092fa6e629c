import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";

test.each(["stop", "terminate"] as const)(
  "a DAG fails by a %s, though the task that this ended may fail",
  (type) => {
    const simulation = simulateWorkflow(
      `
entrypoint: main
templates:
  - name: main
    dag: { tasks: [{ name: a, template: wait, continueOn: { failed: true } }] }
  - { name: wait, suspend: {} }`,
      5,
    );
    simulation.control("w", { type });
    passTime(simulation, 5);
    const { phase, message, nodes } = simulation.view("w").status ?? {};
    expect([phase, nodes?.["w"]?.phase]).toEqual(["Failed", "Failed"]);
    expect(message).toMatch(/^Stopped with strategy/);
  },
);

test("the exit handler of a workflow that was stopped may be a DAG", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
onExit: handler
templates:
  - { name: main, steps: [[{ name: a, template: wait }]] }
  - { name: wait, suspend: {} }
  - { name: handler, dag: { tasks: [{ name: tell, template: work }] } }
  - { name: work, container: { image: x } }`,
    5,
  );
  simulation.control("w", { type: "stop" });
  passTime(simulation, 5);
  const { nodes = {} } = simulation.view("w").status ?? {};
  expect(Object.values(nodes).find(({ name }) => name === "w.onExit")?.phase).toBe("Succeeded");
});

test.each(["stop", "terminate"] as const)(
  "a DAG fails by a %s, though a task of it had an error",
  (type) => {
    const simulation = simulateWorkflow(
      `
entrypoint: main
templates:
  - { name: main, dag: { tasks: [{ name: a, template: work }, { name: b, template: wait }] } }
  - { name: work, container: { image: x } }
  - { name: wait, suspend: {} }`,
      5,
      { rules: [{ node: "a$", outcome: "Error" }] },
    );
    simulation.control("w", { type });
    passTime(simulation, 5);
    expect(simulation.view("w").status?.phase).toBe("Failed");
  },
);
