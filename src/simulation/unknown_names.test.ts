/** Arguments that name what does not exist. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

/** What the step gets as its argument, and why the workflow failed. */
function run(value: string, loop = "") {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    steps:
      - - name: a
          template: work
          ${loop}
          arguments: { parameters: [{ name: x, value: "${value}" }] }
  - { name: work, inputs: { parameters: [{ name: x }] }, container: { image: x } }`,
    5,
  );
  const { nodes = {}, message } = simulation.view("w").status ?? {};
  const step = Object.values(nodes).find(({ type }) => type === "Pod");
  return { value: step?.inputs?.parameters?.[0]?.value, message };
}

test.each(["nope ?? 'd'", "nope.x ?? 'd'", "lastRetry.exitCode ?? 'd'", "item ?? 'd'"])(
  "a guard does not help against a name that nothing begins with: %s is passed on as written",
  (expression) => {
    expect(run(`{{=${expression}}}`)).toEqual({
      value: `{{=${expression}}}`,
      message: undefined,
    });
  },
);

test.each(["workflow.labels.nope ?? 'd'", "workflow.nope ?? 'd'"])(
  "a guard stands in for what is missing of a name: %s",
  (expression) => {
    expect(run(`{{=${expression}}}`)).toEqual({ value: "d", message: undefined });
    expect(run(`{{=${expression}}}`, "withItems: [1]")).toEqual({ value: "d", message: undefined });
  },
);

test("a member that is missing is nil in an argument", () => {
  expect(run("{{=workflow.labels.nope == 'x' ? 1 : 2}}")).toEqual({
    value: "2",
    message: undefined,
  });
});

test.each([["nope", "nope"], ["nope ?? 'd'", "nope"], ["nope.x ?? 'd'", "nope"]])(
  "in a loop %s is an error that names what is missing",
  (expression, name) => {
    const { message } = run(`{{=${expression}}}`, "withItems: [1]");
    expect(message).toBe(`failed to evaluate expression: ${name} is missing`);
  },
);

test("the parameters of a template without parameters", () => {
  expect(run("{{inputs.parameters}}").value).toBe("null");
});
