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

function nodesOf(main: string, isForgetful: boolean) {
  const spec = `
entrypoint: main
arguments: { parameters: [{ name: seconds, value: "[{{=now().Unix()}}]" }] }
parallelism: 4
templates:
  - { name: main, steps: [[{ name: inner, template: inner }]] }
  - { name: inner, ${main} }${REST}`;
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

test.each(CASES)("%s", (_, main) => {
  const nodes = nodesOf(main ?? "", false);
  expect(nodesOf(main ?? "", true)).toEqual(nodes);
});
