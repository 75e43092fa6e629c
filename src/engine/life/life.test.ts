import { partsByKey } from "../../base/part_text.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ProblemCode } from "../../base/problem.ts";
import type { Workflow, WorkflowSpec, WorkflowStatus } from "../../spec/manifest.ts";
import { accept } from "../accept.ts";
import { advance } from "../advance.ts";
import { loadWorkflow, takeChanges } from "../codec.ts";
import type { ControlRequest } from "../command.ts";
import { control } from "../orders/control.ts";
import { createWorkflow } from "../create.ts";
import type { EngineEnv } from "../engine.ts";
import type { WorkflowState } from "../state.ts";
import { adoptedLife, ASIDE, stateAfter } from "./life.ts";
import { LIFE, LIFE_STATES, type LifeState } from "./statechart.ts";

const ENV: EngineEnv = {
  now: 1_000,
  labelPrefix: "workflows.argoproj.io/",
  apiGroup: "argoproj.io",
  randomSuffix: (length) => "x".repeat(length),
  findManifest: () => null,
};

/** A task, then a step that waits; an exit handler. */
const SPEC: WorkflowSpec = {
  entrypoint: "main",
  onExit: "work",
  templates: [
    {
      name: "main",
      steps: [[{ name: "a", template: "work" }], [
        { name: "b", template: "wait" },
        { name: "c", template: "wait" },
      ]],
    },
    { name: "work", container: { image: "i", command: ["c"] } },
    { name: "wait", suspend: {} },
  ],
};

function create(spec: Partial<WorkflowSpec> = {}, status?: WorkflowStatus): WorkflowState {
  const workflow: Workflow = {
    metadata: { name: "wf", namespace: "ns", uid: "u", creationTimestamp: "1970-01-01T00:00:00Z" },
    spec: { ...SPEC, ...spec },
    ...(status === undefined ? {} : { status }),
  };
  return createWorkflow(workflow, ENV);
}

/** Ends the tasks that have been started. */
function endTasks(state: WorkflowState, phase: "Succeeded" | "Failed"): void {
  for (const [id, { type, starts, finishedAt }] of state.nodes) {
    if (type !== "Pod" || starts === undefined || finishedAt !== undefined) continue;
    accept(state, { type: "task-ended", task: `u/${id}/${starts}`, outcome: { phase } }, ENV);
  }
}

/** The state of life must be the one that spec, phase and end imply. */
function expectAgreement({ header, specs: { spec } }: WorkflowState): void {
  const { machine, phase, finishedAt } = header;
  expect(LIFE.states[machine].meta.phases).toContain(phase);
  const hasEnded = ["succeeded", "failed", "error", "aside"].includes(machine);
  expect(hasEnded).toBe(finishedAt !== undefined);
  if (hasEnded) return;
  expect(machine === "terminating").toBe(spec.shutdown === "Terminate");
  expect(machine === "stopping").toBe(spec.shutdown === "Stop");
  if (spec.suspend === true && spec.shutdown === undefined) expect(machine).toBe("suspended");
}

const REQUESTS: readonly ControlRequest[] = [
  { type: "suspend" },
  { type: "resume" },
  { type: "resume", onlyWorkflow: true },
  { type: "resume", nodeFieldSelector: "displayName=b" },
  { type: "stop" },
  { type: "stop", nodeFieldSelector: "displayName=c" },
  { type: "terminate" },
  { type: "retry" },
  { type: "retry", restartSuccessful: true, nodeFieldSelector: "displayName=a" },
  { type: "set", nodeFieldSelector: "displayName=b", phase: "Failed" },
];

type Deed = ControlRequest | "advance" | "reload" | "Succeeded" | "Failed";

/** Lives that end. */
const WHOLE: [boolean, Deed[]][] = [
  [false, [
    "advance",
    "Succeeded",
    "advance",
    { type: "resume" },
    "advance",
    "Succeeded",
    "advance",
  ]],
  [true, [{ type: "resume" }, "advance", { type: "terminate" }, "advance", { type: "retry" }]],
];

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...REQUESTS) },
  { weight: 3, arbitrary: fc.constant("advance" as const) },
  { weight: 1, arbitrary: fc.constantFrom("Succeeded" as const, "Failed" as const) },
  { weight: 1, arbitrary: fc.constant("reload" as const) },
);

test("the state of life, the phase and the spec agree whatever is asked, also many things before the workflow goes on", () => {
  const seen = new Set<LifeState>();
  fc.assert(
    fc.property(fc.boolean(), fc.array(deed, { maxLength: 30 }), (isHeld, deeds) => {
      let state = create(isHeld ? { suspend: true } : {});
      let parts = partsByKey(takeChanges(state).put);
      for (const one of deeds) {
        if (one === "advance") advance(state, ENV);
        else if (one === "reload") {
          const changes = takeChanges(state);
          parts = { ...parts, ...partsByKey(changes.put) };
          for (const key of changes.drop) delete parts[key];
          const { machine } = state.header;
          state = loadWorkflow(parts);
          expect(state.header.machine).toBe(machine);
        } else if (typeof one === "string") endTasks(state, one);
        else {
          try {
            control(state, one, ENV);
          } catch {
            // Refused.
          }
        }
        seen.add(state.header.machine);
        expectAgreement(state);
      }
    }),
    { examples: WHOLE },
  );
  expect(LIFE_STATES.filter((life) => !seen.has(life))).toEqual(["error", "aside"]);
});

test("a workflow is suspended while nothing is under way but steps that wait", () => {
  const state = create();
  advance(state, ENV);
  expect(state.header.machine).toBe("running");
  endTasks(state, "Succeeded");
  advance(state, ENV);
  expect(state.header).toMatchObject({ machine: "suspended", phase: "Running" });
  control(state, { type: "resume", nodeFieldSelector: "displayName=b" }, ENV);
  advance(state, ENV);
  expect(state.header.machine).toBe("suspended");
  control(state, { type: "resume" }, ENV);
  advance(state, ENV);
  // The exit handler is under way.
  expect(state.header).toMatchObject({ machine: "running", phase: "Running" });
  endTasks(state, "Succeeded");
  advance(state, ENV);
  expect(state.header).toMatchObject({ machine: "succeeded", phase: "Succeeded" });
});

test("the last of a stop and a termination counts, also when both come before the workflow goes on", () => {
  const state = create();
  advance(state, ENV);
  control(state, { type: "terminate" }, ENV);
  control(state, { type: "stop" }, ENV);
  expect(state.header.machine).toBe("stopping");
  advance(state, ENV);
  // The exit handler survives a stop.
  expect(state.header.machine).toBe("stopping");
  endTasks(state, "Succeeded");
  advance(state, ENV);
  expect(state.header).toMatchObject({
    machine: "failed",
    phase: "Failed",
    message: "Stopped with strategy 'Stop'",
  });
});

test("locks of its own make a workflow wait, also an imported one that runs", () => {
  const spec = { synchronization: { mutexes: [{ name: "m" }] } };
  for (
    const state of [
      create(spec),
      create(spec, { phase: "Running", startedAt: null, finishedAt: null }),
    ]
  ) {
    advance(state, ENV);
    expect(state.header).toMatchObject({ machine: "pending", phase: "Pending" });
  }
});

test("an imported workflow that shows how it ended, but not when, goes on", () => {
  const state = create({}, { phase: "Failed", startedAt: null, finishedAt: null });
  expect(state.header.machine).toBe("failed");
  advance(state, ENV);
  expect(state.header).toMatchObject({ machine: "running", phase: "Running" });
});

describe("a stored state is taken over where it fits the phase, else it follows from phase and spec", () => {
  test.each<[LifeState, Parameters<typeof adoptedLife>[0], Partial<WorkflowSpec>?]>([
    ["running", { phase: "Running", machine: "running" }],
    ["suspended", { phase: "Running", machine: "suspended" }],
    ["pending", { phase: "" }],
    ["pending", { phase: "Pending", machine: 7 }],
    ["running", { phase: "Running", machine: "pending" }],
    ["running", { phase: "Running", machine: { running: "waiting" } }],
    ["failed", { phase: "Failed", machine: "running" }],
    ["succeeded", { phase: "Succeeded" }],
    ["error", { phase: "Error", machine: "gone" }],
    ["aside", { phase: "Error", machine: "error", isAside: true }],
    ["suspended", { phase: "" }, { suspend: true }],
    ["stopping", { phase: "Running" }, { suspend: true, shutdown: "Stop" }],
    ["terminating", { phase: "Pending" }, { shutdown: "Terminate" }],
  ])("%s: %j %j", (life, header, spec = {}) => {
    expect(adoptedLife(header, { spec })).toBe(life);
  });
});

test("what is put aside shows a phase that its state allows, and tells why it takes nothing", () => {
  expect(LIFE.states[ASIDE.machine].meta.phases).toContain(ASIDE.phase);
  const state = create();
  Object.assign(state.header, ASIDE, { message: "put aside: too deep" });
  expect(() => stateAfter(state, { type: "retry" }, ENV)).toThrow(expect.objectContaining({
    code: ProblemCode.FailedPrecondition,
    message: 'workflows.argoproj.io "wf" was put aside: too deep; delete it, or submit it again',
  }));
});

test("a refusal says which workflow is meant", () => {
  const state = create();
  state.header.metadata.labels = { "workflows.argoproj.io/completed": "true" };
  expect(() => control(state, { type: "terminate" }, ENV)).toThrow(expect.objectContaining({
    code: ProblemCode.FailedPrecondition,
    message: 'cannot shutdown a completed workflow: workflow: "wf", namespace: "ns"',
  }));
  expect(() => control(state, { type: "retry" }, ENV)).toThrow(expect.objectContaining({
    code: ProblemCode.InvalidArgument,
    message: "Cannot retry a workflow in phase ",
  }));
});
