/** Hooks that cannot be carried out: their conditions can't be decided, or they cannot begin. */
import { describe, expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import type { TaskRule } from "./task_rule.ts";

const TEMPLATES = `
  - { name: ok, container: { image: x } }
  - { name: slow, timeout: 2s, container: { image: x } }
  - { name: gives, container: { image: x }, outputs: { parameters: [{ name: o, valueFrom: { path: /o } }] } }
  - { name: needs, inputs: { parameters: [{ name: p }] }, container: { image: x } }`;

/** How a workflow ends, and the phases of its nodes. */
function endOf(
  main: string,
  more = "",
  rules: TaskRule[] = [{ node: "a$", parameters: { o: "v" } }],
) {
  const simulation = simulateWorkflow(
    `
entrypoint: main
${more}
templates:
  - { name: main, ${main} }${TEMPLATES}`,
    20,
    { rules },
  );
  const { phase, message, nodes = {} } = simulation.view("w").status ?? {};
  const phases = new Map(Object.values(nodes).map((node) => [node.name, node.phase]));
  return { phase, message, phases };
}

const hook = (expression: string, template = "ok", name = "h") =>
  `hooks: { ${name}: { template: ${template}, expression: '${expression}' } }`;
const inSteps = (hooks: string) =>
  endOf(`steps: [[{ name: a, template: gives, ${hooks} }], [{ name: b, template: ok }]]`);
const inDag = (hooks: string) =>
  endOf(
    `dag: { tasks: [{ name: a, template: gives, ${hooks} }, { name: b, template: ok, depends: a }] }`,
  );

describe("a hook of a step", () => {
  test.each([
    ["1 +", "unexpected token EOF"],
    ["foo == 1", "unknown name foo"],
    ['"true"', "the expression must give true or false"],
    ["steps.a.none.at == 1", "unable to evaluate expression"],
  ])("whose condition is %s fails the steps", (expression, text) => {
    const { phase, message, phases } = inSteps(hook(expression));
    expect([phase, phases.get("w[0]"), phases.get("w")]).toEqual(["Failed", "Error", "Failed"]);
    expect(message).toContain(text);
    expect(message).not.toContain("deemed errored");
    expect(phases.has("w[1]")).toBe(false);
  });

  test("may name what is there only when the step has ended", () => {
    const { phase, phases } = inSteps(hook('steps.a.outputs.parameters.o == "v"'));
    expect(phase).toBe("Succeeded");
    expect(phases.get("w[0].a.hooks.h")).toBe("Succeeded");
  });

  test.each([["Running", "Succeeded"], ["Failed", undefined]])(
    "may ask whether the workflow is %s",
    (status, ran) => {
      for (const [end, name] of [[inSteps, "w[0].a.hooks.h"], [inDag, "w.a.hooks.h"]] as const) {
        const { phase, phases } = end(hook(`workflow.status == "${status}"`));
        expect([phase, phases.get(name)]).toEqual(["Succeeded", ran]);
      }
    },
  );

  test("that lacks an input fails the steps", () => {
    const { phase, message } = inSteps(hook('steps.a.status == "Succeeded"', "needs"));
    expect([phase, message]).toEqual(["Failed", "inputs.parameters.p was not supplied"]);
  });

  test("does not run when the step was left out", () => {
    const { phase, phases } = inSteps(`when: "false", ${hook("true")}`);
    expect(phase).toBe("Succeeded");
    expect(phases.has("w[0].a.hooks.h")).toBe(false);
  });
});

describe("a hook of a task", () => {
  test.each(["1 +", "tasks.a.none.at == 1"])(
    "whose condition is %s fails the dag",
    (expression) => {
      const { phase, message, phases } = inDag(hook(expression));
      expect([phase, message, phases.get("w")]).toEqual(["Error", undefined, "Error"]);
      expect(phases.has("w.b")).toBe(false);
    },
  );
});

describe("an exit handler", () => {
  test.each([hook("1 +", "ok", "exit"), "hooks: { exit: { template: needs } }"])(
    "of a step that is broken fails the steps: %s",
    (hooks) => {
      const { phase, phases } = inSteps(hooks);
      expect([phase, phases.get("w[0]"), phases.get("w")]).toEqual(["Failed", "Error", "Failed"]);
    },
  );

  test("of a step that is broken: others may go on after its template, or repeat it", () => {
    const broken = "steps: [[{ name: a, template: ok, hooks: { exit: { template: needs } } }]]";
    const inside = (main: string, strategy = "") =>
      endOf(`${main} }\n  - { name: sub, ${strategy} ${broken}`).phase;
    expect(inside(
      "steps: [[{ name: s, template: sub, continueOn: { failed: true } }], [{ name: b, template: ok }]]",
    )).toBe("Succeeded");
    expect(inside(
      "dag: { tasks: [{ name: s, template: sub }, { name: b, template: ok, depends: s.Failed }] }",
    )).toBe("Succeeded");
    const repeated = endOf(`retryStrategy: { limit: 1 }, ${broken}`);
    expect([repeated.message, repeated.phases.get("w(1)")]).toEqual([
      "No more retries left",
      "Failed",
    ]);
  });

  test.each([hook("1 +", "ok", "exit"), "hooks: { exit: { template: needs } }"])(
    "of a task that is broken changes nothing for the tasks after it: %s",
    (hooks) => {
      expect(inDag(hooks).phase).toBe("Succeeded");
    },
  );

  test.each([
    ["{ template: needs }", "inputs.parameters.p was not supplied"],
    ["{ template: ok, expression: 'nope == 1' }", "unknown name nope"],
  ])("of a task that nothing depends on fails the dag: %s", (exit, text) => {
    for (const failing of ["a", "none"]) {
      const { phase, message, phases } = endOf(
        `dag: { tasks: [{ name: a, template: ok, hooks: { exit: ${exit} } }, { name: c, template: ok }] }`,
        "",
        [{ node: `${failing}$`, outcome: "Failed" }],
      );
      expect(phase).toBe("Error");
      expect(message).toContain(`error in entry template execution: ${text}`);
      expect([phases.get("w.a.onExit"), phases.get("w.c")]).toEqual(["Error", "Succeeded"]);
    }
  });

  test("of the workflow runs only when its condition holds or can't be decided", () => {
    const ran = ["1 +", 'workflow.status == "Succeeded"', 'workflow.status == "Failed"'].map(
      (expression) => {
        const hooks = hook(expression, "ok", "exit");
        const { phase, phases } = endOf("steps: [[{ name: a, template: ok }]]", hooks);
        expect(phase).toBe("Succeeded");
        return phases.has("w.onExit");
      },
    );
    expect(ran).toEqual([true, true, false]);
  });
});

describe("a hook of the workflow", () => {
  const main = "steps: [[{ name: a, template: ok }]]";

  test.each([
    [hook("1 +"), "unexpected token EOF"],
    [hook("workflow.none.at == 1"), "unable to evaluate expression"],
    [hook('workflow.status == "Running"', "needs"), "inputs.parameters.p was not supplied"],
  ])("that is broken ends it with an error: %s", (hooks, text) => {
    const { phase, message } = endOf(main, hooks);
    expect(phase).toBe("Error");
    expect(message).toContain(text);
  });

  test("may have tags in its condition", () => {
    const { phases } = endOf(main, hook('"{{workflow.name}}" == "w"'));
    expect(phases.get("w.hooks.h")).toBe("Succeeded");
  });
});

test.each([
  ["exit: { template: slow }", "onExit"],
  ["h: { template: slow, expression: 'X.a.status == \"Running\"' }", "hooks.h"],
])("one that is pending for too long fails alone: %s", (hooks, name) => {
  const rules: TaskRule[] = [{ template: "slow", outcome: "Pending" }, { node: "a$", after: 4 }];
  const step = (kind: string) =>
    `{ name: a, template: ok, hooks: { ${hooks.replace("X", kind)} } }`;
  const ends = [
    endOf(`steps: [[${step("steps")}], [{ name: b, template: ok }]]`, "", rules),
    endOf(`dag: { tasks: [${step("tasks")}, { name: b, template: ok, depends: a }] }`, "", rules),
  ];
  for (const { phase, phases } of ends) {
    expect(phase).toBe("Succeeded");
    const hook = [...phases].find(([node]) => node.endsWith(`.a.${name}`));
    expect(hook?.[1]).toBe("Failed");
  }
});

test.each([
  ["a pod", "container: { image: x }"],
  ["a daemon", "daemon: true, container: { image: x }"],
  ["a container set", "containerSet: { containers: [{ name: main, image: x }] }"],
  ["a request", "http: { url: 'http://x' }"],
])(
  "a hook of the workflow that cannot be carried out leaves nothing running: %s as its entrypoint",
  (_, body) => {
    for (const expression of ["1 +", "true", "asFloat(workflow.duration) > 0"]) {
      const spec = `
entrypoint: main
hooks: { broken: { template: needs, expression: "${expression}" } }
templates:
  - { name: main, ${body} }${TEMPLATES}`;
      const simulation = simulateWorkflow(spec, 5, { rules: [{ outcome: "Hang" }] });
      expect(simulation.view("w").status?.phase).toBe("Error");
      expect(simulation.openTasks).toEqual([]);
    }
  },
);
