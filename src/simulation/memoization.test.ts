/** When the result of an earlier node stands in for a new one. */
import { expect, test } from "vitest";
import { parse } from "yaml";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import type { TaskRule } from "./task_rule.ts";

/** The nodes of a workflow `w` with these steps, after a minute. */
function run(steps: string, memoize: string, rules: TaskRule[] = [], extra = "") {
  const spec = `
entrypoint: main
templates:
  - { name: main, steps: ${steps} }
  - { name: wait, suspend: { duration: 10s } }
  - name: work
    container: { image: busybox, command: [work] }
    memoize: { key: k, ${memoize} cache: { configMap: { name: c } } }
    ${extra}`;
  const simulation = simulateWorkflow(spec, 60, { rules });
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  return (name: string) => nodes.find((node) => node.name === name);
}

const THEN =
  "[[{ name: a, template: work }], [{ name: p, template: wait }], [{ name: b, template: work }]]";
const status = (hit: boolean) => ({ hit, key: "k", cacheName: "c" });

test.each([["0", false], ["5s", false], ["5", false], ["10s", false], ["11s", true], ["1m", true]])(
  "a result of the same workflow that is 10 s old counts with maxAge %s: %s",
  (maxAge, hit) => {
    expect(run(THEN, `maxAge: "${maxAge}",`)("w[2].b")?.memoizationStatus).toEqual(status(hit));
  },
);

test("a maxAge that can't be read is an error even when nothing is memoized", () => {
  expect(run(THEN, "maxAge: soon,")("w[0].a")).toMatchObject({
    phase: "Error",
    message: 'invalid maxAge: time: invalid duration "soon"',
  });
});

test("a retry node and its attempts show the lookup, which the retry node makes once", () => {
  const node = run(
    "[[{ name: a, template: work }, { name: b, template: work }]]",
    "",
    [{ node: "a\\(0\\)", outcome: "Failed", after: 5 }],
    "retryStrategy: { limit: 1 }",
  );
  for (const name of ["a", "a(0)", "a(1)", "b", "b(0)"]) {
    expect(node(`w[0].${name}`)?.memoizationStatus).toEqual(status(false));
  }
  // `b` has succeeded before the second attempt of `a` begins.
  expect(node("w[0].a(1)")).toMatchObject({ phase: "Succeeded", outputs: { exitCode: "0" } });
});

test("with maxAge 0 not even a result of this second counts", () => {
  const node = run(
    "[[{ name: a, template: work }], [{ name: b, template: work }]]",
    'maxAge: "0",',
  );
  expect(node("w[1].b")?.memoizationStatus).toEqual(status(false));
});

test("a result that another workflow left is also a global output of the one that takes it", () => {
  const spec = (steps: string) => `
entrypoint: main
templates:
  - { name: main, steps: ${steps} }
  - { name: wait, suspend: { duration: 5s } }
  - name: make
    container: { image: busybox, command: [work] }
    memoize: { key: k, cache: { configMap: { name: c } } }
    outputs: { parameters: [{ name: o, valueFrom: { path: /o }, globalName: g }] }`;
  const simulation = simulateWorkflow(spec("[[{ name: a, template: make }]]"), 0, {
    rules: [{ parameters: { o: "made" } }],
  });
  simulation.submit({
    metadata: { name: "v" },
    spec: parse(spec("[[{ name: p, template: wait }], [{ name: b, template: make }]]")),
  });
  passTime(simulation, 20);
  expect(simulation.startsOf("v", "v[1].b")).toBeUndefined();
  expect(simulation.view("v").status?.outputs?.parameters).toEqual([{ name: "g", value: "made" }]);
});

test.each([
  "steps: [[{ name: i, template: work }]]",
  "container: { image: x }\n    retryStrategy: {}",
])(
  "hooks see a memoized template with %s running",
  (body) => {
    const { nodes = {} } = simulateWorkflow(
      `
entrypoint: main
templates:
  - name: main
    steps:
      - - name: a
          template: memoized
          hooks: { run: { template: work, expression: 'steps.a.status == "Running"' } }
  - { name: work, container: { image: x } }
  - name: memoized
    memoize: { key: k, cache: { configMap: { name: c } } }
    ${body}`,
      10,
    ).view("w").status ?? {};
    expect(Object.values(nodes).find(({ displayName }) => displayName === "a.hooks.run"))
      .toMatchObject({ phase: "Succeeded" });
  },
);

/** A step that leaves a memoized result, and one that takes it if nothing is missing. */
const sharing = (body: string, steps: string) => `
entrypoint: main
templates:
  - { name: main, inputs: { parameters: [{ name: p, value: "" }] }, steps: ${steps} }
  - { name: show, inputs: { parameters: [{ name: p }] }, container: { image: x } }
  - { name: work, ${body}, memoize: { key: k, cache: { configMap: { name: c } } } }`;
const taking = (name: string, reference: string) =>
  `[{ name: ${name}, template: work }], [{ name: c, template: show,
    arguments: { parameters: [{ name: p, value: "${reference}" }] } }]`;

test.each([
  ["container: { image: x }", true],
  ["container: { image: x }, retryStrategy: { limit: 1 }", true],
  ["script: { image: x, source: work }", true],
  // It has none.
  ["containerSet: { containers: [{ name: x, image: x }] }", false],
])("%s runs again when its memoized outputs lack the result that is wanted: %s", (body, again) => {
  const rules = [{ node: "b(\\(0\\))?", result: "made" }];
  const { nodes = {} } = simulateWorkflow(
    sharing(
      body,
      `[[{ name: a, template: work }], ${taking("b", "{{=steps.b.outputs?.result ?? 'none'}}")}]`,
    ),
    30,
    { rules },
  ).view("w").status ?? {};
  const node = (name: string) => Object.values(nodes).find((one) => one.name === name);
  expect(node("w[1].b")?.memoizationStatus).toEqual(status(!again));
  if (again) expect(node("w[2].c")?.inputs?.parameters?.[0]?.value).toBe("made");
});

test("a memoized result is taken by whoever wants it, from a workflow that ran before too", () => {
  const body = "container: { image: x }";
  const first = sharing(body, `[[{ name: z, template: work }]]`);
  const simulation = simulateWorkflow(first, 0, { rules: [{ result: "made" }] });
  passTime(simulation, 20);
  const hits: unknown[] = [];
  for (const name of ["u", "v"]) {
    const steps = `[${taking("b", "{{steps.b.outputs.result}}")}]`;
    simulation.submit({ metadata: { name }, spec: parse(sharing(body, steps)) });
    passTime(simulation, 20);
    const { nodes = {}, phase } = simulation.view(name).status ?? {};
    const b = Object.values(nodes).find(({ displayName }) => displayName === "b");
    hits.push([phase, b?.memoizationStatus?.hit, b?.outputs?.result]);
  }
  expect(hits).toEqual([["Succeeded", false, "made"], ["Succeeded", true, "made"]]);
});

test("a result that nothing refers to is not wanted", () => {
  const node = run("[[{ name: a, template: work }], [{ name: b, template: work }]]", "");
  expect(node("w[1].b")?.memoizationStatus).toEqual(status(true));
});
