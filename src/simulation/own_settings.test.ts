/** Tags in a workflow's spec outside its templates. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

/** A workflow with the parameter `p` and these settings. */
function run(p: string, settings: string) {
  const simulation = simulateWorkflow(
    `
entrypoint: main
arguments: { parameters: [{ name: p, value: "${p}" }] }
${settings}
templates:
  - { name: main, steps: [[{ name: a, template: work }]] }
  - { name: work, container: { image: x } }`,
    10,
    { rules: [{ node: "a\\(0|a$", outcome: "Failed" }] },
  );
  return simulation.view("w").status;
}

test("the retry strategy of a workflow may have tags", () => {
  const status = run("1", `retryStrategy: { limit: "{{workflow.parameters.p}}" }`);
  expect(status?.phase).toBe("Succeeded");
});

test("the exit handler of a workflow may be named by a tag", () => {
  const status = run("work", `hooks: { exit: { template: "{{workflow.parameters.p}}" } }`);
  const exit = Object.values(status?.nodes ?? {}).find(({ name }) => name === "w.onExit");
  expect([exit?.phase, exit?.templateName]).toEqual(["Succeeded", "work"]);
});

test("the lock of a workflow may be named by a tag", () => {
  const settings = `synchronization: { mutexes: [{ name: "m-{{workflow.parameters.p}}" }] }
suspend: true`;
  const holding = JSON.stringify(run("q", settings)?.synchronization);
  expect(holding).toContain("/Mutex/m-q");
});
