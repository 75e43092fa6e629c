import { expect, test } from "vitest";
import { simulateWorkflow } from "../../../test/support/simulated_workflow.ts";

/** Name, phase and message of the nodes of a step that has retries and this template. */
function retried(strategy: string, template: string): string[] {
  return nodesOf(strategy, template).filter((text) => text.startsWith("a"));
}

/** The same of all nodes. */
function nodesOf(strategy: string, template: string): string[] {
  const { status } = simulateWorkflow(
    `
entrypoint: main
arguments: { parameters: [{ name: odd, value: odd }] }
templates:
  - { name: main, steps: [[{ name: a, template: work }]] }
  - { name: work, retryStrategy: ${strategy}, ${template} }
  - { name: leaf, container: { image: x } }`,
    10,
  ).view("w");
  return Object.values(status?.nodes ?? {}).map(({ displayName, phase, message }) =>
    [displayName, phase, message].join(": ")
  );
}

const WAIT = "suspend: { duration: odd }";
const FAULT = 'unable to parse odd as a duration: time: invalid duration "odd"';

test("an attempt that cannot begin shows why, and is the last one", () => {
  expect(retried("{ limit: 2 }", WAIT)).toEqual([
    `a: Error: ${FAULT}`,
    `a(0): Error: ${FAULT}`,
  ]);
});

test.each(["retryPolicy: Always", "retryPolicy: OnError", "expression: 'true'"])(
  "it is repeated with %s",
  (how) => {
    expect(retried(`{ limit: 1, ${how} }`, WAIT)).toEqual([
      "a: Error: No more retries left",
      `a(0): Error: ${FAULT}`,
      `a(1): Error: ${FAULT}`,
    ]);
  },
);

test("with an expression that is false, or with a policy of other failures, the step has failed as after any attempt", () => {
  const wanted = (message: string) => [
    `w: Failed: child 'w-2078810217' failed`,
    `a: Error: ${message}`,
  ];
  const both = (strategy: string) => nodesOf(strategy, WAIT).filter((text) => /^(w|a):/.test(text));
  expect(both("{ limit: 1, expression: 'false' }"))
    .toEqual(wanted("retryStrategy.expression evaluated to false"));
  expect(both("{ limit: 1, retryPolicy: OnTransientError }")).toEqual(wanted(FAULT));
});

test("the same holds for an attempt whose outputs have errors", () => {
  const outputs =
    `outputs: { parameters: [{ name: o, valueFrom: { expression: "asInt('no')" } }] }`;
  const steps = `steps: [[{ name: q, template: leaf }]], ${outputs}`;
  const [node, attempt, ...others] = retried("{ limit: 2 }", steps);
  expect(node).toMatch(/^a: Error: invalid operation/);
  expect(attempt).toBe(node?.replace("a:", "a(0):"));
  expect(others.filter((text) => text.startsWith("a("))).toEqual([]);
});

test("a limit that is no number does not hide why an attempt is the last one", () => {
  const dag = `dag: { tasks: [{ name: q, template: leaf, when: "a b == c" }] }`;
  expect(retried(`{ limit: "{{workflow.parameters.odd}}" }`, dag)[0]).toBe("a: Error: ");
});

test("a backoff is waited for, also without a limit", () => {
  const spec = (limit: string) => `
entrypoint: main
templates:
  - { name: main, retryStrategy: { ${limit} backoff: { duration: 4s } }, container: { image: x } }`;
  for (const limit of ["", "limit: 9, "]) {
    const simulation = simulateWorkflow(spec(limit), 12, { rules: [{ outcome: "Failed" }] });
    const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
    // Each takes two seconds.
    expect(nodes.map(({ name }) => name)).toEqual(["w", "w(0)", "w(1)", "w(2)"]);
  }
});
