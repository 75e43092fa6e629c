import { partsByKey } from "../base/part_text.ts";
import { expect, test } from "vitest";
import type { Workflow } from "../spec/manifest.ts";
import { ENGINE_ENV } from "../../test/support/engine_env.ts";
import { advance } from "./advance.ts";
import { loadWorkflow, takeChanges } from "./codec.ts";
import { createWorkflow } from "./create.ts";
import { control } from "./orders/control.ts";
import type { WorkflowState } from "./state.ts";
import { viewWorkflow } from "./view.ts";

const START = Date.UTC(2026, 0, 1, 0, 0, 0, 123);
const at = (ms: number) => ({ ...ENGINE_ENV, now: START + ms });

/** Two waits beside each other, and one after them. */
const WORKFLOW: Workflow = {
  metadata: { name: "w", namespace: "n", uid: "u" },
  spec: {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [[{ name: "one", template: "wait" }, { name: "two", template: "wait" }], [{
          name: "last",
          template: "wait",
        }]],
      },
      { name: "wait", suspend: {} },
    ],
  },
};

const resume = (state: WorkflowState, name: string, ms: number) => {
  const nodeFieldSelector = `displayName=${name}`;
  control(state, { type: "resume", nodeFieldSelector }, at(ms));
  advance(state, at(ms));
  return takeChanges(state).index;
};

function started(): WorkflowState {
  const state = createWorkflow(structuredClone(WORKFLOW), at(0));
  advance(state, at(5));
  return state;
}

test("the index entry says since when a step waits, as long as one does", () => {
  const state = started();
  expect(takeChanges(state).index?.waitsSince).toBe(START + 5);
  // The other one waits as long.
  expect(resume(state, "one", 50)?.waitsSince ?? START + 5).toBe(START + 5);
  expect(resume(state, "two", 70)?.waitsSince).toBe(START + 70);
  const entry = resume(state, "last", 90);
  expect(entry?.phase).toBe("Succeeded");
  expect(entry).not.toHaveProperty("waitsSince");
});

test("the entry of a workflow that an older program stored is written with the next change", () => {
  const state = started();
  const put = partsByKey(takeChanges(state).put);
  const loaded = loadWorkflow(put);
  // Nothing has changed.
  expect(takeChanges(loaded).index).toBeUndefined();
  expect(resume(loaded, "one", 50)?.waitsSince).toBe(START + 5);
  // Once is enough.
  const again = loadWorkflow(put);
  expect(resume(again, "one", 50)).toBeDefined();
  control(again, { type: "set", nodeFieldSelector: "displayName=two", message: "soon" }, at(60));
  expect(takeChanges(again).index).toBeUndefined();
});

test("times are shown in whole seconds, or to the millisecond when that is wanted", () => {
  const state = started();
  resume(state, "one", 465);
  const shown = (exactTimes: boolean) => {
    const { status } = viewWorkflow(state, { exactTimes });
    const node = Object.values(status?.nodes ?? {}).find(({ displayName }) =>
      displayName === "one"
    );
    return [status?.startedAt, status?.finishedAt, node?.startedAt, node?.finishedAt];
  };
  const second = "2026-01-01T00:00:00Z";
  expect(shown(false)).toEqual([second, null, second, second]);
  expect(shown(true)).toEqual([
    "2026-01-01T00:00:00.128Z",
    null,
    "2026-01-01T00:00:00.128Z",
    "2026-01-01T00:00:00.588Z",
  ]);
  // What is stored says it too.
  const loaded = loadWorkflow(
    partsByKey(takeChanges(createWorkflow(viewWorkflow(state), at(0))).put),
  );
  expect(viewWorkflow(loaded, { exactTimes: true }).status?.startedAt)
    .toBe("2026-01-01T00:00:00.000Z");
});
