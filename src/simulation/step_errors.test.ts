/** Steps that can't be carried out, beside others of their group. */
import { expect, test } from "vitest";
import { parse } from "yaml";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import { decodeManifest } from "../spec/schema/decode_manifest.ts";
import { Simulation, SIMULATION_NAMESPACE } from "./simulation.ts";

/** Message of the workflow, and name and phase of its nodes, after a group of these steps. `a` fails. */
function outcome(steps: string): { message: string | undefined; nodes: string[] } {
  const spec = `
entrypoint: main
templates:
  - { name: main, steps: [[${steps}], [{ name: z, template: work }]] }
  - { name: work, container: { image: x } }
  - { name: odd, suspend: { duration: odd } }`;
  const rules = [{ node: "a$", outcome: "Failed" as const }];
  const isForgetful = [false, true];
  const [views, again] = isForgetful.map((is) => {
    const { status } = simulateWorkflow(spec, 10, { rules, isForgetful: is }).view("w");
    const nodes = Object.values(status?.nodes ?? {}).filter(({ type }) => type !== "StepGroup");
    return {
      message: status?.message,
      nodes: nodes.map(({ displayName, phase }) => `${displayName}: ${phase}`).sort(),
    };
  });
  expect(again).toEqual(views);
  return views ?? { message: undefined, nodes: [] };
}

const REASON = 'unable to parse odd as a duration: time: invalid duration "odd"';

test("nothing begins after such a step, and the group tells of it although a step before it has failed", () => {
  const steps =
    "{ name: a, template: work }, { name: b, template: odd }, { name: c, template: work }";
  expect(outcome(steps)).toEqual({
    message: `step group deemed errored due to child w[0].b error: ${REASON}`,
    nodes: ["a: Failed", "b: Error", "w: Failed"],
  });
});

test("no hook of such a step begins", () => {
  const hooks = "hooks: { exit: { template: work } }";
  expect(outcome(`{ name: b, template: odd, ${hooks} }`).nodes).toEqual(["b: Error", "w: Failed"]);
});

test("a wrong condition of an element of a loop ends the group, whatever the step tolerates", () => {
  const loop = `withItems: [x, "y ==", x], when: "{{item}} == x", continueOn: { error: true }`;
  const steps = `{ name: b, template: work, ${loop} }, { name: s, template: work, when: "1 == 2" }`;
  expect(outcome(steps)).toEqual({
    message:
      "Invalid 'when' expression 'y == == x': Cannot transition token types from COMPARATOR [==] to COMPARATOR [==]",
    nodes: ["b(0:x): Succeeded", "b(1:y ==): Error", "w: Failed"],
  });
});

test.each([
  [
    "templateRef: { name: '{{steps.gen.outputs.result}}', template: t }",
    "workflow template gone not found",
  ],
  [
    "templateRef: { name: '{{steps.gen.outputs.result}}', template: t, clusterScope: true }",
    "workflow template gone not found",
  ],
  [
    "templateRef: { name: kept, template: '{{steps.gen.outputs.result}}' }",
    "template gone not found in workflow template kept",
  ],
  ["templateRef: { name: kept, template: inner }", "template gone not found"],
])("a step with %s tells what is missing", (ref, message) => {
  const spec = `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: gen, template: gen }], [{ name: b, ${ref} }]] }
  - { name: gen, script: { image: x, command: [sh], source: x } }`;
  const simulation = new Simulation({ rules: [{ node: "gen", result: "gone" }] });
  const hooks = { exit: { template: "gone" } };
  const inner = { name: "inner", steps: [[{ name: "a", template: "leaf", hooks }]] };
  const kept = {
    kind: "WorkflowTemplate",
    metadata: { name: "kept", namespace: SIMULATION_NAMESPACE },
    spec: { templates: [inner, { name: "leaf", container: { image: "x" } }] },
  };
  simulation.addManifest("WorkflowTemplate", kept as never);
  const metadata = { name: "w" };
  simulation.submit(decodeManifest("Workflow", { kind: "Workflow", metadata, spec: parse(spec) }));
  passTime(simulation, 10);
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  expect(nodes.filter(({ type }) => type === "Skipped").map((node) => node.message))
    .toEqual([message]);
});

test("a group in which a step can't be carried out ends when the steps beside it have ended", () => {
  const spec = `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: job, template: job }, { name: ask, template: ask }]] }
  - { name: job, container: { image: x } }
  - name: ask
    suspend: { duration: 1s }
    outputs: { parameters: [{ name: o, valueFrom: { supplied: {} } }] }`;
  const simulation = simulateWorkflow(spec, 4, { rules: [{ node: "job", after: 6 }] });
  const phases = () =>
    Object.values(simulation.view("w").status?.nodes ?? {}).map(({ displayName, phase }) =>
      `${displayName}: ${phase}`
    );
  expect(phases()).toEqual(["w: Running", "[0]: Running", "job: Running", "ask: Error"]);
  passTime(simulation, 10);
  expect(phases()).toEqual(["w: Failed", "[0]: Error", "job: Succeeded", "ask: Error"]);
});

test("the exit handler runs after an entrypoint that timed out before it began", () => {
  const spec = `
entrypoint: main
onExit: work
templates:
  - { name: main, timeout: 2s, container: { image: x } }
  - { name: work, container: { image: x } }`;
  const rules = [{ node: "^w$", outcome: "Pending" }] as const;
  const { phase, message, nodes = {} } = simulateWorkflow(spec, 10, { rules }).view("w").status ??
    {};
  expect([phase, message]).toEqual(["Failed", "timeout"]);
  expect(Object.values(nodes).map((node) => node.phase)).toEqual(["Failed", "Succeeded"]);
});

test("a step that is skipped has a node, whatever becomes of the steps before it", () => {
  const { nodes = {} } = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    steps: [[{ name: a, template: broken }, { name: b, template: work, when: no == yes }]]
  - { name: broken, dag: { tasks: [{ name: x, template: work, withParam: no list }] } }
  - { name: work, container: { image: x } }`,
    5,
  ).view("w").status ?? {};
  const rows = Object.values(nodes).map(({ name, phase }) => [name, phase]);
  expect(rows).toContainEqual(["w[0].a", "Error"]);
  expect(rows).toContainEqual(["w[0].b", "Skipped"]);
});

test("a step that timed out before it began is tolerated like any other that failed", () => {
  const spec = `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: a, template: slow, continueOn: { failed: true } }], [{ name: b, template: work }]] }
  - { name: slow, timeout: 2s, container: { image: x } }
  - { name: work, container: { image: x } }`;
  const rules = [{ template: "slow", outcome: "Pending" }] as const;
  const { phase, nodes = {} } = simulateWorkflow(spec, 10, { rules }).view("w").status ?? {};
  expect(phase).toBe("Succeeded");
  const step = Object.values(nodes).find(({ displayName }) => displayName === "a");
  expect(step).toMatchObject({ phase: "Failed", message: "timeout" });
});
