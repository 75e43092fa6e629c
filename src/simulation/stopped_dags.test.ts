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
