/** What nodes and workflows show in the less common cases, as clients of the reference expect it. */
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { ControlRequest } from "../engine/command.ts";
import { decodeManifest } from "../spec/schema/decode_manifest.ts";
import type { ManifestKind } from "../spec/manifest.ts";
import { Simulation } from "./simulation.ts";
import type { TaskRule } from "./task_rule.ts";

const WORK = "container: { image: busybox, command: [work] }";

/** Runs a workflow `w` with this spec until nothing more happens. */
function run(spec: string, rules: TaskRule[] = [], stored: Record<string, unknown>[] = []) {
  const simulation = new Simulation({ rules });
  for (const manifest of stored) {
    const kind = manifest["kind"] as ManifestKind;
    simulation.addManifest(kind, manifest as { metadata: { name?: string } });
  }
  simulation.submit(decodeManifest("Workflow", {
    kind: "Workflow",
    metadata: { name: "w" },
    spec: parse(spec),
  }));
  const settle = () => {
    simulation.settle();
    for (let idle = 0; idle < 30 && !simulation.isComplete();) {
      const isBusy = simulation.tick();
      idle = simulation.settle() || isBusy ? 0 : idle + 1;
    }
  };
  settle();
  return {
    ask(request: ControlRequest) {
      simulation.control("w", request);
      settle();
    },
    status: () => simulation.view("w").status,
    node: (name: string) =>
      Object.values(simulation.view("w").status?.nodes ?? {}).find((node) => node.name === name),
  };
}

describe("a template's timeout", () => {
  const spec = (extra = "") => `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: a, template: inner }]] }
  - { name: inner, steps: [[{ name: b, template: work }${extra}]] }
  - { name: work, timeout: 5s, ${WORK} }
  - { name: other, ${WORK} }`;
  const pending: TaskRule = { node: "b$", outcome: "Pending" };

  test("is the message of everything above that fails because of it", () => {
    const { status, node } = run(spec(), [pending]);
    for (const name of ["w[0].a[0].b", "w[0].a[0]", "w[0].a"]) {
      expect(node(name)).toMatchObject({ phase: "Failed", message: "timeout" });
    }
    expect(status()).toMatchObject({
      phase: "Failed",
      message: `child '${node("w[0].a")?.id}' failed`,
    });
  });

  test("waits for the steps beside it", () => {
    const { node } = run(spec(", { name: c, template: other }"), [pending, {
      node: "c$",
      after: 9,
    }]);
    expect(node("w[0].a[0].c")).toMatchObject({ phase: "Succeeded" });
    expect(node("w[0].a[0]")).toMatchObject({ phase: "Failed", message: "timeout" });
  });
});

test("outputs of steps and DAGs keep their global names and descriptions", () => {
  const { status, node } = run(
    `
entrypoint: main
templates:
  - name: main
    steps: [[{ name: a, template: inner }]]
    outputs:
      parameters: [{ name: o, globalName: top, valueFrom: { parameter: "{{steps.a.outputs.parameters.t}}" } }]
  - name: inner
    dag: { tasks: [{ name: x, template: work }] }
    outputs:
      parameters:
        - { name: t, globalName: mid, description: why, valueFrom: { expression: "tasks.x.outputs.parameters.t" } }
  - { name: work, ${WORK}, outputs: { parameters: [{ name: t, valueFrom: { path: /t } }] } }`,
    [{ node: "x$", parameters: { t: "v" } }],
  );
  expect(node("w")?.outputs?.parameters).toEqual([{ name: "o", globalName: "top", value: "v" }]);
  expect(node("w[0].a")?.outputs?.parameters).toEqual([
    { name: "t", globalName: "mid", description: "why", value: "v" },
  ]);
  expect(status()?.outputs?.parameters).toEqual([
    { name: "mid", value: "v" },
    { name: "top", value: "v" },
  ]);
});

describe("an input from a ConfigMap", () => {
  const map = {
    kind: "ConfigMap",
    metadata: { name: "cm", labels: { "workflows.argoproj.io/configmap-type": "Parameter" } },
    data: { k: "v" },
  };
  const from = "valueFrom: { configMapKeyRef: { name: cm, key: k } }";
  const shown = { valueFrom: { configMapKeyRef: { name: "cm", key: "k" } }, value: "v" };
  const one = (input: string, step = "") => `
entrypoint: main
arguments: { parameters: [{ name: m, ${from} }, { name: where, value: cm }] }
templates:
  - name: main
    inputs: { parameters: [{ name: m }] }
    steps: [[{ name: a, template: work${step} }]]
  - { name: work, inputs: { parameters: [{ name: x${input} }] }, ${WORK} }`;

  test.each([
    ["the input says it", `, ${from}`, "", { name: "x", ...shown }],
    ["the step says it", "", `, arguments: { parameters: [{ name: x, ${from} }] }`, {
      name: "x",
      ...shown,
    }],
    [
      "its name is a tag",
      `, valueFrom: { configMapKeyRef: { name: "{{workflow.parameters.where}}", key: k } }`,
      "",
      { name: "x", ...shown },
    ],
    [
      "a default stands in",
      ", valueFrom: { default: d, configMapKeyRef: { name: cm, key: no } }",
      "",
      {
        name: "x",
        valueFrom: { default: "d", configMapKeyRef: { name: "cm", key: "no" } },
        value: "d",
      },
    ],
    ["a value is passed", `, ${from}`, ", arguments: { parameters: [{ name: x, value: q }] }", {
      name: "x",
      value: "q",
    }],
  ])("shows where it came from: %s", (_, input, step, wanted) => {
    const { node } = run(one(input, step), [], [map]);
    expect(node("w[0].a")?.inputs?.parameters).toEqual([wanted]);
    expect(node("w")?.inputs?.parameters).toEqual([{ name: "m", ...shown }]);
  });

  test("without a value is an error that names the input", () => {
    const { node } = run(
      one(", valueFrom: { configMapKeyRef: { name: cm, key: no } }"),
      [],
      [map],
    );
    expect(node("w[0].a")?.message).toBe(
      "unable to retrieve inputs.parameters.x from ConfigMap: ConfigMap 'cm' does not have the key 'no'",
    );
  });
});

describe("exit handlers", () => {
  const spec = (workflow: string, step = "") => `
entrypoint: main
${workflow}
arguments: { parameters: [{ name: p, value: of-the-run }] }
templates:
  - { name: main, steps: [[{ name: a, template: work${step} }]] }
  - { name: work, ${WORK} }
  - { name: bye, inputs: { parameters: [{ name: p }] }, retryStrategy: { limit: 1 }, ${WORK} }
  - { name: old, inputs: { parameters: [{ name: p }] }, ${WORK} }`;
  const given = "{ template: bye, arguments: { parameters: [{ name: p, value: own }] } }";

  test.each([
    ["onExit: old", "", "w.onExit", "old", "of-the-run"],
    ["hooks: { exit: { template: bye } }", "", "w.onExit", "bye", "of-the-run"],
    [`hooks: { exit: ${given} }`, "", "w.onExit", "bye", "own"],
    [`{ onExit: old, hooks: { exit: ${given} } }`, "", "w.onExit", "old", "of-the-run"],
    ["", ", hooks: { exit: { template: bye } }", "w[0].a.onExit", "bye", "of-the-run"],
    ["", `, onExit: old, hooks: { exit: ${given} }`, "w[0].a.onExit", "old", "of-the-run"],
    ["", `, hooks: { exit: ${given} }`, "w[0].a.onExit", "bye", "own"],
  ])("%s%s: %s runs %s with %s", (workflow, step, name, templateName, value) => {
    const members = workflow.replace(/^\{ (.*) \}$/, "$1").replace("old, ", "old\n");
    const { status, node } = run(spec(members, step));
    expect(status()?.phase).toBe("Succeeded");
    expect(node(name)).toMatchObject({
      phase: "Succeeded",
      templateName,
      inputs: { parameters: [{ name: "p", value }] },
    });
  });

  test("of a task: `onExit` comes before the hook `exit`", () => {
    const hooks = "onExit: old, hooks: { exit: { template: bye } }";
    const { node } = run(
      spec("").replace(
        /main, steps.*/,
        `main, dag: { tasks: [{ name: a, template: work, ${hooks} }] } }`,
      ),
    );
    expect(node("w.a.onExit")?.templateName).toBe("old");
  });

  const hang: TaskRule = { node: "onExit", outcome: "Hang" };
  const stopped = "workflow shutdown with strategy:  Terminate";

  test("with a retry strategy are marked as hook and as attempt, and say how they were ended", () => {
    const { ask, status, node } = run(spec("hooks: { exit: { template: bye } }"), [hang]);
    const nodeFlag = { hooked: true, retried: true };
    expect(node("w.onExit")).toMatchObject({ type: "Retry", phase: "Running", nodeFlag });
    ask({ type: "terminate" });
    expect(node("w.onExit(0)")).toMatchObject({ phase: "Failed", message: stopped, nodeFlag });
    expect(node("w.onExit")).toMatchObject({
      phase: "Failed",
      message: "Stopped with strategy 'Terminate'",
      nodeFlag,
    });
    expect(status()).toMatchObject({
      phase: "Failed",
      message: "Stopped with strategy 'Terminate'",
    });
  });

  test("that are cut off give the workflow its message, unless the stop came with one", () => {
    const cut = run(spec("onExit: old"), [hang]);
    cut.ask({ type: "terminate" });
    expect(cut.node("w.onExit")).toMatchObject({ message: stopped, nodeFlag: { hooked: true } });
    expect(cut.status()).toMatchObject({ phase: "Failed", message: stopped });
    const told = run(spec("onExit: ask").concat("\n  - { name: ask, suspend: {} }"));
    told.ask({ type: "stop", message: "enough" });
    told.ask({ type: "stop", nodeFieldSelector: "name=w.onExit", message: "no answer" });
    expect(told.node("w.onExit")).toMatchObject({ phase: "Failed", message: "no answer" });
    expect(told.status()?.message).toBe("Stopped with strategy 'Stop': enough");
  });
});

test("a waiting step can be set to Skipped, and what depends on that begins", () => {
  const { ask, status, node } = run(`
entrypoint: main
templates:
  - name: main
    dag: { tasks: [{ name: s, template: wait }, { name: b, template: work, depends: s.Skipped }] }
  - { name: wait, suspend: {} }
  - { name: work, ${WORK} }`);
  ask({ type: "set", nodeFieldSelector: "displayName=s", phase: "Skipped", message: "not now" });
  expect(node("w.s")).toMatchObject({ type: "Suspend", phase: "Skipped", message: "not now" });
  expect(node("w.b")?.phase).toBe("Succeeded");
  expect(status()?.phase).toBe("Succeeded");
});

test("an attempt after one without an exit code sees the exit code 0", () => {
  const { node } = run(
    `
entrypoint: main
templates:
  - name: main
    retryStrategy: { limit: 1 }
    steps: [[{ name: a, template: work, arguments: { parameters: [{ name: p, value: "{{lastRetry.exitCode}} {{lastRetry.status}}" }] } }]]
  - { name: work, inputs: { parameters: [{ name: p }] }, ${WORK} }`,
    [{ node: "\\(0\\)\\[0\\]", outcome: "Failed" }],
  );
  expect(node("w(1)[0].a")?.inputs?.parameters).toEqual([{ name: "p", value: "0 Failed" }]);
});

describe("a backoff that is no duration", () => {
  const spec = (body: string, backoff: string) => `
entrypoint: main
templates:
  - { name: main, ${body} }
  - { name: work, retryStrategy: { limit: 2, backoff: ${backoff} }, ${WORK} }`;
  const fails: TaskRule = { node: "a\\(", outcome: "Failed" };
  const text = (given: string) =>
    `unable to parse ${given} as a duration: time: invalid duration "${given}"`;

  test.each([
    ["{ duration: abc }", "abc"],
    ["{ duration: 1s, cap: xy }", "xy"],
    ["{ duration: 1s, maxDuration: zz }", "zz"],
  ])("%s: the message names it", (backoff, given) => {
    const { node, status } = run(spec("steps: [[{ name: a, template: work }]]", backoff), [fails]);
    expect(node("w[0].a")).toMatchObject({ phase: "Error", message: text(given) });
    expect(status()?.message).toBe(
      `step group deemed errored due to child w[0].a error: ${text(given)}`,
    );
  });

  test.each([
    [
      'timeout: "{{inputs.parameters.d}}"',
      "x",
      'invalid timeout format. time: invalid duration "x"',
    ],
    [
      'retryStrategy: { limit: "{{inputs.parameters.d}}" }',
      "",
      "value '' cannot be resolved to an int",
    ],
  ])("%s with %j: so does what a tag has left", (setting, value, message) => {
    const { status } = run(
      `
entrypoint: main
templates:
  - name: main
    steps: [[{ name: a, template: work, arguments: { parameters: [{ name: d, value: "${value}" }] } }]]
  - { name: work, inputs: { parameters: [{ name: d }] }, ${setting}, ${WORK} }`,
      [{ node: "a", outcome: "Failed" }],
    );
    expect(status()?.message).toBe(
      `step group deemed errored due to child w[0].a error: ${message}`,
    );
  });

  test("ends the DAG with the phase of the retry node, not with that of its attempt", () => {
    const tasks = "[{ name: a, template: work }, { name: b, template: work, depends: a }]";
    const { node, status } = run(spec(`dag: { tasks: ${tasks} }`, "{ duration: abc }"), [fails]);
    expect(node("w.a(0)")?.phase).toBe("Failed");
    expect(node("w.a")?.phase).toBe("Error");
    expect(node("w.b")?.phase).toBe("Omitted");
    expect(status()?.phase).toBe("Error");
  });
});

describe("a loop whose `when` is false for all of it", () => {
  const no = 'when: "1 == 2"';
  const spec = (loop: string) => `
entrypoint: main
arguments: { parameters: [{ name: list, value: "[1, 2]" }] }
templates:
  - name: main
    steps:
      - [{ name: a, template: make }]
      - [{ name: b, template: work, ${no}, ${loop} }]
  - { name: make, ${WORK}, outputs: { parameters: [{ name: o, valueFrom: { path: /o } }] } }
  - { name: work, ${WORK} }`;
  const makes: TaskRule = { node: "a$", parameters: { o: "[1, 2]" } };

  test.each([
    ["withItems: [x, z]", ["b(0:x)", "b(1:z)"]],
    ["withSequence: { count: 2 }", ["b(0:0)", "b(1:1)"]],
    [`withParam: "{{workflow.parameters.list}}"`, ["b(0:1)", "b(1:2)"]],
  ])("%s: has a skipped node for each element", (loop, names) => {
    const { node, status } = run(spec(loop), [makes]);
    for (const name of names) {
      const message = "when '1 == 2' evaluated false";
      expect(node(`w[1].${name}`)).toMatchObject({ type: "Skipped", phase: "Skipped", message });
    }
    expect(status()?.phase).toBe("Succeeded");
  });

  test.each([
    ["withParam: '[]'"],
    ["withParam: nonsense"],
    ["withSequence: { count: many }"],
    [`withParam: "{{steps.a.outputs.parameters.o}}"`],
    [`withParam: "{{=steps.a.outputs.parameters.o}}"`],
  ])("%s: is an empty loop", (loop) => {
    const { node, status } = run(spec(loop), [makes]);
    const message = "Skipped, empty params";
    expect(node("w[1].b")).toMatchObject({ type: "Skipped", phase: "Skipped", message });
    expect(status()?.phase).toBe("Succeeded");
  });
});

test("the result of a step is not asked of its hooks", () => {
  const { node } = run(
    `
entrypoint: main
templates:
  - name: main
    steps:
      - [{ name: a, template: work, onExit: again }]
      - [{ name: b, template: work, when: "'{{steps.a.outputs.result}}' == 'text'" }]
  - { name: work, ${WORK} }
  - { name: again, retryStrategy: { limit: 1 }, ${WORK} }`,
    [{ node: "a", result: "text" }],
  );
  expect(node("w[0].a")?.outputs).toEqual({ exitCode: "0", result: "text" });
  expect(node("w[0].a.onExit(0)")?.outputs).toEqual({ exitCode: "0" });
  expect(node("w[1].b")?.phase).toBe("Succeeded");
});

test("a timeout that is a default of all templates does not end a suspend step", () => {
  const { ask, node, status } = run(`
entrypoint: main
templateDefaults: { timeout: 5s }
templates:
  - { name: main, steps: [[{ name: a, template: short }, { name: b, template: open }]] }
  - { name: short, suspend: { duration: 2s } }
  - { name: open, suspend: {} }`);
  expect(node("w[0].a")?.phase).toBe("Succeeded");
  expect(node("w[0].b")?.phase).toBe("Running");
  ask({ type: "resume" });
  expect(status()?.phase).toBe("Succeeded");
});

test.each([
  ['{"enum":["A",2,true]}', {}, { enum: ["A", "2", "true"], default: "A" }],
  ['{"description":"why","enum":["A","B"]}', { default: "B" }, {
    enum: ["A", "B"],
    default: "B",
  }],
  ['{"enum":[]}', {}, {}],
  ['{"enum":[{}]}', {}, {}],
  ['{"enum":"A"}', {}, {}],
  ['say "enum"', {}, {}],
])("a suspend step with the input %s offers choices", (value, input, shown) => {
  const { node } = run(`
entrypoint: main
arguments: { parameters: [{ name: form, value: ${JSON.stringify(value)} }] }
templates:
  - name: main
    steps: [[{ name: a, template: ask, arguments: { parameters: [{ name: p, value: "{{workflow.parameters.form}}" }] } }]]
  - { name: ask, inputs: { parameters: [${
    JSON.stringify({ name: "p", ...input })
  }] }, suspend: {} }`);
  expect(node("w[0].a")?.inputs?.parameters).toEqual([{ name: "p", value, ...input, ...shown }]);
});

test("a DAG has failed although the exit handler of its failed retry node has succeeded", () => {
  const { node, status } = run(
    `
entrypoint: main
templates:
  - name: main
    dag:
      tasks:
        - { name: a, template: work, hooks: { exit: { template: other } } }
        - { name: b, template: other, depends: a }
  - { name: work, retryStrategy: { limit: 1 }, ${WORK} }
  - { name: other, ${WORK} }`,
    [{ node: "a\\(", outcome: "Failed" }],
  );
  expect(node("w.a.onExit")?.phase).toBe("Succeeded");
  expect(node("w.b")?.phase).toBe("Omitted");
  expect(status()?.phase).toBe("Failed");
});

test("what follows a template hangs below the last attempt of the exit handler of its last task", () => {
  const { node } = run(`
entrypoint: main
templates:
  - { name: main, steps: [[{ name: s, template: sub }], [{ name: next, template: work }]] }
  - { name: sub, dag: { tasks: [{ name: t, template: flaky, hooks: { exit: { template: flaky } } }] } }
  - { name: flaky, retryStrategy: { limit: 1 }, ${WORK} }
  - { name: work, ${WORK} }`);
  const idOf = (name: string) => node(name)?.id ?? name;
  expect(node("w[0].s")?.outboundNodes).toEqual([idOf("w[0].s.t.onExit")]);
  expect(node("w[0].s.t.onExit")?.children).toEqual([idOf("w[0].s.t.onExit(0)")]);
  expect(node("w[0].s.t.onExit(0)")?.children).toEqual([idOf("w[1]")]);
});

test("a DAG has failed although the exit handler inside it that has succeeded is attempted again", () => {
  const { status, node } = run(
    `
entrypoint: main
templates:
  - name: main
    dag: { tasks: [{ name: s, template: sub }, { name: z, template: work, depends: s }] }
  - { name: sub, dag: { tasks: [{ name: t, template: flaky, hooks: { exit: { template: flaky } } }] } }
  - { name: flaky, retryStrategy: { limit: 1 }, ${WORK} }
  - { name: work, ${WORK} }`,
    [{ node: "\\.t\\(", outcome: "Failed" }],
  );
  expect(node("w.s.t.onExit")?.phase).toBe("Succeeded");
  expect(node("w.z")?.phase).toBe("Omitted");
  expect(status()?.phase).toBe("Failed");
});

test("a manual retry goes on with the last attempt of a template only, and repeats none of a step that has succeeded", () => {
  const { ask, node, status } = run(
    `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: s, template: sub }], [{ name: z, template: work }]] }
  - { name: sub, retryStrategy: { limit: 1 }, steps: [[{ name: x, template: work }], [{ name: y, template: work }]] }
  - { name: work, ${WORK} }`,
    [{ node: "[xz]$", outcome: "Failed", attempt: 1 }],
  );
  expect(status()?.phase).toBe("Failed");
  ask({ type: "retry" });
  expect(node("w[0].s(0)[0].x")?.phase).toBe("Failed");
  expect(node("w[0].s(0)[1].y")).toBeUndefined();
  expect(node("w[0].s(1)[1].y")?.phase).toBe("Succeeded");
  expect(node("w[0].s")?.phase).toBe("Succeeded");
  expect(node("w[1].z")?.phase).toBe("Failed");
  ask({ type: "retry" });
  expect(node("w[0].s(0)[0].x")?.phase).toBe("Failed");
  expect(status()).toMatchObject({ phase: "Succeeded", progress: "3/4" });
});

test.each(["displayName=x", "templateName=work"])(
  "a manual retry of successful steps repeats those of the last attempt only: %s",
  (nodeFieldSelector) => {
    const { ask, node, status } = run(
      `
entrypoint: main
templates:
  - { name: main, steps: [[{ name: s, template: sub }], [{ name: z, template: work }]] }
  - { name: sub, retryStrategy: { limit: 1 }, steps: [[{ name: x, template: work }], [{ name: y, template: work }]] }
  - { name: work, ${WORK} }`,
      [{ node: "s\\(0\\).*y$", outcome: "Failed" }],
    );
    const first = () => ["[0].x", "[1].y"].map((name) => node(`w[0].s(0)${name}`));
    const [before, last] = [first(), node("w[0].s(1)[0].x")];
    expect(status()).toMatchObject({ phase: "Succeeded", progress: "4/5" });
    ask({ type: "retry", restartSuccessful: true, nodeFieldSelector });
    expect(status()).toMatchObject({ phase: "Succeeded", progress: "4/5" });
    expect(first()).toEqual(before);
    expect(node("w[0].s(1)[0].x")?.startedAt).not.toBe(last?.startedAt);
  },
);

test("a manual retry with other parameters begins no elements of a loop that had succeeded before the failure", () => {
  const { ask, node, status } = run(
    `
entrypoint: main
arguments: { parameters: [{ name: list, value: "[1, 2]" }] }
templates:
  - { name: main, steps: [[{ name: each, template: work, withParam: "{{workflow.parameters.list}}" }], [{ name: z, template: work }]] }
  - { name: work, ${WORK} }`,
    [{ node: "z$", outcome: "Failed", attempt: 1 }],
  );
  ask({ type: "retry", parameters: ["list=[1, 2, 3]"] });
  expect(status()).toMatchObject({ phase: "Succeeded", progress: "3/3" });
  expect(node("w[0].each(2:3)")).toBeUndefined();
});
