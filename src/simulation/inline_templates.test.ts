/** Templates that stand in steps: which of several runs, and with what filled in. */
import { expect, test } from "vitest";
import { parse } from "yaml";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import { decodeManifest } from "../spec/schema/decode_manifest.ts";
import { Simulation } from "./simulation.ts";

/** Values of an output `o` that shows what a step's template was filled with. */
function outputsOf(simulation: Simulation): Record<string, string | undefined> {
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  return Object.fromEntries(
    nodes.filter(({ type }) => type === "Pod").map((node) => [
      node.name,
      node.outputs?.parameters?.[0]?.value,
    ]),
  );
}

const show = (value: string) =>
  `container: {image: i}, outputs: {parameters: [{name: o, value: "${value}"}]}`;

/** Runs a template `main` of a stored manifest. */
function runStored(templates: string): Simulation {
  const simulation = new Simulation({});
  simulation.addManifest(
    "WorkflowTemplate",
    decodeManifest("WorkflowTemplate", {
      metadata: { name: "lib" },
      spec: parse(`templates:${templates}`),
    }),
  );
  simulation.submit(decodeManifest("Workflow", {
    metadata: { name: "w" },
    spec: parse(`
entrypoint: main
templates:
- {name: main, dag: {tasks: [{name: t, templateRef: {name: lib, template: main}}]}}`),
  }));
  passTime(simulation, 8);
  return simulation;
}

test("each call of a stored template fills in its own inputs", () => {
  const simulation = runStored(`
- name: main
  steps: [[{name: l, template: inner, withItems: [x, y], arguments: {parameters: [{name: p, value: "{{item}}"}]}}]]
- name: inner
  inputs: {parameters: [{name: p}]}
  steps: [[{name: a, inline: {${show("{{inputs.parameters.p}}")}}}]]`);
  expect(outputsOf(simulation)).toEqual({
    "w.t[0].l(0:x)[0].a": "x",
    "w.t[0].l(1:y)[0].a": "y",
  });
  const stored = simulation.view("w").status?.storedTemplates ?? {};
  expect(Object.keys(stored).sort()).toEqual([
    "namespaced/lib/inline/a",
    "namespaced/lib/inner",
    "namespaced/lib/main",
  ]);
  const { outputs } = stored["namespaced/lib/inline/a"] ?? {};
  expect(outputs?.parameters?.[0]?.value).toBe("{{inputs.parameters.p}}");
});

test("steps of the same name in two templates of a stored manifest run their own", () => {
  const simulation = runStored(`
- {name: main, steps: [[{name: x, template: one}], [{name: y, template: two}]]}
- {name: one, steps: [[{name: a, inline: {${show("one")}}}]]}
- {name: two, steps: [[{name: a, inline: {${show("two")}}}]]}`);
  expect(outputsOf(simulation)).toEqual({ "w.t[0].x[0].a": "one", "w.t[1].y[0].a": "two" });
});

test("own inputs are not those of the same name around it", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
- name: main
  inputs: {parameters: [{name: p, value: outer}, {name: q, value: other}]}
  steps:
  - - name: a
      arguments: {parameters: [{name: p, value: "{{inputs.parameters.p}}-inner"}]}
      inline: {inputs: {parameters: [{name: p}]}, ${
      show("{{inputs.parameters.p}} {{inputs.parameters.q}}")
    }}`,
    4,
  );
  expect(outputsOf(simulation)).toEqual({ "w[0].a": "outer-inner other" });
});

test("what it knows of its node is its own", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
- name: main
  dag: {tasks: [{name: t, template: inner}]}
- name: inner
  retryStrategy: {limit: 1}
  dag:
    tasks:
    - {name: a, inline: {${show("{{node.name}} {{tasks.name}} {{retries}}")}}}
    - {name: b, depends: a, inline: {retryStrategy: {limit: 1}, ${show("{{retries}}")}}}`,
    12,
    { rules: [{ node: "b.0.$", outcome: "Failed" }] },
  );
  const outputs = outputsOf(simulation);
  expect(outputs["w.t(0).a"]).toBe("w.t(0).a a 0");
  expect(outputs["w.t(0).b(1)"]).toBe("1");
});

test("the element of a loop, and inputs that are what other steps left", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: make, template: make}
  - - name: a
      withItems: [x, y]
      inline: {inputs: {parameters: [{name: p, value: "{{steps.make.outputs.parameters.o}} {{item}}"}]}, ${
      show("{{item}}: {{inputs.parameters.p}}")
    }}
  - - name: b
      withItems: [x]
      inline:
        steps:
        - - {name: c, template: say, arguments: {parameters: [{name: p, value: "{{item}}"}]}}
        - - {name: d, template: say, withItems: [1], arguments: {parameters: [{name: p, value: "{{item}}"}]}}
- {name: make, ${show("made")}}
- {name: say, inputs: {parameters: [{name: p}]}, ${show("{{inputs.parameters.p}}")}}`,
    12,
  );
  expect(outputsOf(simulation)).toEqual({
    "w[0].make": "made",
    "w[1].a(0:x)": "x: made x",
    "w[1].a(1:y)": "y: made y",
    "w[2].b(0:x)[0].c": "x",
    "w[2].b(0:x)[1].d(0:1)": "1",
  });
});
