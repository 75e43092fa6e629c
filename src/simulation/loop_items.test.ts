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

test("a result that is empty, or no list, fails the loop that takes it, and the message shows it trimmed", () => {
  const spec = `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: gen, template: gen}
  - - {name: each, template: gen, withParam: "{{steps.gen.outputs.result}}"}
- {name: gen, script: {image: i, command: [sh], source: x}}`;
  for (const [result, shown] of [["", ""], [" x \n", "x"]] as const) {
    const { status } = simulateWorkflow(spec, 12, { rules: [{ node: "gen", result }] }).view("w");
    expect(status?.message).toContain(
      `withParam value could not be parsed as a JSON list: ${shown}: `,
    );
  }
});

test.each([
  ["asInt('x')", "failed to resolve references: failed to evaluate expression: "],
  ["asInt(item)", "failed to evaluate expression: "],
])("what %s lacks is told as a fault of the step, or of the element", (expression, start) => {
  const spec = `
entrypoint: main
templates:
- name: main
  steps: [[{name: a, template: work, withItems: [x], arguments: {parameters: [{name: p, value: "{{=${expression}}}"}]}}]]
- {name: work, inputs: {parameters: [{name: p}]}, container: {image: i}}`;
  const message = simulateWorkflow(spec, 12).view("w").status?.message;
  expect(message?.slice(0, start.length)).toBe(start);
});

test.each([
  ["withParam: notjson", "'{{item}}' == y", "Succeeded"],
  ["withParam: '{}'", "'{{item}}' == y", "Succeeded"],
  ["withSequence: {count: x}", "'{{item}}' == y", "Succeeded"],
  ["withParam: notjson", "'{{item}}' != y", "Failed"],
  ["withParam: notjson", "{{item}} == y", "Failed"],
])(
  "a loop with %s and a when of %s, which is read before the items, makes it %s",
  (loop, when, phase) => {
    for (const isDag of [false, true]) {
      const step = `{name: a, template: work, ${loop}, when: "${when}"}`;
      const { nodes = {} } = simulateWorkflow(
        `
entrypoint: main
templates:
- name: main
  ${isDag ? `dag: {tasks: [${step}]}` : `steps: [[${step}]]`}
- {name: work, container: {image: i}}`,
        2,
      ).view("w").status ?? {};
      const skipped = Object.values(nodes).find(({ displayName }) => displayName === "a");
      expect(nodes["w"]?.phase).toBe(phase === "Failed" && isDag ? "Error" : phase);
      if (phase !== "Succeeded") continue;
      expect(skipped).toMatchObject({ phase: "Skipped", message: "Skipped, empty params" });
    }
  },
);

test.each([
  "{{range .items}}",
  "{{=steps.nope}}",
  "{{steps.gen.id}}",
  "{{tasks.x.outputs.result}}",
])(
  "%s in a result is text, not a tag, for the loop that takes it",
  (text) => {
    const tasks = (kind: string, from: string) =>
      `
entrypoint: main
templates:
- name: main
  ${kind}
- {name: gen, script: {image: i, command: [sh], source: x}}
- {name: use, inputs: {parameters: [{name: one}]}, container: {image: i}}`.replace("FROM", from);
    const each = `name: each, template: use, withParam: "{{FROM.gen.outputs.result}}", \
arguments: {parameters: [{name: one, value: "{{item}}"}]}`;
    const rules = [{ node: "gen", result: JSON.stringify([text]) }];
    for (
      const spec of [
        tasks(`steps: [[{name: gen, template: gen}], [{${each}}]]`, "steps"),
        tasks(`dag: {tasks: [{name: gen, template: gen}, {${each}, depends: gen}]}`, "tasks"),
      ]
    ) {
      const { phase, nodes = {} } = simulateWorkflow(spec, 12, { rules }).view("w").status ?? {};
      expect(phase).toBe("Succeeded");
      const use = Object.values(nodes).find(({ displayName }) => displayName === `each(0:${text})`);
      expect(use?.inputs?.parameters?.[0]?.value).toBe(text);
    }
  },
);

test("a sequence counts integers that a float cannot hold", () => {
  const namesOf = (sequence: string) => {
    const spec = `
entrypoint: main
templates:
- {name: main, steps: [[{name: a, template: work, withSequence: ${sequence}}]]}
- {name: work, container: {image: i}}`;
    const { status } = simulateWorkflow(spec, 12).view("w");
    const works = Object.values(status?.nodes ?? {}).filter((node) => node.templateName === "work");
    return works.length > 0 ? works.map(({ name }) => name) : status?.message;
  };
  expect(namesOf('{start: "1700000000000000001", count: "2"}')).toEqual([
    "w[0].a(0:1700000000000000001)",
    "w[0].a(1:1700000000000000002)",
  ]);
  expect(namesOf('{start: "9223372036854775807", end: "9223372036854775806"}')).toEqual([
    "w[0].a(0:9223372036854775807)",
    "w[0].a(1:9223372036854775806)",
  ]);
  for (const text of ["9223372036854775808", "9".repeat(100_000)]) {
    expect(namesOf(`{count: "${text}"}`)).toContain("value out of range");
  }
});
