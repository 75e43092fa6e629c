/** Loops whose lists depend on the time or on chance: they are the same when a workflow is loaded again. */
import { expect, test } from "vitest";
import { parse } from "yaml";
import { passTime } from "../../test/support/simulated_workflow.ts";
import type { EngineEnv } from "../engine/engine.ts";
import { decodeManifest } from "../spec/schema/decode_manifest.ts";
import { Simulation } from "./simulation.ts";

/** A world in which chance is not foreseen. */
class World extends Simulation {
  override get env(): EngineEnv {
    const randomSuffix = (length: number) =>
      Array.from({ length }, () => Math.floor(Math.random() * 36).toString(36)).join("");
    return { ...super.env, randomSuffix };
  }
}

const REST = `
  - { name: one, inputs: { parameters: [{ name: p }] }, container: { image: x, args: ["{{inputs.parameters.p}}"] } }`;
const WITH =
  'template: one, arguments: { parameters: [{ name: p, value: "{{item}} {{=sprig.randAlpha(4)}}" }] }';
const LOOPS = {
  "a time": `withItems: ["{{=now().Unix()}}", "{{=now().Year()}}"]`,
  "a time as an argument": `withParam: "{{workflow.parameters.seconds}}"`,
  "a result and a time": `withParam: "{{=[STEP.before.status, string(now().Unix())]}}"`,
  "a duration": `withItems: ["{{workflow.duration}}"]`,
  "chance": `withItems: ["{{=sprig.uuidv4()}}"]`,
  "a result and chance": `withParam: "{{=[STEP.before.status, sprig.randAlphaNum(9)]}}"`,
  "a number by chance": `withSequence: { count: "{{=sprig.randInt(2, 30)}}" }`,
  "a condition by chance": `withSequence: { count: 30 }, when: "{{=sprig.randInt(0, 2)}} == 1"`,
};
const CASES = Object.entries(LOOPS).flatMap(([name, loop]) => [
  [
    `Steps: ${name}`,
    `steps: [[{ name: before, template: one, arguments: { parameters: [{ name: p, value: x }] } }], [{ name: each, ${WITH}, ${
      loop.replaceAll("STEP", "steps")
    } }]]`,
  ],
  [
    `a DAG: ${name}`,
    `dag: { tasks: [{ name: before, template: one, arguments: { parameters: [{ name: p, value: x }] } }, { name: each, depends: before, ${WITH}, ${
      loop.replaceAll("STEP", "tasks")
    } }] }`,
  ],
]);

function simulated(spec: string, isForgetful: boolean) {
  const rules = [{ template: "one", after: 3 }];
  const world = new World({ rules, isForgetful });
  const metadata = { name: "w" };
  world.submit(decodeManifest("Workflow", { kind: "Workflow", metadata, spec: parse(spec) }));
  passTime(world, 200);
  const { status } = world.view("w");
  expect(status?.phase).toBe("Succeeded");
  return Object.values(status?.nodes ?? {})
    .map(({ name, phase, inputs }) => [name, phase, inputs?.parameters?.[0]?.value]);
}

function nodesOf(main: string, isForgetful: boolean) {
  const spec = `
entrypoint: main
arguments: { parameters: [{ name: seconds, value: "[{{=now().Unix()}}]" }] }
parallelism: 4
templates:
  - { name: main, steps: [[{ name: inner, template: inner }]] }
  - { name: inner, ${main} }${REST}`;
  return simulated(spec, isForgetful);
}

test.each(CASES)("%s", (_, main) => {
  const nodes = nodesOf(main ?? "", false);
  expect(nodesOf(main ?? "", true)).toEqual(nodes);
});

test("an argument that an expression gives is the same wherever it is used", () => {
  const use = (name: string, value: string) =>
    `{ name: ${name}, template: one, arguments: { parameters: [{ name: p, value: "${value}" }] } }`;
  const spec = `
entrypoint: main
onExit: bye
arguments: { parameters: [{ name: id, value: "{{=sprig.uuidv4()}} {{=now().Unix()}}" }, { name: other, value: "{{=sprig.uuidv4()}}" }] }
templates:
  - name: main
    inputs: { parameters: [{ name: id }] }
    steps: [[${use("a", "{{workflow.parameters.id}}")}], [${
    use("b", "{{inputs.parameters.id}}")
  }, ${use("c", "{{=workflow.parameters.id}}")}, ${
    use("d", "{{workflow.parameters.other}}")
  }]]${REST}`;
  const bye = "  - { name: bye, inputs: { parameters: [{ name: id }] }, container: { image: x } }";
  const nodes = simulated(`${spec}\n${bye}`, true);
  const valueOf = (end: string) => nodes.find(([name]) => name?.endsWith(end))?.[2];
  expect(valueOf(".a")).toMatch(/^[-0-9a-f]{36} \d{10}$/);
  for (const end of [".b", ".c", ".onExit"]) expect(valueOf(end)).toBe(valueOf(".a"));
  expect(valueOf(".a")).not.toContain(valueOf(".d"));
  expect(simulated(`${spec}\n${bye}`, false)).toEqual(nodes);
});
