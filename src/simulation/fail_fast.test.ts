/** Templates with `failFast` end, whatever was the last thing inside them that failed or wanted to begin. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import type { Simulation } from "./simulation.ts";
import type { TaskRule } from "./task_rule.ts";

function statusOf(main: string, rules: TaskRule[], isForgetful = false) {
  const spec = `
entrypoint: main
templates:
  - { name: main, failFast: true, ${main} }
  - { name: work, container: { image: x } }
  - { name: again, retryStrategy: { limit: 2 }, container: { image: x } }
  - { name: slow, retryStrategy: { limit: 2, backoff: { duration: 10m } }, container: { image: x } }`;
  return simulateWorkflow(spec, 30, { rules, isForgetful }).view("w").status;
}

const ended = {
  phase: "Failed",
  message: "template has failed or errored children and failFast enabled",
};

test("an attempt that fails after another step is not followed by another attempt", () => {
  const status = statusOf(
    "dag: { tasks: [{ name: a, template: again }, { name: b, template: work }] }",
    [{ node: "a", outcome: "Failed", after: 5 }, { node: "b", outcome: "Failed", after: 2 }],
  );
  expect(status).toMatchObject(ended);
  expect(Object.values(status?.nodes ?? {}).map(({ name }) => name).sort())
    .toEqual(["w", "w.a", "w.a(0)", "w.b"]);
});

test.each([false, true])(
  "an attempt that would wait long is not waited for, loaded again: %s",
  (forgets) => {
    const status = statusOf(
      "steps: [[{ name: a, template: slow }, { name: b, template: work }]]",
      [{ node: "a", outcome: "Failed", after: 5 }, { node: "b", outcome: "Failed", after: 2 }],
      forgets,
    );
    expect(status).toMatchObject(ended);
  },
);

test("a step whose hook has failed, and whose exit handler may no longer begin", () => {
  const hooks =
    `{ exit: { template: work }, run: { template: work, expression: 'steps.a.status == "Succeeded"' } }`;
  const status = statusOf(
    `steps: [[{ name: a, template: work, hooks: ${hooks} }]]`,
    [{ node: "hooks", outcome: "Failed" }],
  );
  expect(status).toMatchObject(ended);
});

test.each([false, true])(
  "its open group ends with it, with a restart after each turn: %s",
  (isForgetful) => {
    const status = statusOf(
      "steps: [[{ name: a, template: work }], [{ name: b, template: work }], [{ name: c, template: work }]]",
      [{ node: "b$", outcome: "Failed" }],
      isForgetful,
    );
    const group = Object.values(status?.nodes ?? {}).find(({ name }) => name === "w[1]");
    expect(group).toMatchObject(ended);
  },
);

test("what still waits inside it ends with it, and leaves its locks to others", () => {
  const lock = "synchronization: { mutexes: [{ name: m }] }";
  const inner =
    "[{ name: a, template: work }, { name: b, template: locked }, { name: c, template: wait }]";
  const status = statusOf(
    `steps: [[{ name: x, template: inner }, { name: z, template: last }]] }
  - { name: inner, failFast: true, steps: [${inner}] }
  - { name: locked, retryStrategy: { limit: 1 }, ${lock}, container: { image: x } }
  - { name: wait, suspend: {} }
  - { name: last, ${lock}, container: { image: x }`,
    [{ node: "a$", outcome: "Failed" }, { node: "b", outcome: "Failed", after: 3 }],
  );
  const node = (name: string) =>
    Object.values(status?.nodes ?? {}).find((one) => one.name === name);
  for (const name of ["w[0].x", "w[0].x[0].b", "w[0].x[0].c"]) {
    expect(node(name)).toMatchObject(ended);
  }
  expect(node("w[0].z")?.phase).toBe("Succeeded");
});

test("a daemon that runs does not keep it open", () => {
  const status = statusOf(
    `steps: [[{ name: d, template: server }, { name: a, template: work }]] }
  - { name: server, daemon: true, container: { image: x }`,
    [{ node: "a$", outcome: "Failed", after: 3 }],
  );
  expect(status).toMatchObject(ended);
  const daemon = Object.values(status?.nodes ?? {}).find(({ name }) => name === "w[0].d");
  expect(daemon?.phase).toBe("Succeeded");
});

test("a retry node that may not attempt again gives its lock to a step that is still needed", () => {
  const lock = "synchronization: { mutexes: [{ name: m }] }";
  const status = statusOf(
    `steps: [[{ name: a, template: work }, { name: b, template: locked }, { name: z, template: later }]] }
  - { name: later, steps: [[{ name: p, template: pause }], [{ name: c, template: last }]] }
  - { name: pause, suspend: { duration: 6s } }
  - { name: locked, retryStrategy: { limit: 1 }, ${lock}, container: { image: x } }
  - { name: last, ${lock}, container: { image: x }`,
    [{ node: "a$", outcome: "Failed" }, { node: "b", outcome: "Failed", after: 3 }],
  );
  expect(status).toMatchObject(ended);
  const node = Object.values(status?.nodes ?? {}).find(({ name }) => name === "w[0].z[1].c");
  expect(node?.phase).toBe("Succeeded");
});

test("tasks that are left out after a template that failFast has ended do not hide that it failed", () => {
  const spec = `
entrypoint: main
templates:
  - { name: main, dag: { tasks: [{ name: s, template: sub }, { name: z, template: work, depends: s }] } }
  - { name: sub, failFast: true, steps: [[{ name: x, template: work }, { name: y, template: work }]] }
  - { name: work, container: { image: x } }`;
  const { status } = simulateWorkflow(spec, 10, { rules: [{ node: "x", outcome: "Failed" }] })
    .view("w");
  const nodes = Object.values(status?.nodes ?? {});
  expect(nodes.find(({ name }) => name === "w.z")?.phase).toBe("Omitted");
  expect(status?.phase).toBe("Failed");
});

test.each([
  [
    "steps: [[{ name: a, template: work }, { name: s, template: sub }], [{ name: z, template: work }]]",
    "child 'w-1776813075' failed",
  ],
  [
    "dag: { tasks: [{ name: a, template: work }, { name: s, template: sub }, { name: z, template: work, depends: 'a && s' }] }",
    undefined,
  ],
])(
  "a template inside that fails last ends it as without failFast, with a restart after each turn or not: %s",
  (main, message) => {
    for (const isForgetful of [false, true]) {
      const status = (after: number) =>
        statusOf(
          `${main} }
  - { name: sub, steps: [[{ name: x, template: work }]]`,
          [{ node: "x$", outcome: "Failed", after: 3 }, { node: "a$", after }],
          isForgetful,
        );
      expect(status(1)?.phase).toBe("Failed");
      expect(status(1)?.message).toBe(message);
      expect(status(5)).toMatchObject(ended);
    }
  },
);

test("a template inside that fails last, and whose exit handler may no longer begin", () => {
  for (const main of ["steps: [[S]]", "dag: { tasks: [S] }"]) {
    const step = "{ name: s, template: sub, hooks: { exit: { template: work } } }";
    const status = statusOf(
      `${main.replace("S", step)} }
  - { name: sub, steps: [[{ name: x, template: work }]]`,
      [{ node: "x$", outcome: "Failed" }],
    );
    expect(status).toMatchObject(ended);
  }
});

test.each([
  [
    "after a template that failFast has ended",
    "failFast: true, steps: [[{ name: x, template: work }, { name: y, template: work }], [{ name: z, template: work }]]",
  ],
  [
    "after a DAG that failFast has ended",
    "failFast: true, dag: { tasks: [{ name: x, template: work }, { name: y, template: work }, { name: z, template: work, depends: x }] }",
  ],
])("a retry also begins the tasks that were left out %s", (_, sub) => {
  const spec = `
entrypoint: main
templates:
  - name: main
    dag:
      tasks:
        - { name: s, template: sub }
        - { name: ok, template: work }
        - { name: next, template: work, depends: s && ok }
        - { name: last, template: work, depends: next }
  - { name: sub, ${sub} }
  - { name: work, container: { image: x } }`;
  const rules = [{ name: "x", outcome: "Failed" as const, attempt: 1 }];
  const simulation = simulateWorkflow(spec, 10, { rules });
  expect(phasesOf(simulation)).toMatchObject({ w: "Failed", next: "Omitted", last: "Omitted" });
  simulation.control("w", { type: "retry" });
  for (let second = 0; second < 20; second++) {
    simulation.tick();
    simulation.settle();
  }
  const phases = phasesOf(simulation);
  expect(new Set(Object.values(phases))).toEqual(new Set(["Succeeded"]));
  expect(Object.keys(phases)).toEqual(expect.arrayContaining(["x", "y", "z", "next", "last"]));
});

function phasesOf(simulation: Simulation): Record<string, string | undefined> {
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  return Object.fromEntries(nodes.map(({ displayName, phase }) => [displayName, phase]));
}

test.each([
  ["its step", "{ name: a, template: work }", /^child '.*' failed$/],
  // Its exit handler may no longer begin, so the attempt does not end by itself.
  [
    "a step with an exit handler",
    "{ name: a, template: work, hooks: { exit: { template: work } } }",
    ended.message,
  ],
])("an attempt of the template ends with what is said of %s", (_, step, message) => {
  for (const isForgetful of [false, true]) {
    const status = statusOf(
      `retryStrategy: { limit: 1 }, steps: [[${step}, { name: b, template: work }]]`,
      [{ node: "a$", outcome: "Failed" }, { node: "b$", after: 4 }],
      isForgetful,
    );
    expect(status).toMatchObject({ phase: "Failed", message: "No more retries left" });
    const attempts = Object.values(status?.nodes ?? {}).filter(({ nodeFlag }) => nodeFlag?.retried);
    expect(attempts.map((node) => node.phase)).toEqual(["Failed", "Failed"]);
    for (const attempt of attempts) expect(attempt.message).toMatch(message);
  }
});

test.each([false, true])(
  "a DAG in which tasks come after a template that its own failFast has ended, with a restart after each turn: %s",
  (isForgetful) => {
    const spec = `
entrypoint: main
templateDefaults: { failFast: true }
templates:
  - name: main
    dag:
      tasks:
        - { name: a, template: sub }
        - { name: b, template: work, depends: a }
        - { name: c, template: work, depends: b }
  - { name: sub, steps: [[{ name: x, template: work }], [{ name: y, template: work }]] }
  - { name: work, container: { image: x } }`;
    const rules: TaskRule[] = [{ node: "x", outcome: "Failed" }];
    const { status } = simulateWorkflow(spec, 10, { rules, isForgetful }).view("w");
    expect(status).toMatchObject(ended);
    const omitted = Object.values(status?.nodes ?? {}).filter(({ phase }) => phase === "Omitted");
    expect(omitted.map(({ name }) => name)).toEqual(["w.b", "w.c"]);
  },
);

test.each([
  "[{ name: a, template: work }]",
  "[{ name: c, template: work }], [{ name: a, template: work }]",
  "[{ name: c, template: work }], [{ name: a, template: again }, { name: b, template: work }]",
])("an attempt with the steps %s ends in the same way after a restart", (steps) => {
  const messages = [false, true].map((isForgetful) => {
    const status = statusOf(
      `retryStrategy: { limit: 1 }, steps: [${steps}]`,
      [{ node: "[.]a", outcome: "Failed" }],
      isForgetful,
    );
    return Object.values(status?.nodes ?? {}).map(({ name, message }) => `${name}: ${message}`);
  });
  expect(messages[1]).toEqual(messages[0]);
  expect(messages[0]?.join()).toMatch(/w\(0\): child '.*' failed/);
});

test.each([false, true])(
  "a loop whose elements have all failed ends by itself, loaded again: %s",
  (forgets) => {
    const inner =
      "steps: [[{ name: c, template: work }], [{ name: d, template: work }]], failFast: true";
    const status = statusOf(
      `dag: { tasks: [{ name: a, template: work }, { name: b, template: inner, withItems: [1, 2] }] } }
  - { name: inner, ${inner}`,
      [{ node: ".", outcome: "Failed" }],
      forgets,
    );
    expect(status).toMatchObject(ended);
    const loop = Object.values(status?.nodes ?? {}).find(({ type }) => type === "TaskGroup");
    expect([loop?.phase, loop?.message]).toEqual(["Failed", undefined]);
  },
);

test.each([false, true])(
  "an element of a loop whose exit handler may no longer begin, before another one ends, loaded again: %s",
  (forgets) => {
    const exit = `hooks: { exit: { template: work, expression: 'tasks.a.status == "Failed"' } }`;
    const status = statusOf(
      `dag: { tasks: [{ name: a, template: work, withItems: [1, 2], ${exit} }] }`,
      [{ node: "\\(0:", outcome: "Failed" }, { node: "\\(1:", after: 5 }],
      forgets,
    );
    expect(status).toMatchObject(ended);
    const loop = Object.values(status?.nodes ?? {}).find(({ type }) => type === "TaskGroup");
    expect(loop).toMatchObject(ended);
  },
);

test.each([false, true])(
  "a daemon whose next attempt is ready only after a step has failed is not waited for, loaded again: %s",
  (isForgetful) => {
    const spec = `
entrypoint: main
templates:
  - name: main
    failFast: true
    steps: [[{ name: d, template: served }], [{ name: a, template: work }]]
  - { name: served, daemon: true, retryStrategy: { limit: 2 }, container: { image: x } }
  - { name: work, container: { image: x } }`;
    const rules: TaskRule[] = [
      { node: "d\\(0\\)$", outcome: "Failed" },
      { node: "d\\(1\\)$", outcome: "Pending" },
      { node: "a$", outcome: "Failed" },
    ];
    const simulation = simulateWorkflow(spec, 10, { rules, isForgetful });
    expect(simulation.view("w").status?.phase).toBe("Running");
    simulation.rules.unshift({ node: "d\\(1\\)$" });
    simulation.tick();
    simulation.settle();
    expect(simulation.view("w").status).toMatchObject(ended);
  },
);
