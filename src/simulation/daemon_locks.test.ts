/** Daemons that hold locks. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

test("a daemon that is not needed any more gives its lock back", () => {
  const spec = `
entrypoint: main
onExit: work
templates:
  - name: main
    steps: [[{ name: d, template: daemon }]]
  - { name: daemon, daemon: true, container: { image: x }, synchronization: { mutexes: [{ name: m }] } }
  - { name: work, container: { image: x }, synchronization: { mutexes: [{ name: m }] } }`;
  const simulation = simulateWorkflow(spec, 10);
  expect(simulation.view("w").status?.phase).toBe("Succeeded");
});

test.each(["", "retryStrategy: { limit: 1 }, "])(
  "a daemon that is ready gives its lock back, so that a step that follows it may have it: %s",
  (strategy) => {
    const spec = `
entrypoint: main
templates:
  - name: main
    steps: [[{ name: d, template: daemon }], [{ name: b, template: work }]]
  - { name: daemon, ${strategy}daemon: true, container: { image: x }, synchronization: { mutexes: [{ name: m }] } }
  - { name: work, container: { image: x }, synchronization: { mutexes: [{ name: m }] } }`;
    const simulation = simulateWorkflow(spec, 10);
    expect(simulation.view("w").status?.phase).toBe("Succeeded");
    expect(simulation.view("w").status?.synchronization).toBeUndefined();
  },
);
