/** Callbacks: what ends the wait of a step, when, and how often. */
import { partsByKey } from "../../base/part_text.ts";
import { describe, expect, test } from "vitest";
import { replaceMarks } from "../../spec/callback.ts";
import type { Template, Workflow } from "../../spec/manifest.ts";
import { ENGINE_ENV } from "../../../test/support/engine_env.ts";
import { accept } from "../accept.ts";
import { advance } from "../advance.ts";
import { loadWorkflow, takeChanges } from "../codec.ts";
import type { Effect, TaskSpec } from "../effect.ts";
import { createWorkflow } from "../create.ts";
import { viewWorkflow } from "../view.ts";
import { type CallbackUse, useCallback } from "./callback.ts";
import { control } from "./control.ts";

const UID = "3f1c0000-0000-4000-8000-000000000000";

const WAIT: Template = {
  name: "wait",
  suspend: { callback: { expires: "1h" } },
  outputs: {
    parameters: [
      { name: "model", valueFrom: { supplied: {} } },
      { name: "note", valueFrom: { supplied: {}, default: "none" } },
    ],
  },
};
const TRIGGER: Template = {
  name: "trigger",
  inputs: { parameters: [{ name: "url" }] },
  container: { image: "i", command: ["run", "{{inputs.parameters.url}}"] },
};
const STEPS: Template = {
  name: "main",
  steps: [
    [{
      name: "trigger",
      template: "trigger",
      arguments: { parameters: [{ name: "url", value: "{{steps.wait.callback.resume}}" }] },
    }],
    [{ name: "wait", template: "wait" }],
  ],
};
const DAG: Template = {
  name: "main",
  dag: {
    tasks: [
      {
        name: "trigger",
        template: "trigger",
        arguments: { parameters: [{ name: "url", value: "{{tasks.wait.callback.resume}}" }] },
      },
      { name: "wait", template: "wait", depends: "trigger" },
    ],
  },
};

function story(main: Template, wait: Template = WAIT) {
  let now = ENGINE_ENV.now;
  const env = () => ({ ...ENGINE_ENV, now });
  const workflow: Workflow = {
    metadata: { name: "wf", namespace: "ns", uid: UID, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { entrypoint: "main", templates: [main, wait, TRIGGER] },
  };
  let state = createWorkflow(workflow, env());
  const parts: Record<string, string> = {};
  const effects: Effect[] = [];
  const go = () => {
    advance(state, env());
    const { put, drop, effects: more } = takeChanges(state);
    for (const key of drop) delete parts[key];
    Object.assign(parts, partsByKey(put));
    effects.push(...more);
  };
  const tasks = (): TaskSpec[] =>
    effects.flatMap((effect) => effect.type === "start-task" ? [effect.task] : []);
  go();
  return {
    tasks,
    parts,
    endTrigger() {
      const task = tasks().at(-1)?.id ?? "";
      accept(state, { type: "task-ended", task, outcome: { phase: "Succeeded" } }, env());
      go();
    },
    /** Every use meets a workflow that was loaded anew. */
    use(use: Partial<CallbackUse> = {}) {
      state = loadWorkflow(parts);
      const { verb = "resume" } = use;
      const given = verb === "resume" ? { outputs: { model: "m1" } } : {};
      const whole = { uid: UID, node: node(main), verb, ...given, ...use };
      try {
        useCallback(state, {
          digest: JSON.stringify([verb, whole.outputs, whole.message]),
          ...whole,
        }, env());
      } finally {
        go();
      }
    },
    retry() {
      control(state, { type: "retry" }, env());
      go();
    },
    resume(nodeFieldSelector: string) {
      control(
        state,
        { type: "set", nodeFieldSelector, phase: "Failed", message: "by hand" },
        env(),
      );
      go();
    },
    later(ms: number) {
      now += ms;
      accept(state, { type: "timer-fired", timer: "node/" + waiting()?.id }, env());
      go();
    },
    node: (name: string) =>
      Object.values(viewWorkflow(state).status?.nodes ?? {}).find((one) => one.name === name),
    phase: () => state.header.phase,
    header: () => state.header,
  };
  function waiting() {
    return [...state.nodes.values()].find(({ type, phase }) =>
      type === "Suspend" && phase === "Running"
    );
  }
}

const node = (main: Template) => main.steps === undefined ? "wf.wait" : "wf[1].wait";

describe.each([["steps", STEPS], ["dag", DAG]])("in %s", (_, main) => {
  test("the trigger gets a mark of the wait that follows it", () => {
    const { tasks, node: nodeOf } = story(main);
    const [task] = tasks();
    expect(task?.callbackSecret).toMatch(/./);
    const text = task?.template.container?.command?.[1] ?? "";
    const marks: unknown[] = [];
    expect(replaceMarks(text, (mark) => (marks.push(mark), "X"))).toBe("X");
    expect(marks).toEqual([
      expect.objectContaining({
        form: "resume",
        workflowUid: UID,
        nodeName: node(main),
        seconds: 3_600,
      }),
    ]);
    expect(nodeOf(main.dag ? "wf.trigger" : "wf[0].trigger")?.inputs?.parameters?.[0]?.value).toBe(
      text,
    );
  });

  test("a callback ends the wait with its outputs; a repeat changes nothing, another is refused", () => {
    const one = story(main);
    one.endTrigger();
    one.use();
    expect(one.phase()).toBe("Succeeded");
    expect(one.node(node(main))).toMatchObject({
      phase: "Succeeded",
      outputs: { parameters: [{ name: "model", value: "m1" }, { name: "note", value: "none" }] },
    });
    const before = JSON.stringify(one.parts);
    one.use();
    expect(JSON.stringify(one.parts)).toBe(before);
    expect(() => one.use({ outputs: { model: "m2" } })).toThrow("another callback has resumed");
    expect(() => one.use({ verb: "stop" })).toThrow("callback is over");
  });

  test("it may come before the step waits", () => {
    const one = story(main);
    one.use();
    one.use();
    expect(() => one.use({ verb: "stop" })).toThrow(expect.objectContaining({ status: 409 }));
    expect(one.phase()).toBe("Running");
    one.endTrigger();
    expect(one.phase()).toBe("Succeeded");
    expect(one.header().earlyCallbacks).toBeUndefined();
    one.use();
    expect(one.node(node(main))?.outputs?.parameters?.[0]?.value).toBe("m1");
  });

  test("outputs are checked, early too, and what is wrong consumes nothing", () => {
    const one = story(main);
    const refusals = () => {
      expect(() => one.use({ outputs: { other: "x" } })).toThrow(
        "outputs.other: the step takes model, note",
      );
      expect(() => one.use({ outputs: {} })).toThrow("outputs.model: a value is needed");
    };
    refusals();
    one.endTrigger();
    refusals();
    one.use();
    expect(one.phase()).toBe("Succeeded");
  });
});

test.each([
  ["steps", STEPS, "steps.wait.callback.resume"],
  ["steps by index", STEPS, "steps['wait'].callback.resume"],
  ["dag", DAG, "tasks.wait.callback.resume"],
])("an expression knows the variables: %s", (_, main, name) => {
  const text = JSON.stringify(main).replace(
    /\{\{[a-z]+\.wait\.callback\.resume\}\}/,
    `{{= toJson({\\"url\\": ${name}}) }}`,
  );
  const { tasks } = story(JSON.parse(text) as Template);
  const [plain] = story(main).tasks();
  const mark = plain?.template.container?.command?.[1] ?? "";
  expect(mark).toMatch(/^callback:resume/);
  expect(tasks()[0]?.template.container?.command?.[1]).toBe(`{"url":"${mark}"}`);
  expect(tasks()[0]?.callbackSecret).toMatch(/./);
});

test("an expression about other things reads the steps as before", () => {
  const main = JSON.parse(
    JSON.stringify(STEPS).replace(
      "{{steps.wait.callback.resume}}",
      "{{= steps.first.status + 'callback' }}",
    ),
  ) as Template;
  const arguments_ = { parameters: [{ name: "url", value: "" }] };
  main.steps = [
    [{ name: "first", template: "wait" }],
    ...main.steps ?? [],
    [{ name: "last", template: "trigger", arguments: arguments_ }],
  ];
  const one = story(main);
  one.use({ node: "wf[0].first" });
  expect(one.tasks()[0]?.template.container?.command?.[1]).toBe("Succeededcallback");
});

test("a stop fails the step; a manual retry waits again for the same URL without the trigger", () => {
  const one = story(STEPS);
  one.endTrigger();
  one.use({ verb: "stop", message: "no gpu" });
  expect(one.node("wf[1].wait")).toMatchObject({ phase: "Failed", message: "no gpu" });
  expect(one.phase()).toBe("Failed");
  one.use({ verb: "stop", message: "no gpu" });
  expect(() => one.use()).toThrow(expect.objectContaining({ status: 410 }));
  one.retry();
  expect(one.phase()).toBe("Running");
  one.use();
  expect(one.phase()).toBe("Succeeded");
  expect(one.tasks()).toHaveLength(1);
});

test("with a retry strategy the newest waiting attempt gets it", () => {
  const one = story(STEPS, { ...WAIT, retryStrategy: { limit: 2 } });
  one.endTrigger();
  one.use({ verb: "stop", message: "first" });
  expect(one.node("wf[1].wait(0)")).toMatchObject({ phase: "Failed", message: "first" });
  one.use();
  expect(one.node("wf[1].wait(1)")).toMatchObject({ phase: "Succeeded" });
  expect(one.phase()).toBe("Succeeded");
});

test("only the named outputs are taken from a caller", () => {
  const one = story(STEPS, { ...WAIT, suspend: { callback: { outputs: ["model"] } } });
  one.endTrigger();
  expect(() => one.use({ outputs: { model: "m", note: "n" } })).toThrow(
    "outputs.note: the step takes model",
  );
});

test("a heartbeat makes the timeout begin anew; without one the step fails", () => {
  const minute = 60_000;
  const one = story(STEPS, { ...WAIT, timeout: "10m" });
  one.endTrigger();
  one.later(9 * minute);
  one.use({ verb: "heartbeat" });
  one.later(9 * minute);
  expect(one.phase()).toBe("Running");
  one.later(minute);
  expect(one.node("wf[1].wait")).toMatchObject({
    phase: "Failed",
    message: "Nobody called back within 10m",
  });
});

test("a step that ended otherwise is told; after the end of the workflow it is over", () => {
  const two: Template = {
    ...STEPS,
    steps: [[{ name: "other", template: "wait" }, { name: "wait", template: "wait" }]],
  };
  const one = story(two);
  const use = { node: "wf[0].wait" };
  one.resume("name=wf[0].wait");
  expect(() => one.use(use)).toThrow("the step has ended: Failed: by hand");
  expect(() => one.use(use)).toThrow(expect.objectContaining({ status: 409 }));
  one.use({ node: "wf[0].other" });
  expect(() => one.use(use)).toThrow(expect.objectContaining({ status: 410 }));
});

test("another workflow of the same name does not take it, nor does a step that is not there", () => {
  const one = story(STEPS);
  expect(() => one.use({ uid: "other" })).toThrow(expect.objectContaining({ status: 410 }));
  for (
    const name of ["wf[0].wait", "wf[1].none", "wf.wait", "other[1].wait", "wf[0].trigger", "x"]
  ) {
    expect(() => one.use({ node: name }), name).toThrow(expect.objectContaining({ status: 409 }));
  }
  expect(one.header().earlyCallbacks).toBeUndefined();
});

test("what came early for a later step waits on when an earlier step takes its own", () => {
  const one = story({
    name: "main",
    steps: [...STEPS.steps ?? [], [{ name: "again", template: "wait" }]],
  });
  one.use();
  one.use({ node: "wf[2].again", outputs: { model: "m2" } });
  expect(Object.keys(one.header().earlyCallbacks ?? {})).toEqual(["wf[1].wait", "wf[2].again"]);
  one.endTrigger();
  expect(one.phase()).toBe("Succeeded");
  expect(one.node("wf[1].wait")?.outputs?.parameters?.[0]?.value).toBe("m1");
  expect(one.node("wf[2].again")?.outputs?.parameters?.[0]?.value).toBe("m2");
  expect(one.header().earlyCallbacks).toBeUndefined();
});

test("what comes early is bounded", () => {
  const one = story(STEPS);
  expect(() => one.use({ outputs: { model: "x".repeat(300_000) } }))
    .toThrow(expect.objectContaining({ status: 503 }));
  expect(one.header().earlyCallbacks).toBeUndefined();
});

test("a workflow without callbacks has tasks without marks", () => {
  const plain = story({
    name: "main",
    steps: [[{
      name: "trigger",
      template: "trigger",
      arguments: { parameters: [{ name: "url", value: `callback:resume(${UID}/wf.x;9)` }] },
    }]],
  });
  expect(plain.tasks()[0]?.callbackSecret).toBeUndefined();
});
