import { expect, test } from "vitest";
import { ENGINE_ENV } from "../../test/support/engine_env.ts";
import type { Template } from "../spec/manifest.ts";
import { accept } from "./accept.ts";
import { advance } from "./advance.ts";
import { takeChanges } from "./codec.ts";
import { createWorkflow } from "./create.ts";
import { control } from "./orders/control.ts";
import { pastOf, PastStarts, recallPast, startsBefore } from "./past.ts";
import type { WorkflowState } from "./state.ts";
import { viewWorkflow } from "./view.ts";
import { runToEnd } from "../base/steps.ts";
import { prepareRetry } from "./orders/manual_retry.ts";

const UID = "u";
const RETRY = { type: "retry" } as const;

function submitted(template: Omit<Template, "name">): WorkflowState {
  return createWorkflow({
    metadata: { name: "wf", namespace: "ns", uid: UID, creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: { entrypoint: "main", arguments: {}, templates: [{ name: "main", ...template }] },
  }, ENGINE_ENV);
}

/** Ids of the tasks that begin now. */
function begun(state: WorkflowState): string[] {
  advance(state, ENGINE_ENV);
  return takeChanges(state).effects.flatMap((effect) =>
    effect.type === "start-task" ? [effect.task.id] : []
  );
}

function fail(state: WorkflowState, task: string): void {
  accept(
    state,
    { type: "task-ended", task, outcome: { phase: "Failed", message: "no" } },
    ENGINE_ENV,
  );
  advance(state, ENGINE_ENV);
  takeChanges(state);
}

function retry(state: WorkflowState): void {
  control(state, RETRY, ENGINE_ENV, runToEnd(prepareRetry(state, RETRY)));
}

/** As it comes back from an archive. */
function restored(state: WorkflowState): WorkflowState {
  const object = JSON.parse(JSON.stringify([viewWorkflow(state), pastOf(state)]));
  const copy = createWorkflow(object[0], ENGINE_ENV);
  recallPast(copy, object[1]);
  return copy;
}

test.each([
  ["a container", { container: { image: "i", command: ["c"] } }],
  ["an http request", { http: { url: "http://example.com" } }],
])(
  "the task of %s never gets an id again, however often its workflow was archived and retried",
  (_, template) => {
    let state = submitted(template);
    const ids: string[] = [];
    for (let round = 0; round < 3; round++) {
      const [id = ""] = begun(state);
      ids.push(id);
      fail(state, id);
      expect(state.header.phase).toBe("Failed");
      state = restored(state);
      expect(state.header.retries ?? 0).toBe(round);
      retry(state);
    }
    const counts = ids.map((id) => id.slice(id.lastIndexOf("/") + 1));
    expect(counts).toEqual(["1", "2", "3"]);
  },
);

test("a callback that has ended a wait is known again", () => {
  const state = submitted({ suspend: {} });
  begun(state);
  const node = [...state.nodes.values()][0];
  if (node === undefined) throw new Error("there is no node");
  node.callback = { verb: "resume", digest: "d" };
  const copy = restored(state);
  expect(copy.nodes.get(node.id)?.callback).toEqual({ verb: "resume", digest: "d" });
});

test("a workflow without a past says only that it was not retried", () => {
  expect(pastOf(submitted({ suspend: {} }))).toEqual({ retries: 0 });
});

test("few nodes keep a count each, and later ones are added", () => {
  const first = new PastStarts();
  expect(first.stored()).toBeUndefined();
  first.note("a", 1);
  const next = new PastStarts(first.stored());
  next.note("b", 3);
  next.note("a", 2);
  expect(next.stored()).toEqual({ a: 2, b: 3 });
  expect(startsBefore(next.stored(), "a")).toBe(2);
  expect(startsBefore(next.stored(), "c")).toBe(0);
  expect(startsBefore(undefined, "a")).toBe(0);
});

test("of many nodes the highest count is kept for all, and no count is ever lowered", () => {
  const past = new PastStarts();
  for (let i = 0; i <= 1_000; i++) past.note(`n${i}`, i === 500 ? 7 : 1);
  const stored = past.stored();
  expect(stored).toEqual({ "": 7 });
  const later = new PastStarts(stored);
  later.note("n1", 2);
  later.note("n2", 9);
  expect(startsBefore(later.stored(), "n1")).toBe(7);
  expect(startsBefore(later.stored(), "n2")).toBe(9);
  expect(startsBefore(later.stored(), "n3")).toBe(7);
});
