/** Expressions that read the outputs of steps and tasks by `?.`, in groups that other groups call. */
import { describe, expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import type { TaskRule } from "./task_rule.ts";

const RULES: TaskRule[] = [{ node: "a$", parameters: { o: "v" } }];
const LEAVES =
  "{ name: leave, container: { image: x }, outputs: { parameters: [{ name: o, globalName: g, valueFrom: { path: /o } }] } }";
const TAKES =
  "{ name: take, inputs: { parameters: [{ name: p }] }, container: { image: x, args: ['{{inputs.parameters.p}}'] } }";

/** The input of the step or task `b`, which comes after `a`, in a group that is the entrypoint or is called by another. */
function inputOf(value: string, kind: "steps" | "dag", isCalled: boolean): unknown {
  const given = `arguments: { parameters: [{ name: p, value: ${JSON.stringify(value)} }] }`;
  const body = kind === "steps"
    ? `steps: [[{ name: a, template: leave }], [{ name: b, template: take, ${given} }]]`
    : `dag: { tasks: [{ name: a, template: leave }, { name: b, template: take, depends: a, ${given} }] }`;
  const calls = kind === "steps"
    ? "steps: [[{ name: inner, template: group }]]"
    : "dag: { tasks: [{ name: inner, template: group }] }";
  const spec = `
entrypoint: ${isCalled ? "main" : "group"}
templates:
  - { name: main, ${calls} }
  - { name: group, ${body} }
  - ${LEAVES}
  - ${TAKES}`;
  const { status } = simulateWorkflow(spec, 20, { rules: RULES }).view("w");
  const node = Object.values(status?.nodes ?? {}).find(({ displayName }) => displayName === "b");
  return node?.inputs?.parameters?.[0]?.value ?? status?.message;
}

describe.each(
  [
    ["steps", "steps", false],
    ["steps", "steps", true],
    ["dag", "tasks", false],
    ["dag", "tasks", true],
  ] as const,
)("in a group of %s (called by another: %j)", (kind, root, isCalled) => {
  test.each([
    [`{{=${root}.a?.outputs?.parameters?.o ?? 'none'}}`, "v"],
    [`{{=${root}.a.outputs?.parameters?.o ?? 'none'}}`, "v"],
    [`{{=${root}?.a?.outputs?.parameters?.x ?? 'none'}}`, "none"],
    [`{{=${root}.nobody?.outputs?.parameters?.o ?? 'none'}}`, "none"],
    ["{{=workflow.outputs?.parameters?.g ?? 'none'}}", "v"],
    ["{{=workflow?.outputs?.parameters?.h ?? 'none'}}", "none"],
    ["{{=workflow?.name}}", "w"],
  ])("%s is %s", (value, known) => {
    expect(inputOf(value, kind, isCalled)).toBe(known);
  });
});
