/** Loops of a dag whose elements cannot be carried out. */
import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";

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

const LOOP = `
entrypoint: main
templates:
  - { name: script, script: { image: x, command: [sh], source: x } }
  - { name: last, inputs: { parameters: [{ name: p }] }, container: { image: x } }
  - { name: sub, dag: { tasks: [{ name: a, template: script, withItems: [1, 2] }, { name: b, template: last, depends: a, arguments: { parameters: [{ name: p, value: "{{tasks.a.outputs.result}}" }] } }] } }`;
const FAULT = "invalid character 'v' looking for beginning of value";

test.each([
  ["", "sub", "Error", `error in entry template execution: ${FAULT}`],
  [
    "  - { name: main, steps: [[{ name: s, template: sub }]] }",
    "main",
    "Failed",
    `step group deemed errored due to child w[0].s error: ${FAULT}`,
  ],
])("results that are no list are the fault of the whole dag%s", (main, entry, phase, message) => {
  const spec = LOOP.replace("entrypoint: main", `entrypoint: ${entry}`) + (main && "\n" + main);
  const { status } = simulateWorkflow(spec, 10, { rules: [{ node: "a", result: "v" }] }).view("w");
  expect(status).toMatchObject({ phase, message });
  const dag = Object.values(status?.nodes ?? {}).find(({ type }) => type === "DAG");
  expect(dag).toMatchObject({ phase: "Error", message: FAULT });
  expect(dag).not.toHaveProperty("outboundNodes");
});

test.each([["dag: { tasks: [LOOP] }", "w.a", 2], ["steps: [[LOOP]]", "w[0].a", 1]])(
  "the elements of a loop say what is wrong with its when: %s",
  (main, name, count) => {
    const loop = '{ name: a, template: work, withItems: [1, 2], when: "a b" }';
    const spec = `
entrypoint: main
templates:
  - { name: main, ${main.replace("LOOP", loop)} }
  - { name: work, container: { image: x } }`;
    const nodes = Object.values(simulateWorkflow(spec, 10).view("w").status?.nodes ?? {});
    const elements = nodes.filter((node) => node.name.startsWith(`${name}(`));
    expect(elements.map(({ phase, type }) => ({ phase, type })))
      .toEqual(Array(count).fill({ phase: "Error", type: "Skipped" }));
    expect(elements[0]?.message).toMatch(/^Invalid 'when' expression 'a b'/);
    const group = nodes.find(({ type }) => type === "StepGroup");
    if (group !== undefined) expect(group.message).toBe(elements[0]?.message);
  },
);

test.each([
  [
    "an argument",
    `when: "{{item.k}} == a", arguments: { parameters: [{ name: p, value: "{{item.x}}" }] }`,
    "x",
  ],
  ["its when", `when: "{{item.y}} == a"`, "y"],
])(
  "a loop whose when leaves out the element that lacks a member for %s ends with the name of that member",
  (_, rest, member) => {
    const loop =
      `{ name: a, template: work, withParam: '[{"k":"a","x":1,"y":"a"},{"k":"b"}]', ${rest} }`;
    for (const main of [`steps: [[${loop}]]`, `dag: { tasks: [${loop}] }`]) {
      const spec = `
entrypoint: main
templates:
  - { name: main, ${main} }
  - { name: work, inputs: { parameters: [{ name: p, default: d }] }, container: { image: x } }`;
      const { status } = simulateWorkflow(spec, 10).view("w");
      const nodes = Object.values(status?.nodes ?? {});
      expect(nodes.filter(({ type }) => type === "Pod")).toEqual([]);
      expect(nodes.find(({ name }) => name === "w[0]" || name === "w.a"))
        .toMatchObject({ phase: "Error", message: `failed to resolve {{item.${member}}}` });
    }
  },
);

test("a when that is false as it is written leaves out an element that has no value for its tag", () => {
  const spec = `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: a, template: work, withParam: '[{"k":"a"},{"z":"b"}]', when: "'{{item.k}}' == 'a'" }]] }
  - { name: work, container: { image: x } }`;
  const nodes = Object.values(simulateWorkflow(spec, 10).view("w").status?.nodes ?? {});
  expect(nodes.find(({ name }) => name === "w[0].a(0:k:a)")?.phase).toBe("Succeeded");
  expect(nodes.find(({ name }) => name === "w[0].a(1:z:b)")).toMatchObject({
    phase: "Skipped",
    message: "when ''{{item.k}}' == 'a'' evaluated false",
  });
});

test("the retry of a workflow whose entrypoint ended with an error runs its exit handler", () => {
  const simulation = simulateWorkflow(
    LOOP.replace("entrypoint: main", "entrypoint: sub\nonExit: script"),
    20,
    { rules: [{ node: "a", result: "v" }] },
  );
  const handler = () =>
    Object.values(simulation.view("w").status?.nodes ?? {})
      .find(({ name }) => name === "w.onExit")?.phase;
  expect(handler()).toBeUndefined();
  simulation.control("w", { type: "retry" });
  passTime(simulation, 20);
  expect(handler()).toBe("Succeeded");
  expect(simulation.view("w").status).toMatchObject({ phase: "Error", message: FAULT });
});

const CALLS = `
entrypoint: main
templates:
  - { name: call, http: { url: "http://x" } }
  - { name: last, container: { image: x } }
  - { name: wait, suspend: {} }`;

test.each([
  // The first target that could have them ends the DAG.
  ["a", "a", ["a: Succeeded", "b: Error"]],
  ["a.Failed", "a", ["a: Succeeded", "b: Omitted"]],
  ["a", "b", ["a: Succeeded", "b: Error", "c: Omitted"]],
])("results of http calls that are no list end a DAG: b after %s, c after %s", (b, c, shown) => {
  const tasks = `
  - name: main
    dag:
      tasks:
        - { name: a, template: call, withItems: [1, 2] }
        - { name: b, template: last, depends: ${b} }
        - { name: c, template: last, depends: ${c} }`;
  for (const isForgetful of [false, true]) {
    const options = { isForgetful, rules: [{ node: "a", result: "hi" }] };
    const { status } = simulateWorkflow(CALLS + tasks, 20, options).view("w");
    const message = "invalid character 'h' looking for beginning of value";
    expect(status?.message).toBe(`error in entry template execution: ${message}`);
    const nodes = Object.values(status?.nodes ?? {})
      .filter(({ name }) => /^w\.[abc]$/.test(name));
    expect(nodes.map((node) => `${node.displayName}: ${node.phase}`).sort()).toEqual(shown);
  }
});

test("what runs beside it ends first, and a stop fails it", () => {
  const tasks = `
  - name: main
    dag:
      failFast: false
      tasks:
        - { name: a, template: call, withItems: [1, 2] }
        - { name: b, template: last, depends: a }
        - { name: c, template: wait }
        - { name: d, template: last, depends: c }`;
  const options = { rules: [{ node: "a", result: "hi" }] };
  const simulation = simulateWorkflow(CALLS + tasks, 20, options);
  expect(simulation.view("w").status?.phase).toBe("Running");
  simulation.control("w", { type: "resume" });
  passTime(simulation, 20);
  const { phase, nodes } = simulation.view("w").status ?? {};
  expect(phase).toBe("Error");
  expect(Object.values(nodes ?? {}).some(({ name }) => name === "w.d")).toBe(false);

  const stopped = simulateWorkflow(CALLS + tasks, 20, options);
  stopped.control("w", { type: "stop" });
  passTime(stopped, 20);
  expect(stopped.view("w").status).toMatchObject({
    phase: "Failed",
    message: "Stopped with strategy 'Stop'",
  });
});

test.each([false, true])(
  "results that are no list end the dag, and nothing else begins meanwhile (loaded again: %s)",
  (isForgetful) => {
    const hook = `hooks: { exit: { template: work } }`;
    const spec = `
entrypoint: main
templates:
  - name: main
    dag:
      tasks:
        - { name: a, template: script, withItems: [1, 2] }
        - { name: b, template: work, depends: a, when: "{{tasks.a.outputs.result}} == 1", ${hook} }
        - { name: c, template: work, depends: a }
  - { name: script, script: { image: x, command: [sh], source: x } }
  - { name: work, container: { image: x } }`;
    const rules = [{ node: "a\\(", result: "v" }, { node: "onExit", after: 5 }];
    const { status } = simulateWorkflow(spec, 20, { rules, isForgetful }).view("w");
    const names = Object.values(status?.nodes ?? {}).map(({ name }) => name);
    expect(status).toMatchObject({ phase: "Error" });
    expect(names).toContain("w.b.onExit");
    expect(names).not.toContain("w.c");
  },
);

test.each([false, true])(
  "results that are no list are no concern of hooks that read other tasks (loaded again: %s)",
  (isForgetful) => {
    const hook = (phase: string) =>
      `{ template: work, expression: 'tasks.b.status == "${phase}"' }`;
    const spec = `
entrypoint: main
templates:
  - name: main
    dag:
      tasks:
        - { name: a, template: script, withItems: [1, 2] }
        - { name: b, template: work, hooks: { good: ${hook("Succeeded")}, bad: ${hook("Failed")} } }
    outputs: { parameters: [{ name: o, valueFrom: { parameter: "{{tasks.a.outputs.result}}" } }] }
  - { name: script, script: { image: x, command: [sh], source: x } }
  - { name: work, container: { image: x } }`;
    const rules = [{ node: "a\\(", result: "v" }, { node: "b$", after: 5 }];
    const { status } = simulateWorkflow(spec, 20, { rules, isForgetful }).view("w");
    const hooks = Object.values(status?.nodes ?? {}).filter(({ name }) => /hooks/.test(name));
    expect(status?.message).toBe(`error in entry template execution: ${FAULT}`);
    expect(hooks.map(({ name, phase }) => [name, phase])).toEqual([[
      "w.b.hooks.good",
      "Succeeded",
    ]]);
  },
);
