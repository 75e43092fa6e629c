import { expect, test } from "vitest";
import { ENGINE_ENV as ENV } from "../../../test/support/engine_env.ts";
import type { WorkflowSpec } from "../../spec/manifest.ts";
import { accept } from "../accept.ts";
import { advance } from "../advance.ts";
import { takeChanges } from "../codec.ts";
import { createWorkflow } from "../create.ts";
import { viewWorkflow } from "../view.ts";
import { deletionEffects } from "./deletion.ts";

/** A workflow that has begun its only step. */
function begun(spec: Partial<WorkflowSpec>) {
  const state = createWorkflow({
    metadata: { name: "wf", namespace: "n", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      entrypoint: "main",
      templates: [{ name: "main", container: { image: "i" } }],
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }],
      ...spec,
    },
  }, ENV);
  advance(state, ENV);
  takeChanges(state);
  return state;
}

/** Effects of a workflow whose only step ends in this phase. */
function ended(phase: "Succeeded" | "Failed", spec: Partial<WorkflowSpec>) {
  const state = begun(spec);
  accept(state, { type: "task-ended", task: "u/wf/1", outcome: { phase } }, ENV);
  advance(state, ENV);
  const { effects } = takeChanges(state);
  return { state, claims: effects.filter(({ type }) => type === "remove-claims") };
}

const REMOVAL = { namespace: "n", workflow: "wf", workflowUid: "u", names: ["data"] };

test("claims are removed when the workflow succeeds, or at any end", () => {
  expect(ended("Succeeded", {}).claims).toMatchObject([REMOVAL]);
  expect(ended("Failed", {}).claims).toEqual([]);
  const always = { volumeClaimGC: { strategy: "OnWorkflowCompletion" } };
  expect(ended("Failed", always).claims).toMatchObject([REMOVAL]);
  expect(ended("Succeeded", { volumeClaimTemplates: [] }).claims).toEqual([]);
});

test("a deleted workflow leaves no claims", () => {
  expect(deletionEffects(ended("Failed", {}).state)).toContainEqual(
    expect.objectContaining({ type: "remove-claims", ...REMOVAL }),
  );
});

test("the status names the volumes of claims until they are given up", () => {
  const shown = (state: ReturnType<typeof begun>) =>
    viewWorkflow(state).status?.persistentVolumeClaims;
  const volumes = [{ name: "data", persistentVolumeClaim: { claimName: "wf-data" } }];
  expect(shown(begun({}))).toEqual(volumes);
  expect(shown(ended("Failed", {}).state)).toEqual(volumes);
  expect(shown(ended("Succeeded", {}).state)).toBeUndefined();
  expect(shown(begun({ volumeClaimTemplates: [] }))).toBeUndefined();
  expect(shown(begun({ entrypoint: "nowhere" }))).toBeUndefined();
});
