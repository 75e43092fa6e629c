/** Daemons that end by themselves while others still need them. */
import { describe, expect, test } from "vitest";
import type { TaskRule } from "./task_rule.ts";
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

  describe("with a retry strategy", () => {
    const lost = { node: "d\\(0\\)", outcome: "Failed" as const, after: 3 };
    const user = { node: "b$", after: 30 };
    const steps =
      "[[{ name: d, template: serve }], [{ name: a, template: work }, { name: b, template: work }]," +
      " [{ name: c, template: echo, arguments: { parameters: [{ name: ip, value: '{{steps.d.ip}}' }] } }]]";

    function run(strategy: string, rules: TaskRule[], more = "") {
      const spec = `
entrypoint: main
${more}
templates:
  - { name: main, steps: ${steps} }
  - { name: serve, daemon: true, retryStrategy: ${strategy}, container: { image: x } }
  - { name: work, container: { image: x } }
  - { name: echo, inputs: { parameters: [{ name: ip }] }, container: { image: x } }`;
      const simulation = simulateWorkflow(spec, 60, { rules, isForgetful: forgets });
      const { phase, message, nodes = {} } = simulation.view("w").status ?? {};
      const find = (name: string) => Object.values(nodes).find((node) => node.name === name);
      return { phase, message, find };
    }

    test.each(["Failed", "Succeeded"] as const)("they are attempted again after %s", (outcome) => {
      const { phase, find } = run("{ limit: 1 }", [{ ...lost, outcome }, user]);
      expect(phase).toBe("Succeeded");
      expect(find("w[0].d(0)")?.phase).toBe("Failed");
      const again = find("w[0].d(1)");
      expect(again?.phase).toBe("Succeeded");
      expect(find("w[0].d")).toMatchObject({ type: "Retry", phase: "Succeeded" });
      expect(find("w[2].c")?.inputs?.parameters?.[0]?.value).toBe(again?.podIP);
    });

    test("they fail their step when the strategy gives up", () => {
      const { phase, message, find } = run("{ limit: 1 }", [{ ...lost, node: "d\\(.\\)" }, user]);
      expect(find("w[0].d")).toMatchObject({ phase: "Failed", message: "No more retries left" });
      expect([phase, message]).toEqual(["Failed", `child '${find("w[0].d")?.id}' failed`]);
    });

    test("a policy that is not about their end gives up at once", () => {
      const { phase, find } = run("{ limit: 1, retryPolicy: OnError }", [lost, user]);
      expect(find("w[0].d")?.phase).toBe("Failed");
      expect(find("w[0].d(1)")).toBeUndefined();
      expect(phase).toBe("Failed");
    });

    test("an attempt that is not ready when their boundary ends is ended", () => {
      const pending = { node: "d\\(1\\)", outcome: "Pending" as const };
      const { phase, find } = run("{ limit: 1 }", [lost, pending, user]);
      expect(phase).toBe("Succeeded");
      expect(find("w[0].d(1)")?.phase).toBe("Succeeded");
      expect(find("w[2].c")?.inputs?.parameters?.[0]?.value).toBe(find("w[0].d(0)")?.podIP);
    });

    test("the deadline of the workflow ends a wait for the next attempt", () => {
      const strategy = "{ limit: 1, backoff: { duration: 1h } }";
      const { phase, find } = run(strategy, [lost, user], "activeDeadlineSeconds: 9");
      const { phase: end, message } = find("w[0].d") ?? {};
      expect([phase, end]).toEqual(["Failed", "Failed"]);
      expect(message).toContain("retry exceeded workflow deadline");
    });

    test("a wait for the next attempt ends with their boundary", () => {
      const { phase, find } = run("{ limit: 1, backoff: { duration: 1h } }", [lost, user]);
      expect(phase).toBe("Succeeded");
      expect(find("w[0].d")).toMatchObject({ phase: "Succeeded" });
      expect(find("w[0].d")?.message).toBeUndefined();
    });
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
