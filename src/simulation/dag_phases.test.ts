/** Which phase a DAG gets from tasks that were left out after several failures. */
import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";

/** Phase of a DAG of which task `f` fails and task `e` ends with an error. */
function phaseOf(tasks: string): string | undefined {
  const spec = `
entrypoint: main
templates:
  - { name: main, dag: { failFast: false, tasks: [${tasks}] } }
  - { name: work, container: { image: x } }`;
  const rules = [
    { node: "f$", outcome: "Failed" as const },
    { node: "e$", outcome: "Error" as const },
  ];
  return simulateWorkflow(spec, 30, { rules }).view("w").status?.phase;
}

const task = (name: string, depends = "") =>
  `{ name: ${name}, template: work${depends === "" ? "" : `, depends: "${depends}"`} }`;

test.each([
  ["e && f", "Error"],
  ["f && e", "Failed"],
  ["s && f && e", "Failed"],
  ["e || f", "Error"],
])(
  "of two failures before a task that was left out by %s, the first counts: %s",
  (depends, phase) => {
    expect(phaseOf([task("s"), task("f"), task("e"), task("z", depends)].join(", "))).toBe(phase);
  },
);

test.each([["f e", "Failed"], ["e f", "Error"]])(
  "of the targets %s, begun in this order, the first that fails decides: %s",
  (target, phase) => {
    const spec = `
entrypoint: main
templates:
  - { name: main, parallelism: 1, dag: { target: ${target}, tasks: [${task("e")}, ${task("f")}] } }
  - { name: work, container: { image: x } }`;
    const rules = [{ node: "f$", outcome: "Failed" as const }, {
      node: "e$",
      outcome: "Error" as const,
    }];
    const simulation = simulateWorkflow(spec, 1, { rules });
    const shown = () => Object.keys(simulation.view("w").status?.nodes ?? {}).length;
    expect(Object.values(simulation.view("w").status?.nodes ?? {}).at(-1)?.displayName)
      .toBe(target.charAt(0));
    expect(shown()).toBe(2);
    passTime(simulation, 10);
    expect([shown(), simulation.view("w").status?.phase]).toEqual([3, phase]);
  },
);

test("the failure counts that is nearer to the beginning", () => {
  const tasks = [task("e"), task("f"), task("m", "e"), task("z", "m && f")];
  expect(phaseOf(tasks.join(", "))).toBe("Failed");
  const others = [task("e"), task("f"), task("m", "f"), task("z", "m && e")];
  expect(phaseOf(others.join(", "))).toBe("Error");
});

test("a task that was left out after steps whose inner DAG had an error ends the outer DAG with an error", () => {
  const spec = `
entrypoint: main
templates:
  - name: main
    dag: { tasks: [{ name: a, template: group }, { name: z, template: work, depends: a }] }
  - { name: group, steps: [[{ name: s, template: inner }]] }
  - name: inner
    dag: { tasks: [{ name: e, template: work }, { name: y, template: work, depends: e }] }
  - { name: work, container: { image: x } }`;
  const simulation = simulateWorkflow(spec, 30, { rules: [{ node: "e$", outcome: "Error" }] });
  const { phase, nodes = {} } = simulation.view("w").status ?? {};
  const group = Object.values(nodes).find(({ displayName }) => displayName === "a");
  expect([phase, group?.phase]).toEqual(["Error", "Failed"]);
});

test("a long chain of tasks that were left out fails with its first task", () => {
  const chain = Array.from({ length: 3_000 }, (_, i) => task(`t${i}`, i === 0 ? "f" : `t${i - 1}`));
  expect(phaseOf([task("f"), ...chain].join(", "))).toBe("Failed");
});

test.each([
  ["f", [], "Failed"],
  ["f", ["{ name: z, template: work, depends: d.Failed }"], "Failed"],
  ["s", [], "Succeeded"],
])(
  "a daemon after %s, with %j behind it, takes the phase of what came before",
  (before, more, phase) => {
    const daemon =
      `{ name: d, template: serve, depends: "${before}.Failed || ${before}.Succeeded" }`;
    const spec = `
entrypoint: main
templates:
  - { name: main, dag: { tasks: [${[task(before), daemon, ...more].join(", ")}] } }
  - { name: serve, daemon: true, container: { image: x } }
  - { name: work, container: { image: x } }`;
    const rules = [{ node: "f$", outcome: "Failed" as const }];
    expect(simulateWorkflow(spec, 30, { rules }).view("w").status?.phase).toBe(phase);
  },
);
