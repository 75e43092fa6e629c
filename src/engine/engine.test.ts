/** Stories: a manifest, what happens, and how the workflow looks afterwards. */
import { runToEnd } from "../base/steps.ts";
import { partsByKey } from "../base/part_text.ts";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { Workflow } from "../spec/manifest.ts";
import { accept } from "./accept.ts";
import { advance } from "./advance.ts";
import { loadWorkflow, takeChanges } from "./codec.ts";
import type { ControlRequest, Fact, TaskOutcome } from "./command.ts";
import { control } from "./orders/control.ts";
import { createWorkflow } from "./create.ts";
import type { Effect, TaskSpec } from "./effect.ts";
import type { EngineEnv } from "./engine.ts";
import { outstanding } from "../../test/support/outstanding.ts";
import { resubmitSteps } from "./orders/resubmit.ts";
import { viewWorkflow } from "./view.ts";

const START = Date.UTC(2024, 0, 1);

/** One workflow and its surroundings. */
function given(yaml: string, stored: Record<string, unknown> = {}) {
  const { metadata, spec } = parse(yaml) as Workflow;
  let now = START;
  const known = new Map(Object.entries(stored));
  const env = (): EngineEnv => ({
    now,
    randomSuffix: (length) => "abcde".slice(0, length),
    findManifest: (kind, _namespace, name) =>
      known.has(`${kind}/${name}`) ? known.get(`${kind}/${name}`) : null,
    labelPrefix: "workflows.argoproj.io/",
    apiGroup: "argoproj.io",
  });
  const workflow: Workflow = {
    metadata: { namespace: "ns", uid: "u", creationTimestamp: "2024-01-01T00:00:00Z", ...metadata },
    spec,
  };
  let state = createWorkflow(workflow, env());
  const effects: Effect[] = [];
  const parts: Record<string, string> = {};
  const take = () => {
    const changes = takeChanges(state);
    for (const key of changes.drop) delete parts[key];
    Object.assign(parts, partsByKey(changes.put));
    effects.push(...changes.effects);
    return changes;
  };
  const go = () => {
    advance(state, env());
    return take();
  };
  const tasks = (): TaskSpec[] =>
    effects.flatMap((effect) => effect.type === "start-task" ? [effect.task] : []);
  const task = (node: string): string =>
    tasks().findLast(({ nodeName }) => nodeName === node)?.id ?? `no task of ${node}`;
  go();
  return {
    go,
    effects,
    known,
    tasks,
    task,
    now: (seconds: number) => now = START + seconds * 1000,
    tell(fact: Fact) {
      accept(state, fact, env());
      return go();
    },
    end(node: string, outcome: Partial<TaskOutcome> = {}) {
      accept(state, {
        type: "task-ended",
        task: task(node),
        outcome: { phase: "Succeeded", outputs: { exitCode: "0" }, ...outcome },
      }, env());
      return go();
    },
    ask(request: ControlRequest) {
      control(state, request, env());
      return go();
    },
    reload() {
      state = loadWorkflow(parts);
      go();
    },
    outstanding: () => outstanding(state, env()),
    view: () => viewWorkflow(state),
    status: () => viewWorkflow(state).status,
    node: (name: string) =>
      Object.values(viewWorkflow(state).status?.nodes ?? {}).find((node) => node.name === name),
    env,
  };
}

const JOB = `
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: trigger, template: trigger}
    - - {name: wait, template: gate, arguments: {parameters: [{name: uuid, value: "{{steps.trigger.outputs.result}}"}]}}
    - - {name: after, template: work}
  - name: trigger
    script: {image: i, command: [sh], source: echo}
  - name: gate
    inputs: {parameters: [{name: uuid}]}
    suspend: {}
  - name: work
    container: {image: i, command: [x]}
`;

test("a workflow that starts shows how its pods are named", () => {
  expect(given(JOB).view().metadata.annotations).toEqual({
    "workflows.argoproj.io/pod-name-format": "v2",
  });
});

test("the condition PodRunning is true while a pod runs, not while it is awaited", () => {
  const story = given(JOB);
  const told = () => story.status()?.conditions?.find(({ type }) => type === "PodRunning")?.status;
  const start = (node: string) => story.tell({ type: "task-started", task: story.task(node) });
  const seen = [told()];
  start("wf[0].trigger");
  seen.push(told());
  story.reload();
  seen.push(told());
  story.end("wf[0].trigger", { outputs: { exitCode: "0", result: "6f1c" } });
  seen.push(told());
  expect(seen).toEqual(["False", "True", "True", "False"]);
});

describe("a step that waits for an outside job", () => {
  const waiting = () => {
    const story = given(JOB);
    story.end("wf[0].trigger", { outputs: { exitCode: "0", result: "6f1c" } });
    return story;
  };

  test("gets the id that the trigger printed", () => {
    expect(waiting().node("wf[1].wait")).toMatchObject({
      phase: "Running",
      inputs: { parameters: [{ name: "uuid", value: "6f1c" }] },
    });
  });

  test("continues when it is resumed by that id, and only once", () => {
    const story = waiting();
    const nodeFieldSelector = "inputs.parameters.uuid.value=6f1c";
    story.ask({ type: "resume", nodeFieldSelector });
    story.end("wf[2].after");
    expect(story.status()).toMatchObject({ phase: "Succeeded", progress: "3/3" });
    expect(() => story.ask({ type: "resume", nodeFieldSelector })).toThrow(
      expect.objectContaining({
        status: 409,
        message: `no suspend nodes matching nodeFieldSelector: ${nodeFieldSelector}; ` +
          "wait has ended already: Succeeded",
      }),
    );
    const unknown = "inputs.parameters.uuid.value=other";
    expect(() => story.ask({ type: "stop", nodeFieldSelector: unknown })).toThrow(
      expect.objectContaining({
        status: 404,
        message: `no suspend nodes matching nodeFieldSelector: ${unknown}`,
      }),
    );
    expect(() => story.ask({ type: "resume", nodeFieldSelector: "uuid=6f1c" })).toThrow(
      "nodeFieldSelector: uuid=6f1c; no node has a field 'uuid': the fields are displayName, ",
    );
  });

  test("is not ended by a request whose id is empty", () => {
    const story = waiting();
    for (const nodeFieldSelector of ["inputs.parameters.job.value=", "uuid=", "="]) {
      expect(() => story.ask({ type: "resume", nodeFieldSelector })).toThrow("no suspend nodes");
    }
    expect(story.node("wf[1].wait")).toMatchObject({ phase: "Running" });
  });

  test.each(
    [
      [{ type: "stop" }, "Stopped with strategy 'Stop'"],
      [
        { type: "stop", message: "the job is gone" },
        "Stopped with strategy 'Stop': the job is gone",
      ],
      [{ type: "terminate" }, "Stopped with strategy 'Terminate'"],
    ] as const,
  )("a workflow that is ended by %j says so", (request, message) => {
    const story = waiting();
    story.ask(request);
    expect(story.status()).toMatchObject({ phase: "Failed", message });
    expect(story.node("wf[1].wait")).toMatchObject({
      phase: "Failed",
      message: message.replace(": the job is gone", ""),
    });
    story.ask({ type: "retry" });
    expect(story.status()?.message).toBeUndefined();
  });

  test.each([
    [
      "inputs: {parameters: [{name: uuid}]}\n    outputs: {parameters: [{name: verdict, valueFrom: {supplied: {}}}]}",
      false,
    ],
    [
      "inputs: {parameters: [{name: uuid}]}\n    outputs: {parameters: [{name: uuid, valueFrom: {supplied: {}}}]}",
      true,
    ],
  ])("is not resumed while an output that is no input lacks a value: %s", (declared, goesOn) => {
    const story = given(JOB.replace("inputs: {parameters: [{name: uuid}]}", declared));
    story.end("wf[0].trigger", { outputs: { exitCode: "0", result: "6f1c" } });
    const ask = () => story.ask({ type: "resume", nodeFieldSelector: "displayName=wait" });
    expect(() => story.ask({ type: "resume" })).toThrow("raw output parameter");
    if (goesOn) ask();
    else expect(ask).toThrow("step wait: raw output parameter 'verdict' has not been set");
    expect(story.node("wf[1].wait")?.phase).toBe(goesOn ? "Succeeded" : "Running");
  });

  test.each([
    [{ subject: "s-1", preferredUsername: "ops", email: "o@x.org" }, "ops (o@x.org)"],
    [{ subject: "s-1" }, "s-1"],
    [{ email: "o@x.org" }, "o@x.org"],
  ])("says by whom it was resumed: %j", (user, name) => {
    const story = waiting();
    story.ask({ type: "resume", nodeFieldSelector: "displayName=wait", user });
    expect(story.node("wf[1].wait")?.message).toBe(`Resumed by: ${name}`);
  });

  test("continues to wait when only the workflow is resumed", () => {
    const story = waiting();
    story.ask({ type: "suspend" });
    story.ask({ type: "resume", onlyWorkflow: true });
    expect(story.node("wf[1].wait")).toMatchObject({ phase: "Running" });
    story.ask({ type: "resume" });
    expect(story.node("wf[1].wait")).toMatchObject({ phase: "Succeeded" });
  });

  test("fails with the message when it is stopped; a plain retry waits again and does not trigger", () => {
    const story = waiting();
    story.ask({
      type: "stop",
      nodeFieldSelector: "inputs.parameters.uuid.value=6f1c",
      message: "job failed",
    });
    expect(story.node("wf[1].wait")).toMatchObject({ phase: "Failed", message: "job failed" });
    expect(story.status()?.phase).toBe("Failed");
    const triggers = story.tasks().length;
    story.ask({ type: "retry" });
    expect(story.node("wf[1].wait")?.phase).toBe("Running");
    expect(story.tasks().length).toBe(triggers);
  });

  test("keeps the whole message of a stop, however long it is", () => {
    const story = waiting();
    const message = "x".repeat(100_000);
    story.ask({ type: "stop", nodeFieldSelector: "displayName=wait", message });
    expect(story.node("wf[1].wait")?.message).toBe(message);
  });

  test("is triggered again by a retry that restarts the trigger", () => {
    const story = waiting();
    story.ask({ type: "stop", nodeFieldSelector: "displayName=wait" });
    story.ask({ type: "retry", restartSuccessful: true, nodeFieldSelector: "displayName=trigger" });
    expect(story.tasks().map(({ id }) => id)).toEqual([
      expect.stringMatching(/\/1$/),
      expect.stringMatching(/\/2$/),
    ]);
  });

  test("a message that is set replaces the one before", () => {
    const story = waiting();
    for (const message of ["soon", "later"]) {
      story.ask({ type: "set", nodeFieldSelector: "displayName=wait", message });
      const shown = Object.values(story.view().status?.nodes ?? {})
        .find(({ displayName }) => displayName === "wait");
      expect(shown).toMatchObject({ phase: "Running", message });
    }
    // A command of an older program may name the user.
    const done = { type: "set", nodeFieldSelector: "displayName=wait", phase: "Succeeded" };
    story.ask({ ...done, user: { subject: "ann" } } as ControlRequest);
    expect(story.node("wf[1].wait")).toMatchObject({ phase: "Succeeded", message: "later" });
  });

  test("refuses what cannot be done, and changes nothing", () => {
    const story = waiting();
    const before = JSON.stringify(story.view());
    for (
      const [request, code] of [
        [{ type: "resume", nodeFieldSelector: "displayName=zzz" }, 404],
        [{ type: "stop", nodeFieldSelector: "bad selector" }, 400],
        [{ type: "set", phase: "Failed" }, 400],
        [{ type: "set", nodeFieldSelector: "displayName=wait", phase: "Running" }, 400],
        [{ type: "retry" }, 400],
      ] as [ControlRequest, number][]
    ) {
      expect(() => story.ask(request)).toThrow(
        expect.objectContaining({ name: "Problem", status: code }),
      );
    }
    const nodeFieldSelector = "displayName=wait";
    expect(() => story.ask({ type: "set", nodeFieldSelector })).toThrow(
      expect.objectContaining({
        status: 400,
        message: expect.stringContaining("nothing is to be"),
      }),
    );
    expect(() => story.ask({ type: "set", phase: "Failed" })).toThrow(
      "say which waiting suspend steps are to be set: nodeFieldSelector is empty",
    );
    expect(JSON.stringify(story.view())).toBe(before);
  });
});

test("templates that call themselves for ever are ended with a message that names the greatest depth", () => {
  const story = given(`
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - {name: main, steps: [[{name: again, template: main}]]}`);
  const told = Object.values(story.status()?.nodes ?? {}).map(({ message }) => message);
  expect(told).toContain(
    "Maximum recursion depth exceeded: templates call each other more than 100 levels deep",
  );
});

describe("facts", () => {
  test("that come late, twice or for another attempt change nothing", () => {
    const story = given(JOB);
    const task = story.task("wf[0].trigger");
    story.end("wf[0].trigger", { outputs: { result: "1" } });
    const before = JSON.stringify(story.view());
    for (
      const fact of [
        { type: "task-started", task },
        { type: "task-ended", task, outcome: { phase: "Failed", message: "no" } },
        { type: "task-ended", task: task.replace(/1$/, "7"), outcome: { phase: "Failed" } },
        { type: "task-ended", task: "nonsense", outcome: { phase: "Failed" } },
        { type: "timer-fired", timer: "node/nope" },
        { type: "locks-granted", holder: "ns/wf/nope" },
      ] as Fact[]
    ) expect(story.tell(fact).put).toEqual([]);
    expect(JSON.stringify(story.view())).toBe(before);
  });

  test("about locks that are granted already, or were given back, change nothing", () => {
    const story = given(`
metadata: {name: wf}
spec:
  entrypoint: main
  synchronization: {mutexes: [{name: whole}]}
  templates:
  - name: main
    synchronization: {mutexes: [{name: one}]}
    container: {image: i, command: [x]}
`);
    const requests = () => story.effects.filter(({ type }) => type === "acquire-locks");
    const news = (holder: string) => {
      const waiting = { message: "Waiting for a lock.", waiting: "ns/Mutex/x" };
      return { type: "locks-waiting", holder, ...waiting } as const;
    };
    const holders: string[] = [];
    for (const count of [1, 2]) {
      expect(requests().length).toBe(count);
      const { holder } = requests()[count - 1] as Extract<Effect, { type: "acquire-locks" }>;
      holders.push(holder);
      story.tell(news(holder));
      const told = JSON.stringify(story.view());
      expect(told).toContain("Waiting for a lock.");
      story.tell({ type: "locks-granted", holder });
      expect(JSON.stringify(story.view())).not.toContain("Waiting for a lock.");
    }
    const checkLate = () => {
      const before = JSON.stringify(story.view());
      for (const holder of holders) {
        expect(story.tell(news(holder)).put).toEqual([]);
        expect(story.tell({ type: "locks-granted", holder }).put).toEqual([]);
      }
      expect(JSON.stringify(story.view())).toBe(before);
    };
    checkLate();
    story.end("wf");
    expect(story.status()?.phase).toBe("Succeeded");
    checkLate();
  });

  test("about one of many steps are stored as at most two parts", () => {
    const story = given(`
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{name: each, template: work, withSequence: {count: 100}}]]
  - name: work
    container: {image: i, command: [x]}
`);
    expect(story.tasks().length).toBe(100);
    const changes = story.end("wf[0].each(41:41)");
    expect(changes.put.filter(({ key }) => key !== "h")).toHaveLength(1);
  });
});

describe("the format of a sequence is bounded", () => {
  const loop = (format: string, count: number) =>
    given(`
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{name: each, template: work, withSequence: {count: ${count}, format: "${format}"}}]]
  - name: work
    container: {image: i, command: [x]}
`);

  test.each([
    ["%999999999d", 1, "withSequence.format has a width of 999999999"],
    ["%0999999999x", 2, "a number may be filled to at most 1000 characters"],
    [`a%1001d`, 1, "a width of 1001"],
    [`${"x".repeat(1_000)}%900d`, 50_000, "withSequence makes a text of more than 16000000"],
  ])("%s", (format, count, message) => {
    const shown = JSON.stringify(loop(format, count).view());
    expect(shown).toContain(message);
    expect(shown).not.toContain("internal error");
  });

  test("an ordinary width is allowed", () => {
    expect(loop("n%04d", 2).tasks().map(({ nodeName }) => nodeName)).toEqual([
      "wf[0].each(0:n0000)",
      "wf[0].each(1:n0001)",
    ]);
  });
});

test("the expressions of one template share a budget, which is enough for ordinary ones", () => {
  const withArguments = (expression: string, count: number) =>
    given(`
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: a, template: work, arguments: {parameters: [${
      Array.from({ length: count }, (_, i) => `{name: p${i}, value: "{{=${expression}}}"}`).join()
    }]}}
  - name: work
    container: {image: i, command: [x]}
`);
  const dear = "len(map(1..3000, sprig.regexMatch('a*b', 'aaa')))";
  expect(withArguments(dear, 2).tasks()).toHaveLength(1);
  expect(JSON.stringify(withArguments(dear, 20).view())).toContain("step budget exceeded");
  expect(withArguments("asInt('5') + 1 > 3 ? 'a' : 'b'", 5_000).tasks()).toHaveLength(1);
});

test("a manifest that is not loaded is requested, and the work is done once it is there", () => {
  const story = given(
    `
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - name: main
    steps: [[{name: a, template: work, arguments: {parameters: [{name: p, valueFrom: {configMapKeyRef: {name: cm, key: k}}}]}}]]
  - name: work
    inputs: {parameters: [{name: p}]}
    container: {image: i, command: [x]}
`,
    { "ConfigMap/cm": undefined },
  );
  expect(story.go().needs).toEqual([{ kind: "ConfigMap", namespace: "ns", name: "cm" }]);
  expect(story.tasks()).toEqual([]);
  story.known.set("ConfigMap/cm", {
    metadata: { labels: { "workflows.argoproj.io/configmap-type": "Parameter" } },
    data: { k: "v" },
  });
  expect(story.go().needs).toEqual([]);
  expect(story.tasks()[0]?.template.inputs?.parameters).toMatchObject([{ name: "p", value: "v" }]);
});

test("after a restart open effects are repeated with the same ids", () => {
  const story = given(JOB);
  const before = story.effects.filter(({ type }) => type === "start-task").map(({ id }) => id);
  story.reload();
  expect(story.outstanding().map(({ id }) => id)).toEqual(before);
});

test("retries wait, and give up at the limit", () => {
  const story = given(`
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - name: main
    retryStrategy: {limit: 1, backoff: {duration: "10"}}
    container: {image: i, command: [x]}
`);
  const failed: Partial<TaskOutcome> = { phase: "Failed", message: "boom" };
  story.end("wf(0)", failed);
  expect(story.node("wf")).toMatchObject({ phase: "Running", message: "Backoff for 10 seconds" });
  const timer = story.effects.findLast((effect) => effect.type === "set-timer");
  expect(timer).toMatchObject({ at: START + 10_000 });
  story.now(5);
  story.tell({ type: "timer-fired", timer: timer?.id ?? "" });
  expect(story.tasks()).toHaveLength(1);
  story.now(10);
  story.tell({ type: "timer-fired", timer: timer?.id ?? "" });
  expect(story.tasks()).toHaveLength(2);
  story.end("wf(1)", failed);
  expect(story.status()).toMatchObject({ phase: "Failed", message: "No more retries left" });
});

test("a further attempt gets its place although others before it wait for that of a new child", () => {
  const story = given(`
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - name: main
    parallelism: 1
    dag:
      tasks:
      - {name: a-wait, template: gate}
      - {name: b-nested, template: nested, depends: a-wait}
      - {name: c-pod, template: work, depends: a-wait}
      - {name: d-flaky, template: flaky}
  - name: nested
    dag: {tasks: [{name: hold, template: gate}]}
  - {name: gate, suspend: {}}
  - name: flaky
    retryStrategy: {limit: 3, backoff: {duration: "10"}}
    container: {image: i, command: [x]}
  - {name: work, container: {image: i, command: [x]}}
`);
  const started = () => story.tasks().map(({ nodeName }) => nodeName);
  story.end("wf.d-flaky(0)", { phase: "Failed" });
  const timer = story.effects.find((effect) => effect.type === "set-timer");
  story.ask({ type: "resume", nodeFieldSelector: "displayName=a-wait" });
  expect(story.node("wf.b-nested.hold")?.phase).toBe("Running");
  expect(started()).toEqual(["wf.d-flaky(0)"]);
  story.now(10);
  story.tell({ type: "timer-fired", timer: timer?.id ?? "" });
  expect(started()).toEqual(["wf.d-flaky(0)", "wf.d-flaky(1)"]);
});

test("an estimate that came with the workflow is shown from its start on", () => {
  const { env } = given(JOB);
  const { metadata, spec } = parse(JOB) as Workflow;
  const state = createWorkflow({
    metadata: { namespace: "ns", uid: "u", ...metadata },
    spec,
    status: { startedAt: null, finishedAt: null, estimatedDuration: 12 },
  }, env());
  expect(viewWorkflow(state).status?.estimatedDuration).toBeUndefined();
  advance(state, env());
  expect(viewWorkflow(state).status).toMatchObject({ phase: "Running", estimatedDuration: 12 });
  const { put } = takeChanges(state);
  expect(viewWorkflow(loadWorkflow(partsByKey(put))).status?.estimatedDuration).toBe(12);
});

test("a group that has ended and came without outbound nodes shows none", () => {
  const { env } = given(JOB);
  const { metadata, spec } = parse(JOB) as Workflow;
  const ended = { phase: "Failed", startedAt: null, finishedAt: null } as const;
  const state = createWorkflow({
    metadata: { namespace: "ns", uid: "u", ...metadata },
    spec,
    status: {
      ...ended,
      nodes: {
        wf: { ...ended, id: "wf", name: "wf", displayName: "wf", type: "Steps", children: ["g"] },
        g: {
          ...ended,
          id: "g",
          name: "wf[0]",
          displayName: "[0]",
          type: "StepGroup",
          boundaryID: "wf",
          children: ["p"],
        },
        p: {
          ...ended,
          id: "p",
          name: "wf[0].a",
          displayName: "a",
          type: "Pod",
          boundaryID: "wf",
        },
      },
    },
  }, env());
  expect(viewWorkflow(state).status?.nodes?.["wf"]?.outboundNodes).toBeUndefined();
});

test("a timer that fires too early is set again, and nothing else happens", () => {
  const story = given(`
metadata: {name: wf}
spec:
  entrypoint: main
  activeDeadlineSeconds: 90
  templates:
  - {name: main, steps: [[{name: wait, template: gate}], [{name: work, template: work}]]}
  - {name: gate, suspend: {duration: "30"}}
  - {name: work, container: {image: i, command: [x]}}
`);
  const timers = story.effects.filter((effect) => effect.type === "set-timer");
  expect(timers.map(({ at }) => at).sort()).toEqual([START + 30_000, START + 90_000]);
  const before = JSON.stringify(story.view());
  story.now(29);
  for (const timer of timers) {
    const { put, effects } = story.tell({ type: "timer-fired", timer: timer.id });
    expect({ put, effects }).toEqual({ put: [], effects: [timer] });
  }
  expect(JSON.stringify(story.view())).toBe(before);
  story.now(30);
  for (const { id } of timers) story.tell({ type: "timer-fired", timer: id });
  expect(story.node("wf[0].wait")?.phase).toBe("Succeeded");
  expect(story.node("wf[1].work")?.phase).toBe("Pending");
  story.now(90);
  for (const { id } of timers) story.tell({ type: "timer-fired", timer: id });
  expect(story.status()?.phase).toBe("Failed");
});

test("a finished workflow deletes itself when its time is over", () => {
  const story = given(`
metadata: {name: wf}
spec:
  entrypoint: main
  ttlStrategy: {secondsAfterSuccess: 60}
  templates: [{name: main, container: {image: i, command: [x]}}]
`);
  story.end("wf");
  expect(story.effects).toContainEqual({ type: "set-timer", id: "ttl", at: START + 60_000 });
  story.now(59);
  expect(story.tell({ type: "timer-fired", timer: "ttl" }).effects).toEqual([
    { type: "set-timer", id: "ttl", at: START + 60_000 },
  ]);
  story.now(60);
  expect(story.tell({ type: "timer-fired", timer: "ttl" }).effects).toEqual([
    { type: "delete-workflow", id: "delete-workflow" },
  ]);
});

test("an output with a global name is stored together with the step that has it", () => {
  const story = given(`
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - {name: main, steps: [[{name: one, template: work}, {name: two, template: work}]]}
  - name: work
    container: {image: i, command: [x]}
    outputs: {parameters: [{name: result, globalName: shared, valueFrom: {path: /r}}]}
`);
  for (const [node, value] of [["wf[0].two", "late"], ["wf[0].one", "early"]] as const) {
    story.end(node, { outputs: { parameters: [{ name: "result", value, globalName: "shared" }] } });
    story.reload();
    // The step that was created last wins.
    expect(story.status()?.outputs?.parameters).toEqual([{ name: "shared", value: "late" }]);
  }
});

test("a task has no optional artifacts that nobody gave; its node shows them", () => {
  const story = given(`
metadata: {name: wf}
spec:
  entrypoint: work
  templates:
  - name: work
    inputs: {artifacts: [{name: may, path: /may, optional: true}, {name: raw, path: /raw, raw: {data: x}}]}
    container: {image: i, command: [x]}
`);
  const names = (artifacts: { name: string }[] | undefined) => artifacts?.map(({ name }) => name);
  expect(names(story.tasks()[0]?.template.inputs?.artifacts)).toEqual(["raw"]);
  expect(names(story.status()?.nodes?.["wf"]?.inputs?.artifacts)).toEqual(["may", "raw"]);
});

test.each([
  ["an empty URL", 'http: {url: ""}', []],
  ["an empty key", 's3: {key: "{{workflow.parameters.none}}"}', []],
  ["a key", 's3: {key: "a{{workflow.parameters.none}}"}', ["may"]],
  ["a URL", 'http: {url: "http://h/x"}', ["may"]],
])("a task has an optional artifact only if its location names a place: %s", (_, where, there) => {
  const story = given(`
metadata: {name: wf}
spec:
  entrypoint: work
  arguments: {parameters: [{name: none, value: ""}]}
  templates:
  - name: work
    inputs: {artifacts: [{name: may, path: /may, optional: true, ${where}}]}
    container: {image: i, command: [x]}
`);
  expect(story.tasks()[0]?.template.inputs?.artifacts?.map(({ name }) => name)).toEqual(there);
});

test("a global output that is written again keeps its place", () => {
  const story = given(`
metadata: {name: wf}
spec:
  entrypoint: main
  templates:
  - {name: main, steps: [[{name: one, template: x}], [{name: two, template: y}], [{name: three, template: x}]]}
  - name: x
    container: {image: i, command: [x]}
    outputs: {parameters: [{name: o, globalName: x, valueFrom: {path: /o}}]}
  - name: y
    container: {image: i, command: [x]}
    outputs: {parameters: [{name: o, globalName: y, valueFrom: {path: /o}}]}
`);
  for (const [node, globalName] of [["[0].one", "x"], ["[1].two", "y"], ["[2].three", "x"]]) {
    story.end(`wf${node}`, {
      outputs: { parameters: [{ name: "o", value: `${node}`, globalName: `${globalName}` }] },
    });
  }
  expect(story.status()?.outputs?.parameters).toEqual([
    { name: "x", value: "[2].three" },
    { name: "y", value: "[1].two" },
  ]);
});

test("a resubmission leaves out what belongs to the old run", () => {
  const story = given(JOB);
  story.ask({ type: "terminate" });
  const prefix = "workflows.argoproj.io/";
  const { metadata, ...rest } = story.view();
  expect(metadata.labels).toMatchObject({ [`${prefix}phase`]: "Failed" });
  const labels = {
    ...metadata.labels,
    [`${prefix}creator`]: "me",
    [`${prefix}creator-email`]: "me.at.home",
    [`${prefix}action`]: "Terminate",
    [`${prefix}workflow-archiving-status`]: "Archived",
    [`${prefix}workflow-template`]: "job",
    creator: "a label of the user's",
  };
  const old = {
    ...rest,
    kind: "Workflow",
    metadata: { ...metadata, labels, annotations: { a: "b" } },
  };
  const copy = runToEnd(resubmitSteps(old, { parameters: ["a=1"] }, story.env()));
  expect(copy.status).toBeUndefined();
  expect(copy.spec.shutdown).toBeUndefined();
  expect(copy.kind).toBe("Workflow");
  expect(copy.metadata).toEqual({
    namespace: "ns",
    generateName: "wf-",
    annotations: { a: "b" },
    labels: {
      [`${prefix}workflow-template`]: "job",
      creator: "a label of the user's",
      [`${prefix}resubmitted-from-workflow`]: "wf",
    },
  });
  expect(copy.spec.arguments?.parameters).toEqual([{ name: "a", value: "1" }]);
});

test("a workflow that could not be carried out does not quote a long value as a whole", () => {
  const story = given(`
metadata: {name: wf}
spec:
  entrypoint: main
  arguments: {parameters: [{name: list, value: "${"x".repeat(100_000)}"}]}
  templates:
  - name: main
    steps:
    - - {name: each, template: gate, withParam: "{{workflow.parameters.list}}"}
  - {name: gate, suspend: {}}
`);
  const { phase, message = "", nodes = {} } = story.status() ?? {};
  expect(phase).toBe("Failed");
  expect(Object.values(nodes).some((node) => node.message?.includes("left out"))).toBe(true);
  for (const text of [message, ...Object.values(nodes).map((node) => node.message ?? "")]) {
    expect(text.length).toBeLessThanOrEqual(16_384);
  }
});
