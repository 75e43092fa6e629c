/** Steps that wait for a lock longer than they may. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

/** Two steps that share a lock. The first has it for six seconds; the second has these settings. */
function run(settings: string, seconds = 30) {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    dag: { tasks: [{ name: a, template: first }, { name: b, template: second }] }
  - { name: first, container: { image: x }, synchronization: { mutexes: [{ name: m }] } }
  - { name: second, container: { image: x }, synchronization: { mutexes: [{ name: m }] }, ${settings} }`,
    seconds,
    { rules: [{ node: "a", after: 6 }, { node: "b", after: 3 }], isLikeExecutors: true },
  );
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  return nodes.find(({ name }) => name === "w.b");
}

test("the timeout of a step counts while it waits for a lock", () => {
  expect(run("timeout: 3s", 4)).toMatchObject({ phase: "Failed", message: "timeout" });
  expect(run("timeout: 3s, retryStrategy: { limit: 2 }", 4)).toMatchObject({
    phase: "Failed",
    message: "timeout",
  });
});

test("what is left of the timeout is the time for the work", () => {
  expect(run("timeout: 12s")).toMatchObject({ phase: "Succeeded" });
  expect(run("timeout: 10s")).toMatchObject({
    phase: "Failed",
    message: "Pod was active on the node longer than the specified deadline",
  });
});

test("the time in which a pod must start does not count while its step waits for a lock", () => {
  expect(run("pendingTimeout: 3s")).toMatchObject({ phase: "Succeeded" });
});

test("the timeout does not count while the step has its lock and waits for a place", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
parallelism: 1
templates:
  - name: main
    dag: { tasks: [{ name: a, template: first }, { name: b, template: second }] }
  - { name: first, container: { image: x }, synchronization: { mutexes: [{ name: m1 }] } }
  - { name: second, container: { image: x }, synchronization: { mutexes: [{ name: m2 }] }, timeout: 3s }`,
    20,
    { rules: [{ node: "a", after: 6 }], isLikeExecutors: true },
  );
  expect(simulation.view("w").status?.phase).toBe("Succeeded");
});
