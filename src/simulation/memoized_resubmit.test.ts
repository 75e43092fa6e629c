/** Workflows that are submitted again with their results: what is left of the old tree comes to its end, in its order. */
import { expect, test } from "vitest";
import { passTime, simulateWorkflow } from "../../test/support/simulated_workflow.ts";
import type { Simulation } from "./simulation.ts";
import type { TaskRule } from "./task_rule.ts";

const LEAVES = `
  - { name: work, container: { image: x } }
  - { name: again, retryStrategy: { limit: 1 }, container: { image: x } }`;

/** Long enough for all tasks, one after the other. */
const WAIT_S = 30;

interface Seen {
  phase: string;
  /** Phases by the name of the node, without the name of the workflow. */
  nodes: Map<string, string | undefined>;
  simulation: Simulation;
}

/** Runs a workflow whose tasks fail as the rules say, submits it again, and waits until all tasks have succeeded. */
function resubmitted(text: string, rules: TaskRule[], parameters: string[] = []): Seen {
  const simulation = simulateWorkflow(`entrypoint: main\n${text}${LEAVES}`, WAIT_S, { rules });
  simulation.rules.unshift({ node: "^x", result: "[1,2]" });
  simulation.resubmit("w", "x", { memoized: true, parameters });
  passTime(simulation, WAIT_S);
  const { phase = "", nodes = {} } = simulation.view("x").status ?? {};
  const phases = Object.values(nodes).map((node) => [node.name.slice(1), node.phase] as const);
  return { phase, nodes: new Map(phases), simulation };
}

test("attempts that are not repeated take no place from others", () => {
  const { phase, simulation } = resubmitted(
    `
parallelism: 1
templates:
  - name: main
    steps:
      - [{ name: a, template: again }]
      - [{ name: b, template: work }]`,
    [{ node: "a", outcome: "Failed" }],
  );
  expect(phase).toBe("Succeeded");
  expect(simulation.startsOf("x", "x[0].a(0)")).toBeUndefined();
  expect(simulation.startsOf("x", "x[0].a(1)")).toBe(1);
});

test.each([
  "steps: [[{ name: s, template: work }]]",
  "dag: { tasks: [{ name: s, template: work }] }",
])(
  "earlier attempts, and exit handlers of steps that are yet to end, do not begin by themselves: %s",
  (body) => {
    const { phase, simulation } = resubmitted(
      `
templates:
  - name: main
    steps:
      - [{ name: a, template: work, onExit: inner, continueOn: { failed: true } }]
      - [{ name: b, template: outer }]
  - { name: inner, ${body} }
  - { name: outer, retryStrategy: { limit: 1 }, ${body} }`,
      [{ outcome: "Failed" }],
    );
    expect(phase).toBe("Succeeded");
    const s = body.startsWith("steps") ? "[0].s" : ".s";
    expect(simulation.startsOf("x", `x[1].b(0)${s}`)).toBeUndefined();
    expect(simulation.startsOf("x", `x[1].b(1)${s}`)).toBe(1);
    expect(simulation.startsOf("x", `x[0].a.onExit${s}`)).toBe(1);
    const { nodes = {} } = simulation.view("x").status ?? {};
    const byName = (name: string) => Object.values(nodes).find((node) => node.name === name);
    const begun = byName(`x[0].a.onExit${s}`)?.startedAt ?? "";
    expect(begun >= (byName("x[0].a")?.finishedAt ?? "?")).toBe(true);
  },
);

const LOOP = `withItems: [1], `;

test.each([
  ["steps", "", "[0].s"],
  ["steps", LOOP, "[0].s(0:1)"],
  ["dag", "", ".s"],
  ["dag", LOOP, ".s(0:1)"],
  ["dag", `depends: p.Failed, `, ".s"],
])(
  "what did not run before is left out again, or runs when it may now: %s %s",
  (body, extra, name) => {
    const skipped = `name: s, template: again, ${extra}when: "{{workflow.parameters.run}} == yes"`;
    const inner = body === "steps"
      ? `steps: [[{ ${skipped} }], [{ name: t, template: work }]]`
      : `dag: { tasks: [{ name: p, template: work }, { ${skipped} }, { name: t, template: work, depends: s || s.Omitted }] }`;
    const text = `
arguments: { parameters: [{ name: run, value: "no" }] }
templates:
  - name: main
    steps: [[{ name: a, template: inner }], [{ name: b, template: work }]]
  - { name: inner, ${inner} }`;
    const rules: TaskRule[] = [{ node: "b$", outcome: "Failed" }];
    const left = resubmitted(text, rules);
    expect(left.phase).toBe("Succeeded");
    expect(left.nodes.get(`[0].a${name}`)).toBe(
      extra.startsWith("depends") ? "Omitted" : "Skipped",
    );
    const run = resubmitted(text, rules, ["run=yes"]);
    expect(run.phase).toBe("Succeeded");
    const isOmitted = extra.startsWith("depends");
    expect(run.nodes.get(`[0].a${name}`)).toBe(isOmitted ? "Omitted" : "Succeeded");
    expect(run.simulation.startsOf("x", `x[0].a${name}(0)`)).toBe(isOmitted ? undefined : 1);
  },
);

test.each(["steps: [[{ LOOP }]]", "dag: { tasks: [{ LOOP }] }"])(
  "a loop runs with other items than before: %s",
  (body) => {
    const loop =
      `name: s, template: work, onExit: work, withParam: "{{workflow.parameters.items}}"`;
    const { phase, nodes } = resubmitted(
      `
arguments: { parameters: [{ name: items, value: "[1,2,3]" }] }
templates:
  - { name: main, ${body.replace("LOOP", loop)} }`,
      [{ node: "\\(1:2\\)$|\\(2:3\\)$|onExit", outcome: "Failed" }],
      ["items=[1,4,5]"],
    );
    expect(phase).toBe("Succeeded");
    const s = body.startsWith("steps") ? "[0].s" : ".s";
    expect([...nodes].filter(([name]) => /\(.*\)$/.test(name)).sort()).toEqual([
      [`${s}(0:1)`, "Skipped"],
      [`${s}(1:2)`, "Skipped"],
      [`${s}(1:4)`, "Succeeded"],
      [`${s}(2:3)`, "Skipped"],
      [`${s}(2:5)`, "Succeeded"],
    ]);
  },
);

test("a loop with hooks that was done before is not worked out before what it refers to", () => {
  const { phase, nodes } = resubmitted(
    `
templates:
  - name: main
    steps:
      - [{ name: a, template: work, continueOn: { failed: true } }]
      - [{ name: b, template: work, withParam: "{{steps.a.outputs.result}}", onExit: work }]
      - [{ name: c, template: work }]`,
    [{ node: "a$", outcome: "Failed", result: "[1]" }, { node: "c$", outcome: "Failed" }],
  );
  expect(phase).toBe("Succeeded");
  expect(nodes.get("[1].b(1:2)")).toBe("Succeeded");
});

test("the exit handler of a task that could not begin is left out with it", () => {
  const { phase, nodes } = resubmitted(
    `
onExit: again
arguments: { parameters: [{ name: items, value: "no list" }] }
templates:
  - name: main
    dag: { tasks: [
      { name: a, template: work },
      { name: b, template: work, withParam: "{{workflow.parameters.items}}", onExit: work }] }
`,
    [{ node: "b.onExit", outcome: "Failed" }],
    ["items=[1]"],
  );
  expect(phase).toBe("Succeeded");
  expect(nodes.get(".b.onExit")).toBe("Succeeded");
  expect(nodes.get(".b(0:1).onExit")).toBe("Succeeded");
});

test("nodes that run again wait for their locks", () => {
  const { phase, simulation, nodes } = resubmitted(
    `
templates:
  - name: main
    steps: [[{ name: a, template: one }, { name: b, template: one }, { name: c, template: all }]]
  - name: one
    synchronization: { mutexes: [{ name: m }] }
    container: { image: x }
  - name: all
    synchronization: { mutexes: [{ name: m }] }
    steps: [[{ name: s, template: work }]]`,
    [{ node: "^w", outcome: "Failed" }],
  );
  expect(phase).toBe("Succeeded");
  expect(nodes.get("[0].c[0].s")).toBe("Succeeded");
  const shown = Object.values(simulation.view("x").status?.nodes ?? {});
  const times = shown.filter(({ type }) => type === "Pod").map((node) => [
    node.startedAt ?? "",
    node.finishedAt ?? "",
  ]).sort();
  expect(times).toHaveLength(3);
  for (const [at, [begun = ""]] of times.entries()) {
    expect(begun >= (times[at - 1]?.[1] ?? "")).toBe(true);
  }
});

test("what a workflow that succeeds does not come to is skipped, and attempts that are not repeated have failed", () => {
  const { phase, nodes, simulation } = resubmitted(
    `
templates:
  - name: main
    steps:
      - - { name: pair, template: pair }
        - { name: a, template: outer }
        - { name: b, template: work, onExit: work }
  - { name: outer, retryStrategy: { limit: 1 }, steps: [[{ name: s, template: work }]] }
  - name: pair
    containerSet: { containers: [{ name: one, image: x }, { name: main, image: x, dependencies: [one] }] }`,
    [{ node: "\\.s$|onExit$", outcome: "Failed" }],
  );
  expect(phase).toBe("Succeeded");
  expect([...nodes].filter(([name]) => /pair|a\(0\)|onExit/.test(name)).sort()).toEqual([
    ["[0].a(0)", "Failed"],
    ["[0].a(0)[0]", "Skipped"],
    ["[0].a(0)[0].s", "Skipped"],
    ["[0].b.onExit", "Skipped"],
    ["[0].pair", "Skipped"],
    ["[0].pair.main", "Skipped"],
    ["[0].pair.one", "Skipped"],
  ]);
  // Opened again, the node makes the attempt that it did not make before.
  const failed = { restartSuccessful: true, nodeFieldSelector: "displayName=a(1)" };
  simulation.control("x", { type: "retry", ...failed });
  passTime(simulation, WAIT_S);
  expect(simulation.startsOf("x", "x[0].a(1)[0].s")).toBe(2);
  expect(simulation.view("x").status?.phase).toBe("Succeeded");
});

test.each([
  ["parallelism: 1", "", "steps: [[{ name: s, LOOP }], [{ name: t, template: work }]]"],
  ["parallelism: 1", "", "dag: { tasks: [{ name: s, LOOP }, { name: t, template: work }] }"],
  ["", "parallelism: 1, ", "steps: [[{ name: s, LOOP }], [{ name: t, template: work }]]"],
  ["", "parallelism: 1, ", "dag: { tasks: [{ name: s, LOOP }, { name: t, template: work }] }"],
])("what is repeated waits for a place: %s %s%s", (ofWorkflow, ofTemplate, body) => {
  const loop = "template: again, withItems: [1, 2, 3], continueOn: { failed: true }";
  const { phase, simulation } = resubmitted(
    `
${ofWorkflow}
templates:
  - { name: main, ${ofTemplate}${body.replace("LOOP", loop)} }`,
    [{ node: "^w", outcome: "Failed" }],
  );
  expect(phase).toBe("Succeeded");
  expect(simulation.allStartsOf("x")).toBe(4);
  const times = Object.values(simulation.view("x").status?.nodes ?? {})
    .filter(({ type, name }) => type === "Pod" && simulation.startsOf("x", name) !== undefined)
    .map(({ startedAt, finishedAt }) => [startedAt ?? "", finishedAt ?? ""]).sort();
  for (const [at, [begun = ""]] of times.entries()) {
    expect(begun >= (times[at - 1]?.[1] ?? "")).toBe(true);
  }
});

test("an attempt that was taken over once begins as an attempt, not as a step with attempts of its own", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    dag: { tasks: [
      { name: a, template: again },
      { name: b, template: work, depends: a },
      { name: c, template: work, depends: b }] }${LEAVES}`,
    WAIT_S,
    { rules: [{ node: "^w.b|^x.c|a\\(0\\)", outcome: "Failed" }] },
  );
  for (const [from, to] of [["w", "x"], ["x", "y"]] as const) {
    simulation.resubmit(from, to, { memoized: true });
    passTime(simulation, WAIT_S);
  }
  const { phase, nodes = {} } = simulation.view("y").status ?? {};
  expect(phase).toBe("Succeeded");
  expect(Object.fromEntries(Object.values(nodes).map(({ name, type }) => [name, type]))).toEqual({
    "y": "DAG",
    "y.a": "Retry",
    "y.a(0)": "Pod",
    "y.a(1)": "Pod",
    "y.b": "Skipped",
    "y.c": "Pod",
  });
});

test("a retry of the copy repeats what failed, and nothing before containers that were taken over", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    steps:
      - [{ name: a, template: work, continueOn: { failed: true } }]
      - [{ name: pair, template: pair }]
      - [{ name: b, template: work }]
  - name: pair
    containerSet: { containers: [{ name: one, image: x }, { name: main, image: x, dependencies: [one] }] }${LEAVES}`,
    WAIT_S,
    { rules: [{ node: "^w.*a$|b$", outcome: "Failed" }] },
  );
  simulation.resubmit("w", "x", { memoized: true });
  passTime(simulation, WAIT_S);
  simulation.rules.length = 0;
  simulation.control("x", { type: "retry" });
  passTime(simulation, WAIT_S);
  expect(simulation.view("x").status?.phase).toBe("Succeeded");
  const starts = ["[0].a", "[1].pair", "[2].b"].map((name) => simulation.startsOf("x", `x${name}`));
  expect(starts).toEqual([1, undefined, 2]);
});

test.each([
  [
    "steps",
    "steps: [[{ name: a, template: gives, withItems: [1, 2] }, { name: g, template: global }], [{ name: b, template: fails, arguments: ARGUMENTS }]]",
    "[1].b",
  ],
  [
    "tasks",
    "dag: { tasks: [{ name: a, template: gives, withItems: [1, 2] }, { name: g, template: global }, { name: b, template: fails, depends: 'a && g', arguments: ARGUMENTS }] }",
    ".b",
  ],
])(
  "the results of a loop and global outputs of the former run are there: %s",
  (root, main, name) => {
    const value =
      `{{${root}.a.outputs.result}} {{${root}.a.outputs.parameters.o}} {{workflow.outputs.parameters.g}}`;
    const output = "{ name: o, valueFrom: { path: /o }";
    const { phase, simulation } = resubmitted(
      `
templates:
  - { name: main, ${main.replace("ARGUMENTS", `{ parameters: [{ name: p, value: "${value}" }] }`)} }
  - { name: gives, container: { image: x }, outputs: { parameters: [${output} }] } }
  - { name: global, container: { image: x }, outputs: { parameters: [${output}, globalName: g }] } }
  - { name: fails, inputs: { parameters: [{ name: p }] }, container: { image: x } }`,
      [{ node: "b$", outcome: "Failed" }, { node: ".", parameters: { o: "v" }, result: "7" }],
    );
    expect(phase).toBe("Succeeded");
    const { nodes = {}, outputs } = simulation.view("x").status ?? {};
    const node = Object.values(nodes).find((one) => one.name === `x${name}`);
    expect(node?.inputs?.parameters?.[0]?.value).toBe('[7,7] ["v","v"] v');
    expect(outputs).toEqual({ parameters: [{ name: "g", value: "v" }] });
  },
);

test("a loop of which one element runs again has the results of all", () => {
  const { phase, simulation } = resubmitted(
    `
templates:
  - name: main
    steps:
      - [{ name: a, template: work, withItems: [1, 2] }]
      - [{ name: b, template: reads, arguments: { parameters: [{ name: p, value: "{{steps.a.outputs.result}}" }] } }]
  - { name: reads, inputs: { parameters: [{ name: p }] }, container: { image: x } }`,
    [{ node: "0:1", outcome: "Failed" }, { node: ".", result: "7" }],
  );
  expect(phase).toBe("Succeeded");
  const nodes = Object.values(simulation.view("x").status?.nodes ?? {});
  const reader = nodes.find(({ name }) => name === "x[1].b");
  expect(reader?.inputs?.parameters?.[0]?.value).toBe("[[1,2],7]");
});

test.each(["work", "again"])(
  "exit handlers that a copy has yet to begin run also after its deadline: %s",
  (handler) => {
    const simulation = simulateWorkflow(
      `
entrypoint: main
activeDeadlineSeconds: 9
templates:
  - { name: main, steps: [[{ name: a, template: work, onExit: ${handler} }]] }${LEAVES}`,
      WAIT_S,
      { rules: [{ node: "^w", outcome: "Failed" }, { node: "a$", outcome: "Hang" }] },
    );
    simulation.resubmit("w", "x", { memoized: true });
    passTime(simulation, WAIT_S);
    const { phase, nodes = {} } = simulation.view("x").status ?? {};
    expect(phase).toBe("Failed");
    const rows = Object.values(nodes).map(({ name, phase }) => [name, phase]);
    expect(rows).toContainEqual(["x[0].a", "Failed"]);
    expect(rows).toContainEqual(["x[0].a.onExit", "Succeeded"]);
  },
);

test("a DAG that a broken hook ends does not wait for copied tasks that no longer begin", () => {
  const { phase, nodes } = resubmitted(
    `
templates:
  - name: main
    dag:
      tasks:
        - { name: a, template: again, hooks: { run: { template: work, expression: "1 +" } } }
        - { name: b, template: again }`,
    [],
  );
  expect(phase).toBe("Error");
  expect(nodes.get("")).toBe("Error");
});
