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

test("an output from a step that failed and left nothing names what it could not find", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    outputs: { parameters: [{ name: p, valueFrom: { parameter: "{{steps.a.outputs.parameters.o}}" } }] }
    steps: [[{ name: a, template: work, continueOn: { failed: true } }]]
  - { name: work, container: { image: x }, outputs: { parameters: [{ name: o, valueFrom: { path: /o } }] } }`,
    5,
    { rules: [{ outcome: "Failed" }] },
  );
  expect(simulation.view("w").status?.nodes?.["w"]).toMatchObject({
    phase: "Error",
    message: 'Unable to resolve: "steps.a.outputs.parameters.o"',
  });
});

test("an output artifact of a step that was skipped lies nowhere, and who needs it says so", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    steps:
      - - { name: s, template: inner }
      - - { name: may, template: mayUse, arguments: { artifacts: [{ name: f, from: "{{steps.s.outputs.artifacts.f}}" }] } }
      - - { name: must, template: mustUse, arguments: { artifacts: [{ name: f, from: "{{steps.s.outputs.artifacts.f}}" }] } }
  - name: inner
    outputs: { artifacts: [{ name: f, from: "{{steps.a.outputs.artifacts.made}}" }] }
    steps: [[{ name: a, template: work, when: "false" }]]
  - { name: work, container: { image: x }, outputs: { artifacts: [{ name: made, path: /f }] } }
  - { name: mayUse, container: { image: x }, inputs: { artifacts: [{ name: f, path: /f, optional: true }] } }
  - { name: mustUse, container: { image: x }, inputs: { artifacts: [{ name: f, path: /f }] } }`,
    5,
  );
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  const node = (name: string) => nodes.find((one) => one.name === name);
  expect(node("w[0].s")).toMatchObject({
    phase: "Succeeded",
    outputs: { artifacts: [{ name: "f" }] },
  });
  expect(node("w[1].may")?.phase).toBe("Succeeded");
  expect(node("w[2].must")).toMatchObject({
    phase: "Error",
    message: "inputs.artifacts.f missing location information",
  });
});

test("a step whose outputs cannot be worked out is the fault of the group, though it may end with an error", () => {
  const spec = `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: s, template: sub, continueOn: { error: true } }], [{ name: t, template: work }]] }
  - { name: sub, steps: [[{ name: a, template: work }]], outputs: { parameters: [{ name: o, valueFrom: { expression: "asInt('no')" } }] } }
  - { name: work, container: { image: x } }`;
  const { status } = simulateWorkflow(spec, 10).view("w");
  expect(status?.phase).toBe("Failed");
  expect(status?.message).toMatch(
    /^step group deemed errored due to child w\[0\]\.s error: invalid/,
  );
});

test("the containers of an attempt show that it is one, and a data step has a result that nobody asks for", () => {
  const spec = `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: s, template: set }, { name: d, template: list }]] }
  - { name: set, retryStrategy: { limit: 1 }, containerSet: { containers: [{ name: main, image: x }] } }
  - { name: list, data: { source: { artifactPaths: { name: a, raw: { data: x } } }, transformation: [{ expression: data }] } }`;
  const { status } = simulateWorkflow(spec, 10, { rules: [{ node: "d", result: "[]" }] }).view("w");
  const nodes = Object.values(status?.nodes ?? {});
  expect(nodes.find(({ name }) => name === "w[0].s(0).main")?.nodeFlag).toEqual({ retried: true });
  expect(nodes.find(({ name }) => name === "w[0].d")?.outputs?.result).toBe("[]");
});

test.each([
  ["path: /f", {}, "Error", "inputs.artifacts.f missing location information"],
  ["path: /f", { optional: true }, "Error", "inputs.artifacts.f was not supplied"],
  ["path: /f, optional: true", { optional: true }, "Succeeded", undefined],
])(
  "an artifact that is not there does not satisfy an input, though the argument is optional: %s, %j",
  (input, argument, phase, message) => {
    const passed = JSON.stringify({
      name: "f",
      from: "{{tasks.a.outputs.artifacts.made}}",
      ...argument,
    });
    const simulation = simulateWorkflow(
      `
entrypoint: main
templates:
  - name: main
    dag:
      tasks:
        - { name: a, template: work, when: "false" }
        - { name: b, template: use, depends: a, arguments: { artifacts: [${passed}] } }
  - { name: work, container: { image: x }, outputs: { artifacts: [{ name: made, path: /f }] } }
  - { name: use, container: { image: x }, inputs: { artifacts: [{ name: f, ${input} }] } }`,
      5,
    );
    const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
    const node = nodes.find(({ name }) => name === "w.b");
    expect(node?.phase).toBe(phase);
    expect(node?.message).toBe(message && `task 'w.b' errored: ${message}`);
  },
);

test.each([
  ["Steps", "steps: [[{ name: a, template: work }]]", "steps.a"],
  ["DAG", "dag: { tasks: [{ name: a, template: work }] }", "tasks.a"],
])(
  "an output with a globalName of an entrypoint that is a %s is one of the workflow",
  (_, body, a) => {
    const simulation = simulateWorkflow(
      `
entrypoint: main
templates:
  - name: main
    outputs: { parameters: [{ name: p, globalName: g, valueFrom: { parameter: "{{${a}.outputs.parameters.o}}" } }] }
    ${body}
  - { name: work, container: { image: x }, outputs: { parameters: [{ name: o, valueFrom: { path: /o, default: made } }] } }`,
      5,
    );
    expect(simulation.view("w").status?.outputs?.parameters).toEqual([{
      name: "g",
      value: "made",
    }]);
  },
);

test.each([
  ["of a loop whose elements were all left out", 'withItems: [1, 2], when: "{{item}} > 5"'],
  ["of a loop over an empty list", 'withParam: "[]"'],
])("an output %s is its default, or else an empty list", (_, loop) => {
  const outputOf = (root: string, fallback: string) => {
    const from = `parameter: "{{${root}.a.outputs.parameters.o}}"${fallback}`;
    const step = `{ name: a, template: work, ${loop} }`;
    const spec = `
entrypoint: main
templates:
  - name: main
    outputs: { parameters: [{ name: p, valueFrom: { ${from} } }] }
    ${root === "steps" ? `steps: [[${step}]]` : `dag: { tasks: [${step}] }`}
  - { name: work, container: { image: x }, outputs: { parameters: [{ name: o, valueFrom: { path: /o } }] } }`;
    const { nodes } = simulateWorkflow(spec, 5).view("w").status ?? {};
    return nodes?.["w"]?.outputs?.parameters?.[0]?.value;
  };
  for (const root of ["steps", "tasks"]) {
    expect([outputOf(root, ", default: none"), outputOf(root, "")]).toEqual(["none", "[]"]);
  }
});

test("the results of a loop whose elements were all left out are an empty list, also beside a default", () => {
  const outputOf = (root: string) => {
    const step = `{ name: a, template: work, withItems: [1, 2], when: "{{item}} > 5" }`;
    const spec = `
entrypoint: main
templates:
  - name: main
    outputs: { parameters: [{ name: p, valueFrom: { parameter: "{{${root}.a.outputs.result}}", default: none } }] }
    ${root === "steps" ? `steps: [[${step}]]` : `dag: { tasks: [${step}] }`}
  - { name: work, container: { image: x } }`;
    const { nodes } = simulateWorkflow(spec, 5).view("w").status ?? {};
    return nodes?.["w"]?.outputs?.parameters?.[0]?.value;
  };
  expect([outputOf("steps"), outputOf("tasks")]).toEqual(["[]", "[]"]);
});

test("only a daemon has an address, for the steps beside it", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: db, template: db}
    - {name: work, template: work}
  - - {name: all, template: all}
- {name: db, container: {image: i}, daemon: true}
- {name: work, container: {image: i}}
- name: all
  container: {image: i}`,
    10,
  );
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  const withAddress = nodes.filter(({ podIP }) => podIP !== undefined);
  expect(withAddress.map(({ displayName }) => displayName)).toEqual(["db"]);
});

test("a waiting step takes an answer that is not among the choices of its input", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: ask
templates:
- name: ask
  inputs: {parameters: [{name: answer, default: "no", enum: ["no", "yes"]}]}
  suspend: {}
  outputs: {parameters: [{name: answer, valueFrom: {supplied: {}}}]}`,
    1,
  );
  simulation.control("w", {
    type: "set",
    nodeFieldSelector: "templateName=ask",
    outputParameters: '{"answer":"maybe"}',
    phase: "Succeeded",
    message: "answered",
  });
  simulation.settle();
  const { phase, message, nodes = {} } = simulation.view("w").status ?? {};
  expect([phase, message]).toEqual(["Succeeded", undefined]);
  expect(nodes["w"]).toMatchObject({
    message: "answered",
    outputs: { parameters: [{ name: "answer", value: "maybe" }] },
  });
});

test("the expression of an output parameter may ask for an artifact", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    outputs:
      parameters:
        - { name: made, valueFrom: { expression: "steps.a.outputs.artifacts.f != nil ? 'yes' : 'no'" } }
        - { name: other, valueFrom: { expression: "steps.a.outputs.artifacts.g != nil ? 'yes' : 'no'" } }
    steps: [[{ name: a, template: work }]]
  - { name: work, container: { image: x }, outputs: { artifacts: [{ name: f, path: /f }] } }`,
    5,
    { isLikeExecutors: true },
  );
  expect(simulation.view("w").status).toMatchObject({
    phase: "Succeeded",
    nodes: {
      w: {
        outputs: { parameters: [{ name: "made", value: "yes" }, { name: "other", value: "no" }] },
      },
    },
  });
});

test("the expression of an output artifact may ask for what a skipped step has not left", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    outputs:
      artifacts:
        - name: f
          fromExpression: "steps.a.outputs.parameters.p == nil ? steps.b.outputs.artifacts.f : steps.a.outputs.artifacts.f"
    steps: [[{ name: a, template: work, when: "false" }, { name: b, template: work }]]
  - name: work
    container: { image: x }
    outputs:
      artifacts: [{ name: f, path: /f }]
      parameters: [{ name: p, valueFrom: { path: /p } }]`,
    5,
    { isLikeExecutors: true, rules: [{ parameters: { p: "1" } }] },
  );
  expect(simulation.view("w").status).toMatchObject({
    phase: "Succeeded",
    nodes: { w: { outputs: { artifacts: [{ name: "f" }] } } },
  });
});

test.each(["steps", "dag"])(
  "the global output of a template counts, not one of the same name of what is inside it: %s",
  (kind) => {
    const call = "name: x, template: work";
    const body = kind === "steps" ? `steps: [[{ ${call} }]]` : `dag: { tasks: [{ ${call} }] }`;
    const root = kind === "steps" ? "steps" : "tasks";
    const simulation = simulateWorkflow(
      `
entrypoint: main
templates:
  - name: main
    steps:
      - - { name: a, template: inner }
      - - { name: b, template: read, arguments: { parameters: [{ name: p, value: "{{workflow.outputs.parameters.g}}" }] } }
      - - { name: c, template: work }
  - name: inner
    outputs: { parameters: [{ name: o, globalName: g, valueFrom: { expression: "'more than ' + ${root}.x.outputs.parameters.o" } }] }
    ${body}
  - { name: work, container: { image: x }, outputs: { parameters: [{ name: o, globalName: g, valueFrom: { path: /o } }] } }
  - { name: read, container: { image: x }, inputs: { parameters: [{ name: p }] } }`,
      20,
      { rules: [{ node: "x$", parameters: { o: "one" } }, { parameters: { o: "last" } }] },
    );
    const { nodes = {}, outputs } = simulation.view("w").status ?? {};
    const reader = Object.values(nodes).find(({ displayName }) => displayName === "b");
    expect(reader?.inputs?.parameters).toEqual([{ name: "p", value: "more than one" }]);
    expect(outputs?.parameters).toEqual([{ name: "g", value: "last" }]);
  },
);
