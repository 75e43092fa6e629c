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

test.each([
  ["a step", "template: work"],
  ["an element of a loop", "template: work, withItems: [1]"],
  ["a retry", "template: again"],
])(
  "the hook of %s gets an empty text for an output that was reported without a value",
  (_of, called) => {
    const hook =
      `{exit: {template: tell, arguments: {parameters: [{name: p, value: "<{{steps.a.outputs.parameters.o}}>"}]}}}`;
    const work = "container: {image: i}, outputs: {parameters: [{name: o, valueFrom: {path: /o}}]}";
    const simulation = simulateWorkflow(
      `
entrypoint: main
templates:
- {name: main, steps: [[{name: a, ${called}, hooks: ${hook}}]]}
- {name: work, ${work}}
- {name: again, retryStrategy: {limit: 0}, ${work}}
- {name: tell, inputs: {parameters: [{name: p}]}, container: {image: i}}`,
      8,
      { rules: [{ template: "tell" }, { outcome: "Failed" }] },
    );
    const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
    const told = nodes.find(({ name }) => name.endsWith(".onExit"));
    expect(told?.inputs?.parameters?.[0]?.value).toBe("<>");
  },
);
