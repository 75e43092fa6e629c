/** What happened, in sentences. */
import { describe, expect, test } from "vitest";
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import { causesOf, storyOf } from "./story.ts";
import { waitingSteps, wakesAt } from "./waits.ts";

const START = "2026-01-01T10:00:00Z";
const END = "2026-01-01T10:00:30Z";
const NOW = Date.parse("2026-01-01T10:02:05Z");

type NodeInput = Partial<NodeStatus> & Pick<NodeStatus, "id" | "type" | "phase">;

function workflowOf(
  phase: "Running" | "Succeeded" | "Failed" | "Error",
  nodes: NodeInput[],
  more: Partial<Workflow["spec"]> = {},
  message?: string,
): Workflow {
  const isOver = phase !== "Running";
  const all = nodes.map((node): [string, NodeStatus] => [node.id, {
    name: node.id,
    displayName: node.id,
    boundaryID: node.id === "w" ? "" : "w",
    startedAt: START,
    finishedAt: node.phase === "Running" ? null : END,
    ...node,
  }]);
  return {
    metadata: { name: "w", namespace: "n" },
    spec: { templates: [], ...more } as Workflow["spec"],
    status: {
      phase,
      startedAt: START,
      finishedAt: isOver ? END : null,
      nodes: Object.fromEntries(all),
      ...(message !== undefined && { message }),
    },
  };
}

test("a group of steps that could not begin is named by its number and its template", () => {
  const workflow = workflowOf("Failed", [
    { id: "w", type: "Steps", phase: "Failed", children: ["g"] },
    { id: "g", displayName: "[0]", type: "StepGroup", phase: "Error", message: "no value" },
  ]);
  expect(storyOf(workflow, NOW)[0]?.text).toBe(
    "Group [0] of the steps of “w” could not be run.",
  );
});

describe("a failure", () => {
  const broken = workflowOf(
    "Failed",
    [
      { id: "w", type: "Steps", phase: "Failed", children: ["r"] },
      { id: "r", type: "Retry", phase: "Failed", children: ["a0", "a1"], templateName: "t" },
      { id: "a0", type: "Pod", phase: "Failed", outputs: { exitCode: "3" } },
      {
        id: "a1",
        type: "Pod",
        phase: "Failed",
        outputs: { exitCode: "3" },
        message: "main: Error (exit code 3)",
      },
      { id: "later", type: "Skipped", phase: "Omitted" },
    ],
    { templates: [{ name: "t", retryStrategy: { limit: 1 } }] },
    "child 'r' failed",
  );

  test("names the step, its exit code, the attempts and the rule, and not the child that failed", () => {
    const [first, last, ...none] = storyOf(broken, NOW);
    expect(first).toMatchObject({
      kind: "failure",
      text: "Step “r” failed with exit code 3.",
      hasLog: true,
      more: [
        "It was tried 2 times; its retry strategy allows 1 retry.",
        "Nothing lets “w” continue after a failure (no continueOn), so it ended.",
      ],
    });
    expect(first?.node?.id).toBe("a1");
    expect(last).toMatchObject({
      text: "The workflow failed after 30 s.",
      more: ["1 step was not run."],
    });
    expect(none).toEqual([]);
  });

  test("of a task says what its DAG does about it", () => {
    const dag = (failFast?: boolean) =>
      storyOf(
        workflowOf("Failed", [
          { id: "w", type: "DAG", phase: "Failed", children: ["a"], templateName: "d" },
          { id: "a", type: "Pod", phase: "Failed", message: "out of memory" },
        ], {
          templates: [{
            name: "d",
            dag: { tasks: [], ...(failFast !== undefined && { failFast }) },
          }],
        }),
        NOW,
      )[0]?.more;
    expect(dag()).toEqual([
      "out of memory",
      "“w” fails when one of its branches fails (failFast).",
    ]);
    expect(dag(false)?.[1]).toMatch(/finished its other branches/);
  });

  test("without a failed step is told in the workflow's own words", () => {
    const stopped = workflowOf("Failed", [], {}, "Stopped with strategy 'Stop'");
    expect(storyOf(stopped, NOW)).toEqual([{
      kind: "failure",
      text: "The workflow failed after 30 s.",
      more: ["Stopped with strategy 'Stop'"],
    }]);
  });

  describe("after which the group around it went on", () => {
    const continued = (phase: "Running" | "Succeeded" | "Failed", inner: "Succeeded" | "Failed") =>
      workflowOf(phase, [
        { id: "w", type: "Steps", phase, templateName: "s" },
        { id: "w[0].lax", type: "Pod", phase: "Failed", displayName: "lax" },
        { id: "w[1].dag", type: "DAG", phase: inner, displayName: "dag", templateName: "d" },
        {
          id: "w[1].dag.b",
          type: "Pod",
          phase: "Failed",
          displayName: "b",
          boundaryID: "w[1].dag",
          finishedAt: "2026-01-01T10:00:31Z",
        },
      ], {
        templates: [{
          name: "s",
          steps: [[{ name: "lax", template: "t", continueOn: { failed: true } }], [{
            name: "dag",
            template: "d",
          }]],
        }, { name: "d", dag: { tasks: [{ name: "b", template: "t" }] } }],
      });

    test("is told after the one that was fatal, and is no cause", () => {
      const workflow = continued("Failed", "Failed");
      expect(causesOf(workflow).map(({ id }) => id)).toEqual(["w[1].dag.b"]);
      expect(storyOf(workflow, NOW)).toMatchObject([
        { kind: "failure", text: "Step “b” in “dag” failed." },
        { kind: "note", text: "Step “lax” failed.", more: ["“w” went on all the same."] },
        { text: "The workflow failed after 30 s." },
      ]);
    });

    test("is counted when the workflow succeeds, also where something depends on the failure", () => {
      const workflow = continued("Succeeded", "Succeeded");
      expect(causesOf(workflow)).toEqual([]);
      expect(storyOf(workflow, NOW)[0]?.more).toEqual([
        "2 steps failed, and the workflow went on all the same.",
      ]);
    });
  });

  test("of the exit handler is not of the whole workflow", () => {
    const workflow = workflowOf("Failed", [
      { id: "w", type: "Pod", phase: "Succeeded" },
      { id: "w.onExit", type: "Pod", phase: "Failed", boundaryID: "" },
    ]);
    expect(storyOf(workflow, NOW)[0]?.more).toEqual([
      "It was the exit handler: if that fails, the workflow fails.",
    ]);
  });

  test("that a later attempt made good is no cause", () => {
    const good = workflowOf("Running", [
      { id: "r", type: "Retry", phase: "Succeeded", children: ["a0", "a1"] },
      { id: "a0", type: "Pod", phase: "Failed" },
      { id: "a1", type: "Pod", phase: "Succeeded" },
    ]);
    expect(causesOf(good)).toEqual([]);
  });
});

describe("a wait", () => {
  const waiting = (suspend: { duration?: string }) =>
    workflowOf("Running", [
      { id: "w", type: "Steps", phase: "Running", children: ["s"] },
      { id: "s", type: "Suspend", phase: "Running", templateName: "t" },
    ], { templates: [{ name: "t", suspend }] });

  test("for a call says since when, and that somebody must call", () => {
    expect(storyOf(waiting({}), NOW)[0]).toMatchObject({
      kind: "wait",
      isCall: true,
      text:
        "Step “s” has been waiting for a call for 2 min 5 s. It goes on when somebody resumes it.",
    });
  });

  test("of a loop's items that began together comes in the order of the loop", () => {
    const items = [10, 2, 0, 1].map((at) => ({
      id: `h${(at * 7) % 11}`,
      displayName: `each(${at}:${at})`,
      type: "Suspend" as const,
      phase: "Running" as const,
    }));
    const workflow = workflowOf("Running", [
      { id: "w", type: "Steps", phase: "Running", children: items.map(({ id }) => id) },
      ...items,
    ], { templates: [] });
    expect(waitingSteps(workflow).map(({ displayName }) => displayName))
      .toEqual(["each(0:0)", "each(1:1)", "each(2:2)", "each(10:10)"]);
  });

  test("for a time says how long it still lasts", () => {
    const workflow = waiting({ duration: "5m" });
    const [step] = Object.values(workflow.status?.nodes ?? {}).filter(({ id }) => id === "s");
    expect(step && wakesAt(workflow, step)).toBe(Date.parse(START) + 300_000);
    expect(storyOf(workflow, NOW)[0]?.text).toContain("It goes on by itself in 2 min 55 s");
  });

  test("for a lock names the lock", () => {
    const workflow = workflowOf("Running", [{
      id: "a",
      type: "Pod",
      phase: "Pending",
      finishedAt: null,
      synchronizationStatus: { waiting: "n/Mutex/db" },
    }]);
    expect(storyOf(workflow, NOW)).toMatchObject([{
      text: "Step “a” has been waiting for the lock n/Mutex/db for 2 min 5 s.",
      lock: "n/Mutex/db",
    }]);
    const status = {
      phase: "Pending",
      message: "Waiting for n/Mutex/db lock. Lock status: 0/1",
      synchronization: { mutex: { waiting: [{ mutex: "n/Mutex/db", holder: "n/other" }] } },
    } as unknown as NonNullable<Workflow["status"]>;
    expect(storyOf({ ...workflow, status }, NOW)).toMatchObject([{
      text: "It has not started yet.",
      more: ["Waiting for n/Mutex/db lock. Lock status: 0/1"],
      lock: "n/Mutex/db",
    }]);
  });

  test("of several steps with one name says what each is part of, and what it got", () => {
    const workflow = workflowOf("Running", [
      { id: "w", type: "DAG", phase: "Running" },
      ...["eu", "us"].flatMap((item): NodeInput[] => [
        { id: item, displayName: `outer(0:${item})`, type: "Steps", phase: "Running" },
        {
          id: `${item}-ask`,
          displayName: "ask",
          boundaryID: item,
          type: "Suspend",
          phase: "Running",
          inputs: { parameters: [{ name: "uuid", value: `job-${item}` }] },
        },
      ]),
    ]);
    expect(storyOf(workflow, NOW)).toMatchObject(["eu", "us"].map((item) => ({
      text: expect.stringMatching(`^Step “ask” in “outer\\(0:${item}\\)” has been waiting`),
      more: [`uuid: job-${item}`],
    })));
  });

  test("for a time that a parameter gives is known, and so is the timeout of a callback", () => {
    const workflow = workflowOf("Running", [{
      id: "s",
      type: "Suspend",
      phase: "Running",
      templateName: "t",
      inputs: { parameters: [{ name: "pause", value: "5m" }] },
    }], { templates: [{ name: "t", suspend: { duration: "{{inputs.parameters.pause}}" } }] });
    expect(storyOf(workflow, NOW)[0]?.text).toContain("It goes on by itself in 2 min 55 s");
    workflow.spec.templates = [{ name: "t", suspend: { callback: {} }, timeout: "1h" }];
    expect(storyOf({ ...workflow }, NOW)[0]?.more).toContain(
      "It fails if neither a callback nor a heartbeat comes within 1h (timeout).",
    );
  });

  test("for a further attempt says when it comes", () => {
    const workflow = workflowOf("Running", [
      {
        id: "w",
        type: "Retry",
        phase: "Running",
        children: ["w0"],
        message: "Backoff for 10 minutes 0 seconds",
      },
      { id: "w0", type: "Pod", phase: "Failed", boundaryID: "" },
    ]);
    expect(storyOf(workflow, NOW)[0]?.text).toBe("Step “w” will be tried again in 8 min 25 s.");
  });
});

test("a run says what runs, a success how long it took, and a missing member hurts nobody", () => {
  const running = workflowOf("Running", [
    { id: "a", type: "Pod", phase: "Running" },
    { id: "b", type: "Pod", phase: "Pending", message: "Unschedulable" },
  ]);
  expect(storyOf(running, NOW)).toMatchObject([{
    kind: "running",
    text: "Running for 2 min 5 s: “a”, “b”.",
    more: ["Unschedulable"],
  }]);
  const done = workflowOf("Succeeded", [{ id: "a", type: "Pod", phase: "Succeeded" }]);
  expect(storyOf(done, NOW)[0]?.text).toBe("Succeeded after 30 s: 1 step done.");
  const bare = { metadata: {}, spec: {} } as Workflow;
  expect(storyOf(bare, NOW)[0]?.text).toBe("It has not started yet.");
});

test("a run says what lets no further steps begin, and when its deadline comes", () => {
  const workflow = workflowOf("Running", [
    { id: "w", type: "Steps", phase: "Running", templateName: "t" },
    { id: "a", type: "Pod", phase: "Running" },
    { id: "b", type: "Pod", phase: "Running" },
  ], {
    parallelism: 2,
    activeDeadlineSeconds: 300,
    templates: [{ name: "t", parallelism: 2, steps: [] }],
  });
  expect(storyOf(workflow, NOW)).toMatchObject([{
    more: [
      "No further step starts for now: at most 2 steps may run at a time (parallelism of the workflow).",
      "“w” starts no further step for now: at most 2 steps of it may run at a time (parallelism).",
    ],
  }, {
    text:
      "If it has not ended in 2 min 55 s, the workflow is stopped and fails (activeDeadlineSeconds).",
  }]);
  workflow.spec.parallelism = 3;
  expect(storyOf({ ...workflow }, NOW)[0]?.more).toHaveLength(1);
});

test("a workflow that is stopped while it is suspended says when it ends", () => {
  const first = (spec: Partial<Workflow["spec"]>) =>
    storyOf(workflowOf("Running", [], spec), NOW)[0]?.text;
  expect(first({ suspend: true })).toBe(
    "Suspended: no further steps start until somebody resumes it.",
  );
  expect(first({ suspend: true, shutdown: "Stop" })).toBe(
    "Stopped while it is suspended: it ends when somebody resumes it.",
  );
});

describe("the template of a step is found where the engine found it", () => {
  const gate = (duration?: string) => ({ suspend: duration === undefined ? {} : { duration } });
  // As the service shows such a workflow.
  const nodes: NodeInput[] = [
    { id: "w", type: "Steps", phase: "Running", templateName: "main", templateScope: "local/w" },
    { id: "own", name: "w[0].own", type: "Suspend", phase: "Running", templateName: "gate" },
    {
      id: "ref",
      name: "w[0].ref",
      type: "Suspend",
      phase: "Running",
      templateRef: { name: "lib", template: "gate" },
      templateScope: "local/w",
    },
    {
      id: "deep",
      name: "w[0].deep",
      type: "Steps",
      phase: "Running",
      templateRef: { name: "lib", template: "flow" },
      templateScope: "local/w",
    },
    {
      id: "deep-a",
      name: "w[0].deep[0].a",
      boundaryID: "deep",
      type: "Suspend",
      phase: "Running",
      templateName: "gate",
      templateScope: "namespaced/lib",
    },
    {
      id: "deep-b",
      name: "w[0].deep[1].b",
      boundaryID: "deep",
      type: "Suspend",
      phase: "Running",
      templateScope: "namespaced/lib",
    },
    { id: "in", name: "w[0].in", type: "Suspend", phase: "Running", templateScope: "local/w" },
    {
      id: "item",
      name: "w[0].loop(1:x.y)(0)",
      type: "Suspend",
      phase: "Running",
      templateScope: "local/w",
    },
  ];
  const templates = [
    { name: "gate", ...gate() },
    {
      name: "main",
      steps: [[
        { name: "own", template: "gate" },
        { name: "in", inline: gate("2h") },
        { name: "loop", inline: gate("4h"), withItems: ["a", "x.y"] },
      ]],
    },
  ];
  const hours = (workflow: Workflow) =>
    Object.fromEntries(
      waitingSteps(workflow).map((node) => {
        const at = wakesAt(workflow, node);
        return [node.id, at === undefined ? undefined : (at - Date.parse(START)) / 3_600_000];
      }),
    );

  test("by its reference, where its parent came from, or in its step", () => {
    const workflow = workflowOf("Running", nodes, { templates });
    const storedTemplates = {
      "namespaced/lib/gate": { name: "gate", ...gate("1h") },
      "namespaced/lib/flow": { name: "flow", steps: [[{ name: "a", template: "gate" }]] },
      "namespaced/lib/inline/b": gate("3h"),
    };
    Object.assign(workflow.status ?? {}, { storedTemplates });
    expect(hours(workflow)).toEqual({
      own: undefined,
      ref: 1,
      "deep-a": 1,
      "deep-b": 3,
      in: 2,
      item: 4,
    });
  });

  test("in the template of the whole workflow, and with the defaults of templates", () => {
    const only = nodes.filter(({ id }) => ["w", "own", "in"].includes(id));
    const workflow = workflowOf("Running", only, { templates: [] });
    const templateDefaults = { suspend: { duration: "9h" } };
    Object.assign(workflow.status ?? {}, {
      storedWorkflowTemplateSpec: { templates, templateDefaults },
    });
    expect(hours(workflow)).toEqual({ own: 9, in: 2 });
  });
});
