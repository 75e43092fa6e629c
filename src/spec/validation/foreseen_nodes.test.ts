import process from "node:process";
import { describe, expect, test } from "vitest";
import { checkForeseenNodes, foreseenNodes } from "./foreseen_nodes.ts";
import type { StepLike, Template } from "../manifest.ts";

const leaf: Template = { name: "c", container: { image: "i", command: ["c"] } };
const call = (name: string, template: string, more: Partial<StepLike> = {}): StepLike => ({
  name,
  template,
  ...more,
});
const steps = (name: string, ...groups: StepLike[][]): Template => ({ name, steps: groups });
const sequence = (count: number) => ({ withSequence: { count } });

describe("nodes that are foreseen", () => {
  test.each<[string, Template[], number]>([
    ["one container", [{ ...leaf, name: "main" }], 1],
    ["a step: Steps node, group, container", [steps("main", [call("a", "c")])], 3],
    ["a loop of a written length", [steps("main", [call("a", "c", sequence(900))])], 902],
    ["a list", [steps("main", [call("a", "c", { withItems: [1, 2, 3] })])], 5],
    [
      "a range",
      [steps("main", [call("a", "c", { withSequence: { start: "3", end: 12 } })])],
      12,
    ],
    ["a loop of unknown length", [steps("main", [call("a", "c", { withParam: "{{x}}" })])], 3],
    [
      "a loop whose length is an argument",
      [steps("main", [call("a", "c", { withSequence: { count: "{{x}}" } })])],
      3,
    ],
    [
      "a loop around a loop",
      [
        steps("main", [call("a", "inner", sequence(900))]),
        steps("inner", [call("b", "c", sequence(900))]),
      ],
      2 + 900 * 902,
    ],
    [
      "a condition: one node for each element, whatever it calls",
      [
        steps("main", [call("a", "inner", { ...sequence(900), when: "{{x}} == 1" })]),
        steps("inner", [call("b", "c", sequence(900))]),
      ],
      902,
    ],
    [
      "a DAG: its node, the loop's group, the elements, a task that may be left out",
      [
        {
          name: "main",
          dag: {
            tasks: [
              call("a", "c", sequence(10)),
              { ...call("b", "c", sequence(10)), depends: "a.Failed" },
              { ...call("d", "c"), depends: "a.Succeeded && a" },
            ],
          },
        },
      ],
      1 + 11 + 2 + 1,
    ],
    [
      "an inline template",
      [steps("main", [{ name: "a", inline: steps("", [call("b", "c", sequence(5))]) }])],
      2 + 7,
    ],
    ["a template of somebody else's", [
      steps("main", [{ name: "a", templateRef: { name: "t", template: "x" } }]),
    ], 3],
    ["a chain of calls without end: as deep as it goes", [
      steps("main", [call("a", "main")]),
    ], 201],
    ["no such entrypoint", [steps("other", [call("a", "c")])], 0],
  ])("%s", (_what, templates, count) => {
    expect(foreseenNodes({ templates: [...templates, leaf] }, "main")).toBe(count);
  });

  test("two calls of itself are more than any limit", () => {
    const templates = [steps("main", [call("w", "c")], [call("a", "main"), call("b", "main")])];
    expect(() => checkForeseenNodes({ templates }, "main", 100_000))
      .toThrow(/templates.main would make at least \d+ nodes: --max-nodes allows 100000/);
    expect(foreseenNodes({ templates }, "main")).toBeGreaterThan(1e30);
  });

  test("counting takes the time of reading, however the templates are nested", () => {
    const chain = Array.from(
      { length: 5_000 },
      (_, at) => steps(`t${at}`, [call("a", `t${at + 1}`), call("b", `t${at + 1}`)]),
    );
    const begun = process.cpuUsage();
    foreseenNodes({ templates: chain }, "t0");
    const { user, system } = process.cpuUsage(begun);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });
});
