/** Who gets a free place, where parallelism is limited: the first in the order of the tree, whatever has happened last. */
import { describe, expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import type { TaskRule } from "./task_rule.ts";

/** Names of the pods that were begun after 9 seconds. All pods hang except those whose names begin with `short`. */
function begun(spec: string, isForgetful: boolean): string[] {
  const text = `
entrypoint: main
${spec}
  - { name: work, container: { image: x } }
  - { name: flaky, retryStrategy: { limit: 3 }, container: { image: x } }
  - { name: pair, dag: { tasks: [{ name: one, template: work }, { name: two, template: work }] } }`;
  const rules = [
    { node: "flaky\\(0\\)", outcome: "Failed" as const },
    { node: "short$", outcome: "Succeeded" as const },
    { node: "late\\(0\\)", outcome: "Failed" as const },
    { node: "long", outcome: "Succeeded" as const, after: 3 },
    { node: "bad", outcome: "Failed" as const },
    { outcome: "Hang" as const },
  ];
  const simulation = simulateWorkflow(text, 9, { rules, isForgetful });
  return Object.values(simulation.view("w").status?.nodes ?? {})
    .filter(({ type }) => type === "Pod")
    .map(({ name }) => name)
    .sort();
}

describe.each([["in memory", false], ["loaded again after each step", true]])(
  "%s",
  (_, forgets) => {
    test("what is inside an earlier step goes before a later step", () => {
      const steps =
        "[[{ name: short, template: work }, { name: a, template: pair }, { name: b, template: pair }]]";
      const spec = `parallelism: 2\ntemplates:\n  - { name: main, steps: ${steps} }`;
      expect(begun(spec, forgets)).toEqual(["w[0].a.one", "w[0].a.two", "w[0].short"]);
    });

    test("what is inside an earlier task goes before a later task", () => {
      const tasks =
        "[{ name: a-short, template: work }, { name: b, template: pair }, { name: c, template: work }]";
      const spec = `parallelism: 2\ntemplates:\n  - { name: main, dag: { tasks: ${tasks} } }`;
      expect(begun(spec, forgets)).toEqual(["w.a-short", "w.b.one", "w.b.two"]);
    });

    test.each(["workflow", "template"])("an attempt goes before a later step: %s", (level) => {
      const limit = "parallelism: 1";
      const spec = `${level === "workflow" ? limit : ""}
templates:
  - name: main
    ${level === "workflow" ? "" : limit}
    steps: [[{ name: flaky, template: flaky }, { name: b, template: work }]]`;
      expect(begun(spec, forgets)).toEqual(["w[0].flaky(0)", "w[0].flaky(1)"]);
    });

    test("a task that only waited for its turn begins although another one has failed", () => {
      const tasks = "[{ name: a-bad, template: work }, { name: b-short, template: work }]";
      const spec = `parallelism: 1\ntemplates:\n  - { name: main, dag: { tasks: ${tasks} } }`;
      expect(begun(spec, forgets)).toEqual(["w.a-bad", "w.b-short"]);
    });

    test("who waits for a place in a template and who waits for one in the workflow are in one order", () => {
      const steps =
        "[[{ name: late, template: late }, { name: b-long, template: work, withItems: [1, 2] }]]";
      const spec = `parallelism: 2
templates:
  - { name: main, parallelism: 1, steps: ${steps} }
  - { name: late, retryStrategy: { limit: 1, backoff: { duration: "2" } }, container: { image: x } }`;
      expect(begun(spec, forgets)).toEqual(["w[0].b-long(0:1)", "w[0].late(0)", "w[0].late(1)"]);
    });

    test("a hook of a step goes after all steps of its group, though its template has failed", () => {
      const hooks = `{ run: { template: work, expression: 'steps.a.status == "Running"' } }`;
      const spec = `parallelism: 2
templates:
  - { name: main, steps: [[{ name: a, template: failing, withItems: [1, 2], hooks: ${hooks} }]] }
  - { name: failing, failFast: true, dag: { tasks: [{ name: bad, template: work }, { name: c, template: work }] } }`;
      expect(begun(spec, forgets)).toContain("w[0].a(1:2).bad");
    });

    test("a hook of the workflow goes after its steps", () => {
      const spec = `parallelism: 1
hooks: { running: { template: work, expression: 'workflow.status == "Running"' } }
templates:
  - { name: main, steps: [[{ name: short, template: work, hooks: { running: { template: work, expression: 'steps.short.status == "Running"' } } }], [{ name: b, template: work }]] }`;
      expect(begun(spec, forgets)).toEqual(["w[0].short", "w[1].b"]);
    });
  },
);

test.each([false, true])(
  "after a stop failFast holds as before, loaded again: %s",
  (isForgetful) => {
    const simulation = simulateWorkflow(
      `
entrypoint: main
parallelism: 1
templates:
  - { name: main, failFast: true, steps: [[{ name: a, template: work }, { name: b, template: work }]] }
  - { name: work, container: { image: x } }`,
      3,
      { rules: [{ outcome: "Hang" }], isForgetful },
    );
    simulation.control("w", { type: "stop" });
    simulation.settle();
    const { phase, nodes = {} } = simulation.view("w").status ?? {};
    expect(phase).toBe("Failed");
    expect(Object.values(nodes).map(({ name }) => name)).toEqual(["w", "w[0]", "w[0].a"]);
  },
);

describe("a daemon that holds the only place", () => {
  const main = {
    steps: "steps: [[{ name: d, template: serve }], [{ name: e, template: work }]]",
    dag: "dag: { tasks: [{ name: d, template: serve }, { name: e, template: work, depends: d }] }",
    attempts: "steps: [[{ name: d, template: serve }], [{ name: e, template: again }]]",
  };
  const start = (body: string, deadline = "") =>
    simulateWorkflow(
      `
entrypoint: main
parallelism: 1
${deadline}
templates:
  - { name: main, ${body} }
  - { name: serve, daemon: true, container: { image: x } }
  - { name: again, retryStrategy: { limit: 1 }, container: { image: x } }
  - { name: work, container: { image: x } }`,
      9,
    );

  test.each(Object.values(main))("does not keep a workflow from being stopped: %s", (body) => {
    for (const type of ["stop", "terminate"] as const) {
      const simulation = start(body);
      expect(simulation.view("w").status?.phase).toBe("Running");
      simulation.control("w", { type });
      simulation.settle();
      expect(simulation.view("w").status?.phase).toBe("Failed");
      expect(simulation.allStartsOf("w")).toBe(1);
    }
  });

  test.each(Object.values(main))("does not keep a workflow from its deadline: %s", (body) => {
    const { phase, finishedAt, startedAt } = start(body, "activeDeadlineSeconds: 5").view("w")
      .status ?? {};
    expect(phase).toBe("Failed");
    expect(Date.parse(finishedAt ?? "") - Date.parse(startedAt ?? "")).toBe(5000);
  });
});

/** Long enough for all tasks, one after the other. */
const WAIT_S = 30;

/** The steps in the order in which their tasks began; those that began together stand together. */
function orderOf(spec: string, rules: TaskRule[], isForgetful: boolean): string[] {
  const work = "  - { name: work, container: { image: x } }";
  const simulation = simulateWorkflow(`entrypoint: main\n${spec}\n${work}`, WAIT_S, {
    rules,
    isForgetful,
  });
  const { nodes = {}, phase } = simulation.view("w").status ?? {};
  expect(phase).not.toBe("Running");
  const begun = new Map<string, string[]>();
  for (const { type, startedAt, displayName = "" } of Object.values(nodes)) {
    if (type !== "Pod" || startedAt === null || startedAt === undefined) continue;
    begun.set(startedAt, [...begun.get(startedAt) ?? [], displayName]);
  }
  return [...begun].sort().map(([, names]) => names.sort().join(" "));
}

describe.each([["in memory", false], ["loaded again after each commit", true]])(
  "%s",
  (_title, isForgetful) => {
    test("a task that waits goes before one that has become ready, if the walk comes to it first", () => {
      const order = orderOf(
        `
parallelism: 2
templates:
  - name: main
    dag: { tasks: [
      { name: z, template: work },
      { name: a, template: pair, depends: z },
      { name: b, template: chain }] }
  - name: pair
    steps: [[{ name: a1, template: work }, { name: a2, template: work }]]
  - name: chain
    steps: [
      [{ name: b1, template: work }],
      [{ name: b2, template: work }],
      [{ name: b3, template: work }]]`,
        [{ node: "z$", after: 2 }],
        isForgetful,
      );
      expect(order).toEqual(["b1 z", "b2", "a1", "a2", "b3"]);
    });

    test.each(["", "x"])(
      "a task that has become ready goes before a later one that waits %s",
      (x) => {
        const order = orderOf(
          `
${x === "" ? "parallelism: 1" : ""}
templates:
  - name: main
    ${x === "" ? "" : "parallelism: 1"}
    dag: { tasks: [
      { name: t0, template: work },
      { name: t1, template: work, depends: t0 },
      { name: t2, template: work }] }`,
          [],
          isForgetful,
        );
        expect(order).toEqual(["t0", "t1", "t2"]);
      },
    );

    test("a task that is ready begins before the failure of another one ends the dag", () => {
      const order = orderOf(
        `
parallelism: 2
templates:
  - name: main
    dag: { tasks: [
      { name: a, template: work },
      { name: b, template: work },
      { name: c, template: work, depends: a },
      { name: d, template: work, depends: c }] }`,
        [{ node: "b$", outcome: "Failed" }],
        isForgetful,
      );
      expect(order).toEqual(["a b", "c", "d"]);
    });
  },
);

test.each([0, -1])("a parallelism of %s sets no limit to a template", (limit) => {
  const loop = "[[{ name: a, template: work, withItems: [1, 2, 3] }]]";
  const { status } = simulateWorkflow(
    `
entrypoint: main
templates:
  - { name: main, parallelism: ${limit}, steps: ${loop} }
  - { name: work, container: { image: x } }`,
    5,
  ).view("w");
  expect(status).toMatchObject({ phase: "Succeeded", progress: "3/3" });
});
