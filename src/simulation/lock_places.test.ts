/** Locks of steps whose number is bounded. */
import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";

test.each(["", ", retryStrategy: { limit: 1 }"])(
  "a step without a place does not hold a lock%s",
  (settings) => {
    const simulation = simulateWorkflow(
      `
entrypoint: main
parallelism: 1
templates:
  - name: main
    dag: { tasks: [{ name: a, template: first }, { name: b, template: second }] }
  - { name: first, container: { image: x }, synchronization: { mutexes: [{ name: m1 }] }${settings} }
  - { name: second, container: { image: x }, synchronization: { mutexes: [{ name: m2 }] }${settings} }`,
      3,
      { rules: [{ node: "a", after: 6 }] },
    );
    const { nodes = {}, synchronization } = simulation.view("w").status ?? {};
    expect(Object.values(nodes).some(({ name }) => name === "w.b")).toBe(false);
    expect(JSON.stringify(synchronization)).not.toContain("m2");
  },
);

test("a step that waits for a lock leaves its place to others", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
parallelism: 2
templates:
  - name: main
    dag: { tasks: [{ name: a, template: lock }, { name: b, template: lock }, { name: c, template: work }] }
  - { name: lock, container: { image: x }, synchronization: { mutexes: [{ name: m }] } }
  - { name: work, container: { image: x } }`,
    3,
    { rules: [{ node: "a", after: 6 }] },
  );
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  expect(nodes.map(({ name, phase }) => [name, phase])).toEqual([
    ["w", "Running"],
    ["w.a", "Running"],
    ["w.b", "Pending"],
    ["w.c", "Succeeded"],
  ]);
});

test("a DAG that holds a lock begins the elements of a loop before the task after it", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    parallelism: 1
    synchronization: { mutexes: [{ name: m }] }
    dag: { tasks: [{ name: a, template: work, withItems: [1, 2] }, { name: b, template: work }] }
  - { name: work, container: { image: x } }`,
    1,
    { rules: [{ outcome: "Hang" }] },
  );
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  expect(nodes.map(({ name }) => name)).toEqual(["w", "w.a", "w.a(0:1)"]);
});

test("a stop begins no attempt of a step that waits for a lock", () => {
  const spec = `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: a, template: lock }, { name: b, template: lock }]] }
  - name: lock
    synchronization: { mutexes: [{ name: m }] }
    retryStrategy: { limit: 1 }
    container: { image: x }`;
  const simulation = simulateWorkflow(spec, 3, { rules: [{ outcome: "Hang" }] });
  simulation.control("w", { type: "stop" });
  passTime(simulation, 3);
  const { phase, nodes = {} } = simulation.view("w").status ?? {};
  const names = Object.values(nodes).map((node) => `${node.displayName}: ${node.phase}`);
  expect(phase).toBe("Failed");
  expect(names).toEqual(["w: Failed", "[0]: Failed", "a: Failed", "b: Failed", "a(0): Failed"]);
});
