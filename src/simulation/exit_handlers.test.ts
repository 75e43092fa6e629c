/** Exit handlers that are written in both forms. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

const BOTH =
  "onExit: old, hooks: { exit: { template: new, arguments: { parameters: [{ name: p, value: hook }] } } }";

/** The template of the exit handler that ran, and its input. */
function handlerOf(main: string, name: string, more = "") {
  const { nodes = {} } = simulateWorkflow(
    `
entrypoint: main
arguments: { parameters: [{ name: p, value: workflow }] }
${more}
templates:
  - { name: main, ${main} }
  - { name: ok, container: { image: x } }
  - { name: old, inputs: { parameters: [{ name: p }] }, container: { image: x } }
  - { name: new, inputs: { parameters: [{ name: p }] }, container: { image: x } }`,
    20,
  ).view("w").status ?? {};
  const node = Object.values(nodes).find((one) => one.name === name);
  return [node?.templateName, node?.inputs?.parameters?.[0]?.value];
}

test.each([
  ["step", `steps: [[{ name: a, template: ok, ${BOTH} }]]`, "w[0].a.onExit", ""],
  ["task", `dag: { tasks: [{ name: a, template: ok, ${BOTH} }] }`, "w.a.onExit", ""],
  [
    "workflow",
    "steps: [[{ name: a, template: ok }]]",
    "w.onExit",
    BOTH.replace(", hooks", "\nhooks"),
  ],
])("of a %s: `onExit` comes before the hook `exit`", (_of, main, name, more) => {
  expect(handlerOf(main, name, more)).toEqual(["old", "workflow"]);
});
