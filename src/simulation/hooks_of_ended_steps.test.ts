/** Hooks of steps that have ended are decided for good: neither time nor a restart begins one of them. */
import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";

const WAIT_S = 20;

function run(main: string, isForgetful: boolean) {
  return simulateWorkflow(
    `
entrypoint: main
templates:
  - { name: main, ${main} }
  - { name: ok, container: { image: x } }`,
    WAIT_S,
    {
      rules: [
        { node: "early$", after: 2 },
        { node: "late$", outcome: "Failed", after: 3 },
        { node: "onExit$", outcome: "Failed" },
      ],
      isForgetful,
    },
  );
}

const OF_ANOTHER =
  "hooks: { run: { template: ok, expression: 'steps.late.status == \"Failed\"' } }";
const STEPS =
  `steps: [[{ name: early, template: ok, ${OF_ANOTHER} }, { name: late, template: ok }]]`;

test.each([false, true])(
  "a hook does not begin after its step (loaded again: %s)",
  (isForgetful) => {
    const { nodes = {} } = run(STEPS, isForgetful).view("w").status ?? {};
    const names = Object.values(nodes).map(({ name }) => name);
    expect(names).toContain("w[0].late");
    expect(names).not.toContain("w[0].early.hooks.run");
  },
);

test("an exit handler that failed runs again with a retry, though its step is kept", () => {
  const simulation = run(
    "steps: [[{ name: early, template: ok, hooks: { exit: { template: ok } } }, { name: late, template: ok }]]",
    true,
  );
  const exit = () =>
    Object.values(simulation.view("w").status?.nodes ?? {})
      .find(({ name }) => name === "w[0].early.onExit")?.phase;
  expect([simulation.view("w").status?.phase, exit()]).toEqual(["Failed", "Failed"]);
  simulation.rules.length = 0;
  simulation.control("w", { type: "retry" });
  passTime(simulation, WAIT_S);
  expect([simulation.view("w").status?.phase, exit()]).toEqual(["Succeeded", "Succeeded"]);
});
