/** A manual retry begins the daemons again that what is retried needs. */
import { describe, expect, test } from "vitest";
import type { NodeStatus } from "../spec/manifest.ts";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import type { Simulation } from "./simulation.ts";
import type { TaskRule } from "./task_rule.ts";

const IP = "arguments: { parameters: [{ name: ip, value: '{{D.ip}}' }] }";

const TEMPLATES = `
  - { name: serve, daemon: true, pendingTimeout: 8s, container: { image: x } }
  - { name: serve-again, daemon: true, pendingTimeout: 8s, retryStrategy: { limit: 1 }, container: { image: x } }
  - { name: work, container: { image: x } }
  - { name: use, inputs: { parameters: [{ name: ip }] }, container: { image: x } }
  - { name: use-again, inputs: { parameters: [{ name: ip }] }, retryStrategy: { limit: 0 }, container: { image: x } }
  - name: inner
    inputs: { parameters: [{ name: ip }] }
    steps:
      - - { name: before, template: work }
      - - name: client
          template: use
          arguments: { parameters: [{ name: ip, value: '{{inputs.parameters.ip}}' }] }`;

const CLIENT_FAILS: TaskRule = { node: "client(\\(0\\))?$", outcome: "Failed", after: 2 };

const stepsOf = (serve: string, client: string) =>
  `steps: [[{ name: d, template: ${serve} }], [{ name: a, template: work }], [{ name: b, template: work }, { name: client, template: ${client}, ${
    IP.replace("D", "steps.d")
  } }]]`;
const dagOf = (serve: string, client: string) =>
  `dag: { tasks: [{ name: d, template: ${serve} }, { name: a, template: work, depends: d }, { name: client, template: ${client}, depends: a, ${
    IP.replace("D", "tasks.d")
  } }] }`;

function nodesOf(simulation: Simulation) {
  return Object.values(simulation.view("w").status?.nodes ?? {});
}

/** The node with the given end of its name. */
function find(simulation: Simulation, end: string): NodeStatus | undefined {
  return nodesOf(simulation).find(({ name = "" }) => name.endsWith(end));
}

describe.each([false, true])("loaded again after each step: %s", (isForgetful) => {
  function start(main: string, rules: TaskRule[]): Simulation {
    const spec = `
entrypoint: main
templates:
  - { name: main, ${main} }${TEMPLATES}`;
    return simulateWorkflow(spec, 20, { rules, isForgetful });
  }

  function retry(simulation: Simulation, rules: TaskRule[], seconds = 20): void {
    simulation.rules.splice(0, Infinity, ...rules);
    simulation.control("w", { type: "retry" });
    passTime(simulation, seconds);
  }

  describe.each(["serve", "serve-again"])("daemon %s", (serve) => {
    describe.each(["use", "use-again", "inner"])("client %s", (client) => {
      test.each([["Steps", stepsOf], ["DAG", dagOf]])(
        "begin again before what needs them, in %s",
        (_type, made) => {
          const simulation = start(made(serve, client), [CLIENT_FAILS]);
          expect(simulation.view("w").status?.phase).toBe("Failed");
          const before = new Map(nodesOf(simulation).map((node) => [node.name, node]));
          const first = nodesOf(simulation).find(({ podIP }) => podIP !== undefined);

          retry(simulation, [{ node: "\\bd(\\(0\\))?$", outcome: "Pending" }], 5);
          expect(simulation.openTasks).toHaveLength(1);
          expect(find(simulation, "client")?.phase ?? "Pending").toBe("Pending");

          simulation.rules.splice(0);
          passTime(simulation, 20);
          expect(simulation.view("w").status?.phase).toBe("Succeeded");
          const again = nodesOf(simulation).find(({ podIP }) => podIP !== undefined);
          expect(again?.startedAt).not.toBe(first?.startedAt);
          const users = nodesOf(simulation).filter(({ inputs, type }) =>
            inputs?.parameters?.[0]?.name === "ip" && type === "Pod"
          );
          expect(users.length).toBeGreaterThan(0);
          for (const { inputs, startedAt } of users) {
            expect(inputs?.parameters?.[0]?.value).toBe(again?.podIP);
            expect(String(startedAt) > String(again?.startedAt)).toBe(true);
          }
          for (const { name, phase, startedAt, type } of before.values()) {
            const isKept = type === "Pod" && phase === "Succeeded" &&
              !/\bd(\(0\))?$/.test(name ?? "");
            if (isKept) expect(find(simulation, name ?? "")?.startedAt).toBe(startedAt);
          }
          expect([...before.keys()].sort()).toEqual(
            nodesOf(simulation).map(({ name }) => name).sort(),
          );
        },
      );

      test.each([["Steps", stepsOf], ["DAG", dagOf]])(
        "begin again when they have failed in a retry, in %s",
        (_type, made) => {
          const simulation = start(made(serve, client), [CLIENT_FAILS]);
          const done = find(simulation, ".a")?.startedAt;
          retry(simulation, [{ node: "\\bd(\\(.\\))?$", outcome: "Pending" }]);
          expect(simulation.view("w").status?.phase).toMatch(/Failed|Error/);
          retry(simulation, []);
          expect(simulation.view("w").status?.phase).toBe("Succeeded");
          expect(find(simulation, ".a")?.startedAt).toBe(done);
          expect(find(simulation, "client")?.phase).toBe("Succeeded");
        },
      );
    });
  });

  test.each(["serve", "serve-again"])(
    "say nothing of the task before them, which begins again: %s",
    (serve) => {
      const failed = "{ name: a, template: work, continueOn: { failed: true } }";
      const tasks = `[${failed}, { name: d, template: ${serve}, dependencies: [a] }]`;
      const simulation = start(`dag: { tasks: ${tasks} }`, [{ node: "a$", outcome: "Failed" }]);
      expect(simulation.view("w").status?.phase).toBe("Failed");
      retry(simulation, []);
      expect(find(simulation, "w.a")?.phase).toBe("Succeeded");
      expect(simulation.view("w").status?.phase).toBe("Succeeded");
    },
  );
});
