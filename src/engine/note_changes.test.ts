import { partsByKey } from "../base/part_text.ts";
import { expect, test } from "vitest";
import type { Workflow, WorkflowSpec } from "../spec/manifest.ts";
import { accept } from "./accept.ts";
import { advance } from "./advance.ts";
import { loadWorkflow, takeChanges } from "./codec.ts";
import { createWorkflow } from "./create.ts";
import type { EngineEnv } from "./engine.ts";
import { putAside } from "./life/put_aside.ts";
import type { Notice } from "./notice.ts";
import { control } from "./orders/control.ts";
import type { WorkflowState } from "./state.ts";

const NOW = Date.UTC(2026, 0, 1);
const ENV: EngineEnv = {
  now: NOW,
  randomSuffix: (length) => "x".repeat(length),
  findManifest: () => null,
  labelPrefix: "workflows.argoproj.io/",
  apiGroup: "argoproj.io",
  areChangesNoted: true,
};

const SPEC: WorkflowSpec = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "who", value: "world" }] },
  templates: [
    {
      name: "main",
      steps: [[{
        name: "ask",
        template: "ask",
        arguments: { parameters: [{ name: "text", value: "hello {{workflow.parameters.who}}" }] },
      }], [{ name: "work", template: "work" }]],
    },
    { name: "ask", inputs: { parameters: [{ name: "text" }] }, suspend: {} },
    { name: "work", retryStrategy: { limit: 1 }, container: { image: "i", command: ["c"] } },
  ],
};

function workflow(spec: WorkflowSpec = SPEC): Workflow {
  return { metadata: { name: "wf", namespace: "n", uid: "u", labels: { team: "a" } }, spec };
}

/** Notices and started tasks since the last call, also of a state that was stored and loaded in between. */
function go(state: WorkflowState, env = ENV) {
  advance(state, env);
  const { effects } = takeChanges(state);
  const notices = effects.flatMap((one) => one.type === "notice" ? [one.notice] : []);
  const tasks = effects.flatMap((one) => one.type === "start-task" ? [one.task.id] : []);
  return { notices, tasks, told: notices.map(textOf) };
}

function textOf({ change, node }: Notice): string {
  return node === undefined ? change : `${change} ${node.displayName}`;
}

test("each change is noted once: the beginning, a step that waits, a step that failed, the end", () => {
  const state = createWorkflow(workflow(), ENV);
  const first = go(state);
  expect(first.told).toEqual(["Started", "Suspended ask"]);
  expect(first.notices[1]).toMatchObject({
    at: NOW,
    workflow: { namespace: "n", name: "wf", uid: "u", labels: { team: "a" }, phase: "Running" },
    node: { phase: "Running", type: "Suspend", inputs: { text: "hello world" } },
  });
  expect(go(state).told).toEqual([]);
  control(state, { type: "resume" }, ENV);
  const second = go(state);
  expect(second.told).toEqual([]);
  const ends = (task: string) =>
    accept(state, {
      type: "task-ended",
      task,
      outcome: { phase: "Failed", message: "exit 3" },
    }, ENV);
  ends(second.tasks[0] ?? "");
  const third = go(state);
  // The attempt is no step of its own.
  expect(third.told).toEqual([]);
  ends(third.tasks[0] ?? "");
  const last = go(state);
  expect(last.told).toEqual(["NodeFailed work", "Failed"]);
  expect(last.notices[1]?.workflow).toMatchObject({
    phase: "Failed",
    finishedAt: expect.any(String),
  });
  expect(go(state).told).toEqual([]);
});

test("a workflow that was stored and loaded notes nothing anew", () => {
  const state = createWorkflow(workflow(), ENV);
  advance(state, ENV);
  const put = partsByKey(takeChanges(state).put);
  expect(go(loadWorkflow(put)).told).toEqual([]);
});

test("without subscribers nothing is noted", () => {
  const { areChangesNoted: _, ...env } = ENV;
  expect(go(createWorkflow(workflow(), env), env).told).toEqual([]);
});

test("long values are cut, and a notice says so", () => {
  const long = "x".repeat(5_000);
  const state = createWorkflow(
    workflow({ ...SPEC, arguments: { parameters: [{ name: "who", value: long }] } }),
    ENV,
  );
  const [, waits] = go(state).notices;
  expect(waits?.node?.inputs?.["text"]).toHaveLength(4_096);
  expect(waits?.node?.isCut).toBe(true);
});

test("a workflow that is put aside has failed", () => {
  const state = createWorkflow(workflow(), ENV);
  advance(state, ENV);
  const put = partsByKey(takeChanges(state).put);
  const known = { namespace: "n", name: "wf", now: NOW, labelPrefix: ENV.labelPrefix };
  const noted = putAside(put, "damaged", { ...known, areChangesNoted: true }).effects;
  expect(noted.filter(({ type }) => type === "notice")).toMatchObject([{
    notice: { change: "Failed", workflow: { name: "wf", phase: "Error", labels: { team: "a" } } },
  }]);
  expect(putAside(put, "damaged", known).effects.some(({ type }) => type === "notice")).toBe(false);
});

test("thousands of changes at once are all told, some in each turn", () => {
  const state = createWorkflow(
    workflow({
      entrypoint: "main",
      templates: [
        { name: "main", steps: [[{ name: "a", template: "w", withSequence: { count: "2000" } }]] },
        { name: "w", suspend: {} },
      ],
    }),
    ENV,
  );
  const toEnd = () => {
    const told: string[] = [];
    for (let isFirst = true; isFirst || state.header.isCut === true; isFirst = false) {
      const turn = go(state).told;
      expect(turn.length).toBeLessThan(300);
      told.push(...turn);
    }
    return new Set(told).size;
  };
  expect(toEnd()).toBe(1 + 2_000);
  control(state, { type: "stop" }, ENV);
  expect(toEnd()).toBe(2_000 + 1);
});
