/** What a loop passes on of items that hold maps and lists, and how its nodes are named after them. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

function inputsOf(loop: string): Record<string, unknown> {
  const spec = `
entrypoint: main
templates:
- name: main
  steps:
  - - name: a
      template: work
      ${loop}
      arguments: {parameters: [{name: part, value: "{{item.b}}"}, {name: whole, value: "{{item}}"}]}
- {name: work, inputs: {parameters: [{name: part}, {name: whole}]}, container: {image: i}}`;
  const nodes = Object.values(simulateWorkflow(spec, 12).view("w").status?.nodes ?? {});
  const works = nodes.filter(({ templateName }) => templateName === "work");
  return Object.fromEntries(
    works.map(({ name, inputs }) => [name, inputs?.parameters?.map(({ value }) => value)]),
  );
}

test("parts of an item are JSON in which <, > and & stand as they are, the whole item has them escaped", () => {
  expect(inputsOf(`withParam: '[{"b":{"z":"<","a":["&"]}}]'`)).toEqual({
    'w[0].a(0:b:{"z":"<","a":["&"]})': [
      '{"z":"<","a":["&"]}',
      '{"b":{"z":"\\u003c","a":["\\u0026"]}}',
    ],
  });
});

test("maps inside items of a manifest have their members in order", () => {
  expect(inputsOf(`withItems: [{b: [{z: 1, a: 2}], __proto__: {d: 1, c: 2}}]`)).toEqual({
    'w[0].a(0:__proto__:{"c":2,"d":1},b:[{"a":2,"z":1}])': [
      '[{"a":2,"z":1}]',
      '{"__proto__":{"c":2,"d":1},"b":[{"a":2,"z":1}]}',
    ],
  });
});

test("an element has the same name however its characters are written in JSON", () => {
  for (const text of ["\\u00e9\\/", "é/"]) {
    expect(Object.keys(inputsOf(`withParam: '[{"b":"${text}"}]'`))).toEqual(["w[0].a(0:b:é/)"]);
  }
});
