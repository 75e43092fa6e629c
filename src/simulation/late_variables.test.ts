/** Variables of the workflow that change while it runs, in Steps templates and DAGs. */
import { describe, expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import type { TaskRule } from "./task_rule.ts";

const WORK = "{ name: work, container: { image: x } }";

const run = (spec: string, rules: TaskRule[], seconds = 20) => {
  const { status } = simulateWorkflow(spec, seconds, { rules }).view("w");
  const nodes = Object.values(status?.nodes ?? {});
  return { status, node: (name: string) => nodes.find((node) => node.name === name) };
};

describe.each([
  ["Steps", (steps: string) => `steps: [[${steps}]]`, "w.onExit[0]."],
  ["DAG", (tasks: string) => `dag: { tasks: [${tasks}] }`, "w.onExit."],
])("the default of an input of a %s template", (_, body, inside) => {
  test("is how the workflow has ended, in an exit handler", () => {
    const calls =
      `{ name: a, template: work, when: "{{=inputs.parameters.is == 'Failed'}}" }, { name: b, template: work, when: "{{=inputs.parameters.is == 'Succeeded'}}" }`;
    const { node } = run(
      `
entrypoint: main
onExit: bye
templates:
  - { name: main, container: { image: x } }
  - name: bye
    inputs: { parameters: [{ name: is, default: "{{workflow.status}}" }] }
    ${body(calls)}
  - ${WORK}`,
      [{ node: "^w$", outcome: "Failed" }],
    );
    expect(node("w.onExit")?.inputs?.parameters).toMatchObject([{ value: "Failed" }]);
    expect(node(`${inside}a`)?.phase).toBe("Succeeded");
    expect(node(`${inside}b`)?.phase).toBe("Skipped");
  });
});

/** A workflow in which a step leaves `v` as the global output `g` before `template` runs in the next group, as `b`. */
const after = (template: string) => `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: a, template: leave }], [{ name: b, template: group }]] }
  - name: leave
    outputs: { parameters: [{ name: o, globalName: g, valueFrom: { path: /o } }] }
    container: { image: x }
  - ${WORK}
  - name: group
    ${template}`;

const LEAVES: TaskRule = { node: "a$", parameters: { o: "v" } };

describe("a global output may stand in a Steps template or DAG", () => {
  test("as the default of an input", () => {
    const { node } = run(
      after(`inputs: { parameters: [{ name: p, default: "{{workflow.outputs.parameters.g}}" }] }
    steps: [[{ name: c, template: work, when: "{{=inputs.parameters.p == 'v'}}" }]]`),
      [LEAVES],
    );
    expect(node("w[1].b")?.inputs?.parameters).toMatchObject([{ value: "v" }]);
    expect(node("w[1].b[0].c")?.phase).toBe("Succeeded");
  });

  test("in the name of its lock", () => {
    const spec = after(
      `synchronization: { mutexes: [{ name: "m-{{workflow.outputs.parameters.g}}" }] }
    steps: [[{ name: c, template: work }]]`,
    );
    const { status } = run(spec, [LEAVES, { node: "c$", outcome: "Hang" }], 4);
    expect(status?.synchronization).toMatchObject({
      mutex: { holding: [{ mutex: "default/Mutex/m-v" }] },
    });
  });

  test("in the key under which its outputs are memoized", () => {
    const { node } = run(
      after(
        `memoize: { key: "k-{{workflow.outputs.parameters.g}}", cache: { configMap: { name: c } } }
    dag: { tasks: [{ name: c, template: work }] }`,
      ),
      [LEAVES],
    );
    expect(node("w[1].b")).toMatchObject({
      phase: "Succeeded",
      memoizationStatus: { hit: false, key: "k-v" },
    });
  });

  test("in its retry strategy and its display name", () => {
    const { node } = run(
      after(
        `annotations: { workflows.argoproj.io/display-name: "shown-{{workflow.outputs.parameters.g}}" }
    retryStrategy: { limit: "{{=workflow.outputs.parameters.g == 'v' ? 1 : 0}}" }
    dag: { tasks: [{ name: c, template: work }] }`,
      ),
      [LEAVES, { node: "c$", outcome: "Failed" }],
    );
    expect(node("w[1].b")).toMatchObject({
      displayName: "shown-v",
      phase: "Failed",
      message: "No more retries left",
    });
    expect(node("w[1].b(1)")?.phase).toBe("Failed");
  });
});
