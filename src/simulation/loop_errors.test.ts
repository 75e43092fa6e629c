/** Loops of a dag whose elements cannot be carried out. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

function statusOf(templates: string) {
  const spec = `
entrypoint: main
templates:
  - { name: main, dag: { tasks: [{ name: a, template: one, withItems: [x, bad_key, z], arguments: { parameters: [{ name: p, value: "{{item}}" }] } }, { name: b, template: last, depends: a.Errored }] } }
  - { name: last, container: { image: x } }
${templates}`;
  return simulateWorkflow(spec, 20).view("w").status;
}

test.each([
  [
    "when they begin",
    `  - { name: one, inputs: { parameters: [{ name: p }] }, memoize: { key: "{{inputs.parameters.p}}", cache: { configMap: { name: c } } }, container: { image: x } }`,
  ],
  [
    "when they end",
    `  - { name: one, inputs: { parameters: [{ name: p }] }, steps: [[{ name: s, template: last }]], outputs: { parameters: [{ name: o, valueFrom: { expression: "'{{inputs.parameters.p}}' == 'bad_key' ? asInt('no') : 1" } }] } }`,
  ],
])("an element that errs %s leaves the others alone, and the loop ends", (_, template) => {
  const status = statusOf(template);
  const nodes = Object.values(status?.nodes ?? {});
  const phase = (name: string) => nodes.find((node) => node.name === name)?.phase;
  expect(["w.a(0:x)", "w.a(1:bad_key)", "w.a(2:z)", "w.a", "w.b"].map(phase))
    .toEqual(["Succeeded", "Error", "Succeeded", "Error", "Succeeded"]);
  expect(status?.phase).toBe("Succeeded");
});
