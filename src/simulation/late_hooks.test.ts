/** A hook that reads other steps begins when its condition holds, also when its own step has ended, as long as the group goes on. */
import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";

const WAIT_S = 20;

function run(main: string, isForgetful: boolean) {
  return simulateWorkflow(
    `
entrypoint: main
templates:
  - { name: main, ${main} }
  - { name: ok, container: { image: x } }`,
    WAIT_S,
    {
      rules: [
        { node: "early$", after: 2 },
        { node: "late$", outcome: "Failed", after: 3 },
        { node: "onExit$", outcome: "Failed" },
      ],
      isForgetful,
    },
  );
}

const failed = (kind: string) =>
  `hooks: { run: { template: ok, expression: '${kind}.late.status == "Failed"' } }`;

test.each([false, true])(
  "a hook begins after its step has ended (loaded again: %s)",
  (isForgetful) => {
    const steps = `steps: [[{ name: late, template: ok }, { name: early, template: ok, ${
      failed("steps")
    } }]]`;
    const dag =
      `dag: { failFast: false, tasks: [{ name: late, template: ok }, { name: early, template: ok, ${
        failed("tasks")
      } }] }`;
    for (const [main, name] of [[steps, "w[0].early.hooks.run"], [dag, "w.early.hooks.run"]]) {
      const { phase, nodes = {} } = run(main as string, isForgetful).view("w").status ?? {};
      const hook = Object.values(nodes).find((node) => node.name === name);
      expect([phase, hook?.phase]).toEqual(["Failed", "Succeeded"]);
    }
  },
);

test.each([false, true])(
  "no hook begins when its group has ended (loaded again: %s)",
  (isForgetful) => {
    const main =
      `steps: [[{ name: early, template: ok, hooks: { run: { template: ok, expression: 'steps.late.status == "Failed"' } } }], [{ name: late, template: ok }]]`;
    const { nodes = {} } = run(main, isForgetful).view("w").status ?? {};
    const names = Object.values(nodes).map(({ name }) => name);
    expect(names).toContain("w[1].late");
    expect(names).not.toContain("w[0].early.hooks.run");
  },
);

test("an exit handler that failed runs again with a retry, though its step is kept", () => {
  const simulation = run(
    "steps: [[{ name: early, template: ok, hooks: { exit: { template: ok } } }, { name: late, template: ok }]]",
    true,
  );
  const exit = () =>
    Object.values(simulation.view("w").status?.nodes ?? {})
      .find(({ name }) => name === "w[0].early.onExit")?.phase;
  expect([simulation.view("w").status?.phase, exit()]).toEqual(["Failed", "Failed"]);
  simulation.rules.length = 0;
  simulation.control("w", { type: "retry" });
  passTime(simulation, WAIT_S);
  expect([simulation.view("w").status?.phase, exit()]).toEqual(["Succeeded", "Succeeded"]);
});

test.each([false, true])(
  "a hook waits for its place until the loops inside its step have theirs (loaded again: %s)",
  (isForgetful) => {
    const simulation = simulateWorkflow(
      `
entrypoint: main
parallelism: 1
templates:
  - name: main
    steps:
      - - { name: late, template: ok }
        - { name: early, template: inner, ${failed("steps")} }
  - name: inner
    dag:
      failFast: false
      tasks:
        - { name: loop, template: ok, withItems: [a, b], hooks: { run: { template: ok, expression: "1 +" } } }
        - { name: other, template: ok }
  - { name: ok, container: { image: x } }`,
      WAIT_S,
      { rules: [{ node: ".", outcome: "Failed" }], isForgetful },
    );
    const started = Object.values(simulation.view("w").status?.nodes ?? {})
      .filter(({ type }) => type === "Pod")
      .toSorted((a, b) => (a.startedAt ?? "").localeCompare(b.startedAt ?? ""))
      .map(({ displayName }) => displayName);
    expect(started).toEqual(["late", "loop(0:a)", "loop(1:b)", "early.hooks.run"]);
  },
);

/** A step whose hook hangs, with an exit handler. */
const HUNG = `
entrypoint: main
onExit: leaf
templates:
  - name: main
    steps: [[{ name: a, template: leaf, hooks: {
      hung: { template: leaf, expression: 'steps.a.status == "Succeeded"' } } }]]
  - { name: leaf, container: { image: x } }`;

test.each(
  [
    ["a stop", "", { type: "stop" }, "workflow shutdown with strategy:  Stop"],
    ["the deadline", "activeDeadlineSeconds: 5", undefined, "Step exceeded its deadline"],
  ] as const,
)("%s ends a hook, but not the exit handler", (_, deadline, request, message) => {
  const rules = [{ node: "hung", outcome: "Hang" as const }];
  const simulation = simulateWorkflow(`${deadline}${HUNG}`, 4, { rules });
  if (request !== undefined) simulation.control("w", request);
  passTime(simulation, 8);
  const { phase, nodes = {} } = simulation.view("w").status ?? {};
  const hook = Object.values(nodes).find(({ displayName }) => displayName === "a.hooks.hung");
  expect(hook).toMatchObject({ phase: "Failed", message });
  const exit = Object.values(nodes).find(({ displayName }) => displayName === "w.onExit");
  expect(exit?.phase).toBe("Succeeded");
  expect(phase).not.toBe("Running");
});

test("hooks of steps and the templates that they call know that the workflow is running", () => {
  const notify =
    `arguments: { parameters: [{ name: p, value: "{{workflow.status}}" }] }, template: notify`;
  const simulation = simulateWorkflow(
    `
entrypoint: main
onExit: notify
templates:
  - name: main
    steps: [[{ name: a, template: work, hooks: { exit: { ${notify} }, go: { ${notify}, expression: "true" } } }]]
  - name: notify
    inputs: { parameters: [{ name: p, default: none }] }
    steps: [[{ name: b, template: say, when: "{{workflow.status}} == Running", arguments: { parameters: [{ name: p, value: "{{workflow.status}}" }] } }]]
  - { name: say, inputs: { parameters: [{ name: p }] }, container: { image: x } }
  - { name: work, container: { image: x } }`,
    20,
  );
  const { phase, nodes = {} } = simulation.view("w").status ?? {};
  expect(phase).toBe("Succeeded");
  const said = (name: string) =>
    Object.values(nodes).find((node) => node.name === name)?.inputs?.parameters?.[0]?.value;
  expect(["w[0].a.onExit", "w[0].a.hooks.go", "w[0].a.onExit[0].b"].map(said))
    .toEqual(["Running", "Running", "Running"]);
  expect(Object.values(nodes).find(({ name }) => name === "w.onExit[0].b")?.message)
    .toBe("when 'Succeeded == Running' evaluated false");
});

test("an exit handler gets the result of its step, and in a loop the status of its element", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    steps:
      - - { name: a, template: ok, hooks: { exit: { template: say, arguments: { parameters: [{ name: x, value: "{{steps.a.outputs.result}}" }] } } } }
        - { name: b, template: ok, withItems: [1], hooks: { exit: { template: say, expression: 'steps?.b?.status == "Succeeded"', arguments: { parameters: [{ name: x, value: "{{steps.b.status}}" }] } } } }
  - { name: ok, container: { image: x } }
  - { name: say, inputs: { parameters: [{ name: x }] }, container: { image: x } }`,
    WAIT_S,
    { rules: [{ node: "a$", result: "made" }] },
  );
  const { phase, nodes = {} } = simulation.view("w").status ?? {};
  const said = Object.values(nodes).filter(({ templateName }) => templateName === "say")
    .map(({ displayName, inputs }) => [displayName, inputs?.parameters?.[0]?.value]);
  expect([phase, said]).toEqual([
    "Succeeded",
    [["a.onExit", "made"], ["b(0:1).onExit", "Succeeded"]],
  ]);
});
