/** A retry that selects single attempts of steps that have succeeded. */
import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";

const SPEC = `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: a, template: work }], [{ name: b, template: work }]] }
  - name: work
    retryStrategy: { limit: 2 }
    container: { image: x }`;

test.each([
  ["w[0].a(1)", 2],
  ["w[1].b(0)", 1],
])("%s runs again, and its step ends as it does", (selected, starts) => {
  const rules = [{ node: "a\\(0\\)", outcome: "Failed" as const }];
  const simulation = simulateWorkflow(SPEC, 20, { rules });
  expect(simulation.view("w").status?.phase).toBe("Succeeded");
  simulation.rules.unshift({ node: "\\([01]\\)", result: "again" });
  const nodeFieldSelector = `name=${selected}`;
  simulation.control("w", { type: "retry", restartSuccessful: true, nodeFieldSelector });
  passTime(simulation, 20);
  const { phase, nodes = {} } = simulation.view("w").status ?? {};
  const names = Object.values(nodes).map(({ name }) => name);
  expect(phase).toBe("Succeeded");
  expect(names).toContain(selected);
  expect(simulation.startsOf("w", selected)).toBe(2);
  expect(simulation.startsOf("w", "w[1].b(0)")).toBe(2);
  expect(simulation.startsOf("w", "w[0].a(1)")).toBe(starts);
});
