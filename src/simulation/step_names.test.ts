/** What `steps.name` is for the steps of a template: the name of the step that runs the template. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

const TEMPLATES = `
templates:
- name: leaf
  inputs: {parameters: [{name: p}]}
  container: {image: i}
- name: work
  container: {image: i}
- name: inner
  steps:
  - - name: x
      template: leaf
      arguments: {parameters: [{name: p, value: "{{steps.name}}|"}]}
- name: loop
  steps:
  - - name: a
      template: inner
      withItems: [1]
- name: hooked
  steps:
  - - name: a
      template: work
      hooks: {exit: {template: inner}, h: {template: inner, expression: "true"}}
`;

test.each([
  ["inner", "", { "w[0].x": "|" }],
  ["loop", "", { "w[0].a(0:1)[0].x": "a(0:1)|" }],
  ["hooked", "", { "w[0].a.hooks.h[0].x": "|", "w[0].a.onExit[0].x": "|" }],
  ["work", "onExit: inner", { "w.onExit[0].x": "|" }],
  [
    "work",
    'hooks: {h: {template: inner, expression: "true"}}',
    { "w.hooks.h[0].x": "|" },
  ],
])("%s: %s", (entrypoint, more, expected) => {
  const simulation = simulateWorkflow(`entrypoint: ${entrypoint}\n${more}${TEMPLATES}`, 12);
  const { status } = simulation.view("w");
  expect(status?.phase).toBe("Succeeded");
  const found = Object.values(status?.nodes ?? {}).flatMap(({ name, inputs }) =>
    inputs === undefined ? [] : [[name, inputs.parameters?.[0]?.value]]
  );
  expect(Object.fromEntries(found)).toEqual(expected);
});
