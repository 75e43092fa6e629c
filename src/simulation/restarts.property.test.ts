/** Random workflows with limited parallelism: the same tree at the same times, in memory and loaded again after each step. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Simulation } from "./simulation.ts";
import type { TaskRule } from "./task_rule.ts";
import type { Template, Workflow } from "../spec/manifest.ts";

interface Call {
  template: Shape;
  hasLoop: boolean;
  hooks: keyof typeof HOOKS;
  isTolerated: boolean;
}

/** Hooks of a step. */
const HOOKS = {
  none: () => ({}),
  fine: (step: string) => ({
    exit: { template: "work" },
    run: { template: "work", expression: `${step}.status == "Running"` },
  }),
  "of another": (step: string) => ({
    run: { template: "work", expression: `${step.replace(/\d+$/, "1")}.status == "Failed"` },
  }),
  malformed: () => ({ run: { template: "work", expression: "1 +" } }),
  // While the step goes on, this counts as false.
  failing: (step: string) => ({
    run: { template: "work", expression: `asInt(${step}.status) == 1` },
  }),
  "malformed exit": () => ({ exit: { template: "work", expression: "1 +" } }),
};

type Shape = "work" | "again" | "later" | {
  isDag: boolean;
  calls: Call[];
  parallelism: number;
  hasRetry: boolean;
};

function shapes(depth: number): fc.Arbitrary<Shape> {
  const leaf = fc.constantFrom<Shape>("work", "again", "later");
  if (depth === 0) return leaf;
  const call = fc.record({
    template: fc.oneof(leaf, shapes(depth - 1)),
    hasLoop: fc.boolean(),
    hooks: fc.constantFrom(
      "none",
      "none",
      "fine",
      "of another",
      "malformed",
      "failing",
      "malformed exit",
    ),
    isTolerated: fc.boolean(),
  });
  return fc.record({
    isDag: fc.boolean(),
    calls: fc.array(call, { minLength: 1, maxLength: 4 }),
    parallelism: fc.nat(3),
    hasRetry: fc.boolean(),
  });
}

function templatesOf(shape: Shape): Template[] {
  const container = { image: "i" };
  const templates: Template[] = [
    { name: "work", container },
    { name: "again", container, retryStrategy: { limit: 1 } },
    { name: "later", container, retryStrategy: { limit: 1, backoff: { duration: "2" } } },
  ];
  const add = (one: Shape): string => {
    if (typeof one === "string") return one;
    const name = `t${templates.length}`;
    const template: Template = {
      name,
      ...(one.parallelism === 0 ? {} : { parallelism: one.parallelism }),
      ...(one.hasRetry ? { retryStrategy: { limit: 1 } } : {}),
    };
    templates.push(template);
    const root = one.isDag ? "tasks" : "steps";
    const steps = one.calls.map((call, at) => ({
      name: `s${at}`,
      template: add(call.template),
      ...(call.hasLoop ? { withItems: ["a", "b"] } : {}),
      hooks: HOOKS[call.hooks](`${root}.s${at}`),
      ...(call.isTolerated && !one.isDag ? { continueOn: { failed: true } } : {}),
    }));
    if (one.isDag) {
      const tasks = steps.map((step, at) => at < 2 ? step : { ...step, depends: `s${at - 2}` });
      template.dag = { tasks, failFast: false };
    } else template.steps = [steps.slice(0, 3), steps.slice(3)].filter(({ length }) => length > 0);
    return name;
  };
  add(shape);
  return templates;
}

const rules: fc.Arbitrary<TaskRule[]> = fc.array(
  fc.record({
    node: fc.constantFrom("\\(0\\)$", "\\(1\\)$", "s0$", "s1", "b\\)", "onExit", "run", "."),
    outcome: fc.constantFrom("Succeeded" as const, "Failed" as const),
    after: fc.integer({ min: 1, max: 4 }),
  }),
  { maxLength: 4 },
);

function treeOf(workflow: Workflow, script: TaskRule[], isForgetful: boolean): unknown {
  const simulation = new Simulation({ rules: script, isForgetful });
  simulation.submit(structuredClone(workflow));
  simulation.settle();
  for (let second = 0; second < 500 && !simulation.isComplete(); second++) {
    simulation.tick();
    simulation.settle();
  }
  const { phase, nodes = {} } = simulation.view("w").status ?? {};
  const rows = Object.values(nodes).map((node) => [
    node.name,
    { ...node, children: node.children?.toSorted(), outboundNodes: node.outboundNodes?.toSorted() },
  ]);
  return { phase, nodes: Object.fromEntries(rows) };
}

const PLAIN = { hasLoop: false, hooks: "none", isTolerated: false } as const;
const GROUP = { isDag: false, parallelism: 0, hasRetry: false };
const WORK: Call = { ...PLAIN, template: "work" };

/** What once depended on which nodes were looked at first. */
const ONCE_DIFFERENT: [Shape, TaskRule[], number][] = [
  // A hook that reads the step which ends last in its group.
  [
    {
      ...GROUP,
      calls: [
        {
          ...PLAIN,
          template: {
            ...GROUP,
            calls: [{ ...WORK, hooks: "of another" }, { ...PLAIN, template: "later" }],
          },
        },
        { ...PLAIN, template: { ...GROUP, calls: [WORK] } },
      ],
    },
    [{ node: "s1", outcome: "Failed", after: 1 }],
    0,
  ],
  // Two hooks of a group that cannot be carried out.
  [
    {
      ...GROUP,
      calls: [
        {
          ...PLAIN,
          template: { ...GROUP, isDag: true, calls: [WORK, WORK, { ...WORK, hasLoop: true }] },
          hooks: "malformed exit",
        },
        {
          ...PLAIN,
          template: {
            isDag: true,
            calls: [{ ...WORK, hooks: "fine" }, { ...WORK, hasLoop: true }],
            parallelism: 3,
            hasRetry: true,
          },
          hooks: "failing",
        },
      ],
    },
    [],
    0,
  ],
];

test("a workflow is the same, in memory and loaded again after each step", () => {
  fc.assert(
    fc.property(shapes(2), rules, fc.nat(3), (shape, script, parallelism) => {
      const templates = templatesOf(shape);
      const workflow: Workflow = {
        metadata: { name: "w" },
        spec: {
          entrypoint: templates[3]?.name ?? "work",
          templates,
          ...(parallelism === 0 ? {} : { parallelism }),
        },
      };
      expect(treeOf(workflow, script, true)).toEqual(treeOf(workflow, script, false));
    }),
    { numRuns: 60, examples: ONCE_DIFFERENT },
  );
});
