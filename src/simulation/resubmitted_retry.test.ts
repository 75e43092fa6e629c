/** A workflow that was submitted again with its results can be retried like any other, whatever was left out. */
import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";

/** The children of each node, by name without the workflow's. */
function childrenIn(simulation: ReturnType<typeof simulateWorkflow>): Record<string, string[]> {
  const { nodes = {} } = simulation.view("x").status ?? {};
  const nameOf = (id: string) => nodes[id]?.name.slice(1) ?? id;
  return Object.fromEntries(
    Object.values(nodes).map(({ name, children = [] }) => [name.slice(1), children.map(nameOf)]),
  );
}

function resubmitted(main: string) {
  const spec = `
entrypoint: main
templates:
  - { name: main, ${main} }
  - { name: work, container: { image: x } }`;
  const simulation = simulateWorkflow(spec, 10, { rules: [{ node: "b$", outcome: "Failed" }] });
  simulation.resubmit("w", "x", { memoized: true });
  passTime(simulation, 10);
  expect(simulation.view("x").status?.phase).toBe("Failed");
  return simulation;
}

test.each([
  `steps: [[{ name: a, template: work, when: "false" }], [{ name: b, template: work }], [{ name: c, template: work }]]`,
  `dag: { tasks: [{ name: a, template: work, when: "false" }, { name: b, template: work, dependencies: [a] }] }`,
])("the step after one that is skipped: %s", (main) => {
  const simulation = resubmitted(main);
  simulation.rules.unshift({});
  simulation.control("x", { type: "retry" });
  passTime(simulation, 10);
  expect(simulation.view("x").status?.phase).toBe("Succeeded");
});

test("groups follow the steps before them, also those that were left out at first", () => {
  const simulation = resubmitted(
    `steps: [[{ name: a, template: work, when: "false" }], [{ name: b, template: work }]]`,
  );
  const children = { "": ["[0]"], "[0]": ["[0].a"], "[0].a": ["[1]"], "[1]": ["[1].b"] };
  expect(childrenIn(simulation)).toEqual({ ...children, "[1].b": [] });
  const root = simulation.view("x").status?.nodes?.["x"];
  expect(root?.outboundNodes).toHaveLength(1);
});
