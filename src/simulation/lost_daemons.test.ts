/** Daemons that end by themselves while others still need them. */
import { describe, expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

const RULES = [
  { node: "daemon$", outcome: "Failed" as const, after: 3 },
  { node: "onExit$", outcome: "Succeeded" as const, after: 4 },
  { node: "a$", outcome: "Succeeded" as const, after: 3 },
  { node: "user$", outcome: "Failed" as const, after: 8 },
];

function nodesOf(main: string, isForgetful: boolean) {
  const spec = `
entrypoint: main
templates:
  - { name: main, ${main} }
  - { name: serve, daemon: true, container: { image: x } }
  - { name: work, container: { image: x } }`;
  const simulation = simulateWorkflow(spec, 20, { rules: RULES, isForgetful });
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  return (name: string) => nodes.find((node) => node.name === name);
}

describe.each([false, true])("loaded again after each step: %s", (forgets) => {
  test("their exit handlers run", () => {
    const daemon = "name: daemon, template: serve, hooks: { exit: { template: work } }";
    const tasks = `[{ ${daemon} }, { name: user, template: work, depends: daemon }]`;
    const inDag = nodesOf(`dag: { failFast: false, tasks: ${tasks} }`, forgets);
    expect(inDag("w.daemon")?.phase).toBe("Failed");
    expect(inDag("w.daemon.onExit")?.phase).toBe("Succeeded");
    const inSteps = nodesOf(`steps: [[{ ${daemon} }, { name: user, template: work }]]`, forgets);
    expect(inSteps("w[0].daemon.onExit")?.phase).toBe("Succeeded");
  });

  test("they are not attempted again, and fail their step", () => {
    const spec = `
entrypoint: main
templates:
  - name: main
    steps: [[{ name: d, template: serve }], [{ name: a, template: work }, { name: b, template: work }]]
  - { name: serve, daemon: true, retryStrategy: { limit: 1 }, container: { image: x } }
  - { name: work, container: { image: x } }`;
    const rules = [{ node: "d\\(0\\)", outcome: "Succeeded" as const, after: 3 }, {
      node: "b$",
      after: 6,
    }];
    const simulation = simulateWorkflow(spec, 20, { rules, isForgetful: forgets });
    const { phase, message, nodes = {} } = simulation.view("w").status ?? {};
    const rows = Object.values(nodes).map((node) => [node.name, node.phase]);
    expect(rows).toContainEqual(["w[0].d", "Failed"]);
    expect(rows).toContainEqual(["w[0].d(0)", "Failed"]);
    expect(rows.map(([name]) => name)).not.toContain("w[0].d(1)");
    const daemon = Object.values(nodes).find(({ name }) => name === "w[0].d");
    expect([phase, message]).toEqual(["Failed", `child '${daemon?.id}' failed`]);
  });

  test("the first step that failed is named, though it is a daemon", () => {
    const steps = "[[{ name: daemon, template: serve }, { name: user, template: work }]]";
    const node = nodesOf(`steps: ${steps}`, forgets);
    expect(node("w")?.message).toBe(`child '${node("w[0].daemon")?.id}' failed`);
  });

  test("tasks that have not begun wait for their exit handlers", () => {
    const daemon = "name: daemon, template: serve, hooks: { exit: { template: work } }";
    const tasks =
      `[{ ${daemon} }, { name: a, template: work, depends: daemon }, { name: b, template: work, depends: daemon.Failed && a }]`;
    const node = nodesOf(`dag: { tasks: ${tasks} }`, forgets);
    const end = node("w.daemon.onExit")?.finishedAt ?? "?";
    expect(String(node("w.b")?.startedAt) >= end).toBe(true);
  });
});
