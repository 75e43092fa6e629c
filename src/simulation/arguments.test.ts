/** Arguments of a workflow. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

test.each(["supplied: {}", "supplied: {}, default: d", "event: payload.x"])(
  "an argument that nobody has given a value (%s) ends the workflow before its first step",
  (valueFrom) => {
    const { status } = simulateWorkflow(
      `
entrypoint: main
arguments: { parameters: [{ name: p, valueFrom: { ${valueFrom} } }] }
templates: [{ name: main, container: { image: x, args: ["{{workflow.parameters.p}}"] } }]`,
      3,
    ).view("w");
    expect(status?.phase).toBe("Failed");
    expect(status?.message).toBe(
      "failed to set global parameters: either value or valueFrom must be specified in order to set global parameter p",
    );
  },
);

test("a list of all parameters shows what they declare, in the order of Go's fields", () => {
  const { nodes = {} } = simulateWorkflow(
    `
entrypoint: main
arguments: { parameters: [{ name: w, value: "1", description: d, enum: ["1", "2"] }] }
templates:
  - name: main
    inputs:
      parameters:
        - { name: p, default: x }
        - { name: q, value: y, globalName: g }
    steps: [[{ name: a, template: show, arguments: { parameters: [{ name: s, value: "{{inputs.parameters}}{{workflow.parameters}}" }] } }]]
  - { name: show, inputs: { parameters: [{ name: s }] }, container: { image: x } }`,
    3,
  ).view("w").status ?? {};
  const shown = Object.values(nodes).find(({ displayName }) => displayName === "a");
  expect(shown?.inputs?.parameters?.[0]?.value).toBe(
    '[{"name":"p","default":"x","value":"x"},{"name":"q","value":"y","globalName":"g"}]' +
      '[{"name":"w","value":"1","enum":["1","2"],"description":"d"}]',
  );
});
