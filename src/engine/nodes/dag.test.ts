import { expect, test } from "vitest";
import { simulateWorkflow } from "../../../test/support/simulated_workflow.ts";

/** Phase of a workflow, with name, phase and message of its nodes. The graph is no checked one: only the first inline template is. */
function outcome(dag: string): unknown[] {
  const { status } = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    dag: { tasks: [{ name: first, inline: { suspend: { duration: "1" } } }, { name: outer, inline: { dag: ${dag} } }] }
  - { name: work, container: { image: x } }`,
    10,
  ).view("w");
  return [
    status?.phase,
    ...Object.values(status?.nodes ?? {}).map(({ displayName, phase, message }) =>
      [displayName, phase, message].join(": ")
    ),
  ];
}

test.each([
  ["{ tasks: [{ name: a, template: work, depends: b.Failed }] }", "target b does not exist"],
  ["{ tasks: [{ name: a, template: work, dependencies: [b] }] }", "target b does not exist"],
  ["{ target: b, tasks: [{ name: a, template: work }] }", "target b does not exist"],
  [
    "{ tasks: [{ name: a, template: work, depends: b }, { name: b, template: work, depends: a }, " +
    "{ name: c, template: work, depends: a }] }",
    "graph with cycle",
  ],
  [
    "{ tasks: [{ name: a, template: work, depends: b }, { name: b, template: work, depends: a }] }",
    "graph with cycle",
  ],
])("a graph whose tasks would wait forever ends: %s", (dag, text) => {
  expect(outcome(dag)).toEqual([
    "Error",
    "w: Error: ",
    "first: Succeeded: ",
    `outer: Error: task 'w.outer' errored: ${text}`,
  ]);
});

test("tasks that no target needs may wait for anything", () => {
  const others =
    "{ name: b, template: work, depends: c }, { name: c, template: work, depends: b }, " +
    "{ name: d, template: work, depends: none }";
  const tasks = `{ name: a, template: work }, ${others}`;
  expect(outcome(`{ target: a, tasks: [${tasks}] }`)[0]).toBe("Succeeded");
});
