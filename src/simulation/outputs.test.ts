/** Outputs of Steps and DAG templates that can't be worked out. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

test("an output whose expression is nil says which expression", () => {
  const expression = `steps.a.outputs.parameters["o"]`;
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    outputs: { parameters: [{ name: p, valueFrom: { expression: '${expression}' } }] }
    steps: [[{ name: a, template: work, when: "false" }]]
  - { name: work, container: { image: x }, outputs: { parameters: [{ name: o, valueFrom: { path: /o } }] } }`,
    5,
  );
  const message = `failed to evaluate expression ${JSON.stringify(expression)}`;
  expect(simulation.view("w").status).toMatchObject({
    phase: "Error",
    message: `error in entry template execution: ${message}`,
    nodes: { w: { phase: "Error", message } },
  });
});
