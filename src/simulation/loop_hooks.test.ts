/** Loops whose steps have hooks: the hooks look at the loop while it runs. */
import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";

const OUTPUTS = ["result", "parameters", "parameters.o"];

/** The input of the step `b`, which comes after a loop `a` with hooks. */
function inputOf(main: string, node: string): unknown {
  const rules = [{ node: "a", result: "1", parameters: { o: "v" } }];
  const spec = `
entrypoint: main
templates:
  - { name: main, ${main} }
  - { name: work, container: { image: x }, outputs: { parameters: [{ name: o, valueFrom: { path: /o } }] } }
  - { name: read, inputs: { parameters: [{ name: p }] }, container: { image: x } }
  - { name: hook, inputs: { parameters: [{ name: p, default: none }] }, container: { image: x } }`;
  const simulation = simulateWorkflow(spec, 20, { rules });
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  return nodes.find(({ name }) => name === node)?.inputs?.parameters?.[0]?.value;
}

const loop = (
  root: string,
  hooks = `{ running: { template: hook, expression: '${root}.a.status == "Running"' } }`,
) => `name: a, template: work, withItems: [x, z], hooks: ${hooks}`;
const after = (root: string, extra = "") =>
  `{ name: b, template: read, arguments: { parameters: [{ name: p, value: "${
    OUTPUTS.map((name) => `{{${root}.a.outputs.${name}}}`).join(" ")
  }" }] }${extra} }`;
const ALL = '[1,1] [{"o":"v"},{"o":"v"}] ["v","v"]';

test("what a loop leaves is complete, though a hook has looked at it before", () => {
  expect(inputOf(`steps: [[{ ${loop("steps")} }], [${after("steps")}]]`, "w[1].b")).toBe(ALL);
  const tasks = `[{ ${loop("tasks")} }, ${after("tasks", ", depends: a")}]`;
  expect(inputOf(`dag: { tasks: ${tasks} }`, "w.b")).toBe(ALL);
});

test("the exit handler of a loop in a dag runs for each element and for all of it, and sees what that left", () => {
  const exit =
    `{ exit: { template: hook, arguments: { parameters: [{ name: p, value: "{{tasks.a.outputs.parameters.o}}" }] } },
    early: { template: hook, expression: 'tasks.a.outputs.parameters.o != ""' } }`;
  expect(inputOf(`dag: { tasks: [{ ${loop("tasks", exit)} }] }`, "w.a(1:z).onExit")).toBe("v");
  expect(inputOf(`dag: { tasks: [{ ${loop("tasks", exit)} }] }`, "w.a.onExit")).toBe('["v","v"]');
});

test("failed hooks of a workflow and of its steps run again when it is submitted again with its results", () => {
  const rules = [{ node: "hooks|onExit", outcome: "Failed" }, {
    node: "b$",
    outcome: "Failed",
  }] as const;
  const hook = (expression: string) => `{ early: { template: work, expression: '${expression}' } }`;
  const spec = `
entrypoint: main
hooks: ${hook('workflow.status == "Running"')}
templates:
  - name: main
    steps:
      - [{ name: a, template: work, hooks: ${hook('steps.a.status == "Succeeded"')} }]
      - [{ name: b, template: work, onExit: work }]
  - { name: work, container: { image: x } }`;
  const simulation = simulateWorkflow(spec, 20, { rules });
  simulation.rules.unshift({ node: "^x" });
  simulation.resubmit("w", "x", { memoized: true });
  passTime(simulation, 20);
  const { phase, nodes = {} } = simulation.view("x").status ?? {};
  expect(phase).toBe("Succeeded");
  for (const name of ["x.hooks.early", "x[0].a.hooks.early", "x[1].b.onExit"]) {
    expect(Object.values(nodes).find((node) => node.name === name)?.phase).toBe("Succeeded");
  }
});

test("a group that ends as soon as it has begun is never running for its hooks", () => {
  const hook = (root: string, phase: string) =>
    `{ template: work, expression: '${root}.a.status == "${phase}"' }`;
  const hooks = (root: string) =>
    `hooks: { begun: ${hook(root, "Running")}, ended: ${hook(root, "Succeeded")} }`;
  const bodies = [
    `dag: { tasks: [{ name: a, template: work, withItems: [1, 2], when: "{{item}} > 5", ${
      hooks("tasks")
    } }] }`,
    `dag: { tasks: [{ name: a, template: inner, withItems: [1, 2], ${hooks("tasks")} }] }`,
    `dag: { tasks: [{ name: a, template: inner, ${hooks("tasks")} }] }`,
    `steps: [[{ name: a, template: inner, ${hooks("steps")} }]]`,
  ];
  for (const body of bodies) {
    const spec = `
entrypoint: main
templates:
  - { name: main, ${body} }
  - { name: inner, steps: [[{ name: b, template: work, when: "1 == 2" }]] }
  - { name: work, container: { image: x } }`;
    const nodes = Object.values(simulateWorkflow(spec, 20).view("w").status?.nodes ?? {});
    const names = nodes.map(({ name }) => name).filter((name) => name.includes("hooks"));
    expect(names).toEqual([expect.stringMatching(/a\.hooks\.ended$/)]);
  }
});

test("what a dependency asks of all elements of a loop is not asked of its hooks", () => {
  const rules = [{ node: "a\\(", outcome: "Failed" }] as const;
  const spec = `
entrypoint: main
templates:
  - name: main
    dag:
      tasks:
        - { name: a, template: work, withItems: [1, 2], hooks: { begun: { template: work, expression: 'tasks.a.status == "Running"' } } }
        - { name: all, template: work, depends: a.AllFailed }
        - { name: any, template: work, depends: a.AnySucceeded }
  - { name: work, container: { image: x } }`;
  const { nodes = {} } = simulateWorkflow(spec, 20, { rules }).view("w").status ?? {};
  const phases = Object.values(nodes).map(({ name, phase }) => `${name} ${phase}`);
  expect(phases).toContain("w.a.hooks.begun Succeeded");
  expect(phases).toContain("w.all Succeeded");
  expect(phases).toContain("w.any Omitted");
});

test("exit handlers of a loop run although nothing in it could", () => {
  const spec = `
entrypoint: main
templates:
  - name: main
    dag:
      tasks:
        - { name: a, template: work, withItems: [1], when: "{{item}} > > 5", hooks: { exit: { template: work } } }
        - { name: b, template: work, depends: a }
  - { name: work, container: { image: x } }`;
  const { nodes = {} } = simulateWorkflow(spec, 20).view("w").status ?? {};
  const names = Object.values(nodes).map(({ name }) => name).filter((name) => /onExit$/.test(name));
  expect(names.sort()).toEqual(["w.a(0:1).onExit", "w.a.onExit"]);
});

test.each(['withParam: "x"', 'when: "a b"', 'withSequence: { count: "x" }'])(
  "the exit handler of a task that could not be carried out runs to its end: %s",
  (fault) => {
    const spec = `
entrypoint: main
templates:
  - { name: main, dag: { tasks: [{ name: a, template: work, ${fault}, hooks: { exit: { template: work } } }] } }
  - { name: work, container: { image: x } }`;
    const { phase, message, nodes = {} } = simulateWorkflow(spec, 20).view("w").status ?? {};
    expect({ phase, message }).toEqual({ phase: "Error", message: undefined });
    const named = (name: string) => Object.values(nodes).find((node) => node.name === name);
    expect(named("w.a")?.phase).toBe("Error");
    expect(named("w.a.onExit")).toMatchObject({ phase: "Succeeded", type: "Pod" });
  },
);

test("a task after a loop in a DAG begins when the exit handler of the loop has ended", () => {
  const spec = `
entrypoint: main
templates:
  - name: main
    dag:
      tasks:
        - { name: a, template: work, withItems: [1, 2], hooks: { exit: { template: work } } }
        - { name: b, template: work, depends: a }
  - { name: work, container: { image: x } }`;
  const rules = [{ node: "a.onExit", after: 5 }];
  const simulation = simulateWorkflow(spec, 8, { rules });
  const names = () =>
    Object.values(simulation.view("w").status?.nodes ?? {}).map(({ name }) => name);
  expect(names()).toContain("w.a.onExit");
  expect(names()).not.toContain("w.b");
  passTime(simulation, 10);
  expect(names()).toContain("w.b");
});

test.each([["[a, b, c]", false], ["[a, b, c]", true], ["[a]", false], ["[a]", true]])(
  "a hook of the loop %s gets the next free place, before the elements that wait (loaded again: %s)",
  (items, isForgetful) => {
    const spec = `
entrypoint: main
templates:
  - name: main
    parallelism: 1
    dag: { tasks: [{ name: a, template: work, withItems: ${items}, hooks: { begun: { template: work, expression: 'tasks.a.status == "Running"' } } }] }
  - { name: work, container: { image: x } }`;
    const { phase, nodes = {} } = simulateWorkflow(spec, 20, { isForgetful }).view("w").status ??
      {};
    const names = Object.values(nodes).filter(({ type }) => type === "Pod")
      .toSorted((a, b) => (a.startedAt ?? "").localeCompare(b.startedAt ?? ""))
      .map(({ name }) => name);
    expect(phase).toBe("Succeeded");
    expect(names.slice(0, 2)).toEqual(["w.a(0:a)", "w.a.hooks.begun"]);
  },
);
