/** Container sets in the tree of nodes. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

test("what follows a container set with an exit handler that is one comes after the containers of both", () => {
  const spec = `
entrypoint: main
templates:
  - { name: main, dag: { tasks: [{ name: s, template: set, hooks: { exit: { template: set } } }, { name: t, template: work, depends: s }] } }
  - { name: set, containerSet: { containers: [{ name: main, image: x }] } }
  - { name: work, container: { image: x } }`;
  const { status } = simulateWorkflow(spec, 10).view("w");
  const nodes = Object.values(status?.nodes ?? {});
  const next = nodes.find(({ name }) => name === "w.t");
  const parents = nodes.filter(({ children }) => children?.includes(next?.id ?? "") === true);
  expect(parents.map(({ name }) => name).sort()).toEqual(["w.s.main", "w.s.onExit.main"]);
});

test("a pod that has an error says nothing about its containers, which ended with their exit codes", () => {
  const spec = `
entrypoint: main
templates: [{ name: main, containerSet: { containers: [{ name: one, image: x }, { name: main, image: x }] } }]`;
  const phasesWith = (exitCode: number) => {
    const rules = [{ node: ".", outcome: "Error" as const, exitCode }];
    const { status } = simulateWorkflow(spec, 5, { rules }).view("w");
    return Object.values(status?.nodes ?? {}).map(({ name, phase, message }) =>
      [name, phase, message].join(" ").trim()
    );
  };
  expect(phasesWith(0)).toEqual([
    "w Error wait: Error (exit code 1)",
    "w.one Succeeded",
    "w.main Succeeded",
  ]);
  expect(phasesWith(3)[1]).toBe("w.one Failed one: Error (exit code 3):");
});

test("the containers of a daemon end with it", () => {
  const spec = `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: d, template: set }], [{ name: a, template: work }]] }
  - { name: set, daemon: true, containerSet: { containers: [{ name: one, image: x }, { name: main, image: x }] } }
  - { name: work, container: { image: x } }`;
  const { status } = simulateWorkflow(spec, 10).view("w");
  const nodes = Object.values(status?.nodes ?? {}).filter(({ name = "" }) => name.includes(".d"));
  expect(nodes.map(({ phase }) => phase)).toEqual(["Succeeded", "Succeeded", "Succeeded"]);
});

test("a container set that may no longer begin shows its containers, which have failed with it", () => {
  const spec = `
entrypoint: main
activeDeadlineSeconds: 2
templates:
  - { name: main, dag: { tasks: [{ name: a, template: work }, { name: s, template: set, depends: a.Failed }] } }
  - { name: set, containerSet: { containers: [{ name: one, image: x }, { name: main, image: x, dependencies: [one] }] } }
  - { name: work, container: { image: x } }`;
  const { status } = simulateWorkflow(spec, 5, { rules: [{ outcome: "Hang" }] }).view("w");
  const late = { phase: "Failed", message: "Step exceeded its deadline" };
  const nodes = Object.values(status?.nodes ?? {}).filter(({ name }) => name.startsWith("w.s"));
  expect(nodes).toMatchObject([
    { name: "w.s", ...late },
    { name: "w.s.one", ...late },
    { name: "w.s.main", ...late },
  ]);
  expect(status).toMatchObject({ phase: "Failed", progress: "0/4" });
});
