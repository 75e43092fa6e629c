import { partsByKey } from "../base/part_text.ts";
import { expect, test } from "vitest";
import type { Workflow } from "../spec/manifest.ts";
import { indexEntry, loadWorkflow, takeChanges } from "./codec.ts";
import { createWorkflow } from "./create.ts";
import type { EngineEnv } from "./engine.ts";
import { viewWorkflow } from "./view.ts";

const ENV: EngineEnv = {
  now: 0,
  labelPrefix: "workflows.argoproj.io/",
  apiGroup: "argoproj.io",
  randomSuffix: (length) => "x".repeat(length),
  findManifest: () => undefined,
};

function workflow(name: string, value: string): Workflow {
  return {
    metadata: { name, namespace: "ns", uid: name },
    spec: {
      entrypoint: "main",
      arguments: { parameters: [{ name: "p", value }] },
      templates: [{ name: "main", suspend: {} }],
    },
  };
}

const partsOf = (given: Workflow) => partsByKey(takeChanges(createWorkflow(given, ENV)).put);

test("workflows of one manifest have specs with the same text, which are one value in memory", () => {
  const [a, b] = [partsOf(workflow("a", "1")), partsOf(workflow("b", "2"))];
  expect(a["s"]).toBe(b["s"]);
  const [first, second] = [loadWorkflow(a), loadWorkflow(b)];
  expect(first.specs.spec.templates).toBe(second.specs.spec.templates);
  expect(first.specs.spec).toEqual(workflow("a", "1").spec);
  expect(second.specs.spec).toEqual(workflow("b", "2").spec);
});

test("members of a spec keep their order", () => {
  const { spec } = viewWorkflow(loadWorkflow(partsOf(workflow("a", "1"))));
  expect(Object.keys(spec)).toEqual(["entrypoint", "arguments", "templates"]);
});

test("a workflow without arguments stays without", () => {
  const given: Workflow = { metadata: { name: "a", namespace: "ns", uid: "a" }, spec: {} };
  expect(loadWorkflow(partsOf(given)).specs).toEqual({ spec: {} });
});

test("arguments of a merged spec are kept too", () => {
  const state = createWorkflow(workflow("a", "1"), ENV);
  state.specs.storedWorkflowTemplateSpec = { ...state.specs.spec, priority: 1 };
  const { specs } = loadWorkflow(partsByKey(takeChanges(state).put));
  expect(specs).toEqual(state.specs);
});

test("the previous form, with arguments in the specs, is read", () => {
  const { spec, metadata } = workflow("a", "1");
  const state = loadWorkflow({
    h: JSON.stringify({ schema: 1, metadata, phase: "", sequence: 0 }),
    s: JSON.stringify({ schema: 1, spec }),
  });
  expect(state.specs).toEqual({ spec });
  expect(state.header).toEqual({ schema: 2, metadata, phase: "", machine: "pending", sequence: 0 });
});

test("an unknown form is refused", () => {
  const parts = partsOf(workflow("a", "1"));
  expect(() => loadWorkflow({ ...parts, h: '{"schema":9,"phase":""}' })).toThrow(
    'part "h" has schema 9; this program reads up to 2',
  );
  expect(() => loadWorkflow({ ...parts, h: "{}" })).toThrow("has no number of its form");
  const { s: _specs, ...rest } = parts;
  expect(() => loadWorkflow(rest)).toThrow('part "s" is missing');
});

test.each([
  [3_000, 1_000, 2_000, 1_000],
  [3_000, undefined, 2_000, 2_000],
  [1_000, 2_000, 3_000, 1_000],
  [1_000, undefined, undefined, 1_000],
])(
  "a workflow created at %s ms that began at %s and ended at %s is listed as of %s: lists look at no newer ones",
  (created, startedAt, finishedAt, createdAt) => {
    const { header } = loadWorkflow(partsOf(workflow("a", "1")));
    header.metadata.creationTimestamp = new Date(created).toISOString();
    Object.assign(header, { startedAt, finishedAt });
    expect(indexEntry({ header }).createdAt).toBe(createdAt);
  },
);
