import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

test("a template's display name is that of the retry node, not of its attempts", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    steps:
      - [{ name: a, template: work, arguments: { parameters: [{ name: p, value: x }] } }]
  - name: work
    annotations: { workflows.argoproj.io/display-name: "shown-{{inputs.parameters.p}}" }
    inputs: { parameters: [{ name: p }] }
    retryStrategy: { limit: 1 }
    container: { image: i }`,
    10,
    { rules: [{ node: "a\\(0", outcome: "Failed" }] },
  );
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  const shown = new Map(nodes.map(({ name, displayName }) => [name, displayName]));
  expect(shown.get("w[0].a")).toBe("shown-x");
  expect(shown.get("w[0].a(0)")).toBe("a(0)");
  expect(shown.get("w[0].a(1)")).toBe("a(1)");
});
