import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../base/json.ts";
import type { ClusterObject } from "../../kubernetes/cluster_object.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { isFromObject, OBJECT_LABEL } from "../workflows/object_origin.ts";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import {
  editsOf,
  factsOf,
  isTakenOver,
  manifestOf,
  RUN_ANNOTATION,
  withoutWorkflow,
} from "./object_facts.ts";
import { claimPatch, endPatch, statusPatch } from "./object_patches.ts";

const PREFIX = "workflows.argoproj.io/";

interface Parts {
  run?: { store: string; spec: string; version: string } | string;
  phase?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  spec?: JsonObject;
  deletionTimestamp?: string;
}

function objectOf(
  { run, phase, labels, annotations, spec, deletionTimestamp }: Parts,
): ClusterObject {
  const note = run === undefined
    ? undefined
    : { [RUN_ANNOTATION]: typeof run === "string" ? run : JSON.stringify(run) };
  const all = note === undefined && annotations === undefined
    ? undefined
    : { ...annotations, ...note };
  return {
    metadata: {
      namespace: "ns",
      name: "w",
      uid: "u1",
      resourceVersion: "7",
      ...(labels && { labels }),
      ...(all && { annotations: all }),
      ...(deletionTimestamp && { deletionTimestamp }),
    },
    spec: spec ?? {},
    ...(phase === undefined ? {} : { status: { phase } }),
  };
}

/** Applies the operations of JSON patches that are used here. Throws where an API server would refuse. */
function apply(object: ClusterObject, patch: JsonObject[]): JsonObject {
  const result = structuredClone(object) as unknown as JsonObject;
  for (const { op, path, value } of patch) {
    const keys = String(path).split("/").slice(1)
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = keys.pop() ?? "";
    let target: Json | undefined = result;
    for (const key of keys) target = (target as JsonObject)[key];
    if (target === undefined) throw new Error(`no place ${String(path)}`);
    const holder = target as JsonObject;
    if (op !== "add" && holder[last] === undefined) throw new Error(`nothing at ${String(path)}`);
    if (op === "remove") delete holder[last];
    else holder[last] = value ?? null;
  }
  return result;
}

const WORKFLOW: Workflow = {
  metadata: {
    name: "w",
    labels: {
      [`${PREFIX}phase`]: "Running",
      [`${PREFIX}completed`]: "false",
      team: "a",
      [OBJECT_LABEL]: "u1",
    },
    annotations: { note: "asked for", other: "not" },
  },
  spec: { workflowMetadata: { annotations: { note: "asked for" } } },
  status: { phase: "Running", startedAt: "2030-01-01T00:00:00Z", finishedAt: null },
};
const shown = (workflow: Workflow = WORKFLOW) => ({
  workflow,
  status: workflow.status as unknown as JsonObject,
  version: "42",
  store: "s1",
  labelPrefix: PREFIX,
});

test("factsOf() treats malformed members as absent", () => {
  expect(factsOf(objectOf({ run: "not json" }), PREFIX).run).toBeUndefined();
  expect(factsOf(objectOf({ run: "{}" }), PREFIX).run).toBeUndefined();
  const odd = { ...objectOf({}), spec: [1], status: "x" } as ClusterObject;
  expect(factsOf(odd, PREFIX)).toMatchObject({ phase: "", suspend: false, shutdown: "" });
  expect(factsOf(objectOf({ spec: { suspend: "yes", shutdown: 1 } }), PREFIX))
    .toMatchObject({ suspend: false, shutdown: "" });
});

test("editsOf() gives what has changed since the object was taken over", () => {
  const rows: [note: string, spec: JsonObject, edits: string[]][] = [
    ["false/", {}, []],
    ["false/", { suspend: true }, ["suspend"]],
    ["true/", { suspend: true }, []],
    ["true/", {}, ["unsuspend"]],
    ["false/", { shutdown: "Stop" }, ["stop"]],
    ["false/Stop", { shutdown: "Terminate" }, ["terminate"]],
    ["false/Stop", {}, []],
    ["false/", { shutdown: "Never" }, []],
    ["true/", { shutdown: "Terminate" }, ["unsuspend", "terminate"]],
  ];
  for (const [spec, now, edits] of rows) {
    const facts = factsOf(
      objectOf({ run: { store: "s1", spec, version: "1" }, spec: now }),
      PREFIX,
    );
    expect(editsOf(facts), `${spec} ${JSON.stringify(now)}`).toEqual(edits);
  }
  expect(editsOf(factsOf(objectOf({ spec: { suspend: true } }), PREFIX))).toEqual([]);
});

test("withoutWorkflow() runs objects that nobody has run, and only those", () => {
  const ours = { store: "s1", spec: "false/", version: "" };
  const rows: [Parts, string][] = [
    [{}, "run"],
    [{ phase: "Running" }, "leave"],
    [{ labels: { [`${PREFIX}controller-instanceid`]: "other" } }, "leave"],
    [{ deletionTimestamp: "2030-01-01T00:00:00Z" }, "leave"],
    [{ run: ours }, "run"],
    [{ run: ours, phase: "Running" }, "lost"],
    [{ run: ours, phase: "Succeeded" }, "remove"],
    [{ run: ours, phase: "Error" }, "remove"],
    [{ run: { ...ours, store: "s2" } }, "leave"],
    [{ run: { ...ours, store: "s2" }, phase: "Failed" }, "leave"],
  ];
  for (const [parts, what] of rows) {
    expect(withoutWorkflow(factsOf(objectOf(parts), PREFIX), "s1"), JSON.stringify(parts)).toBe(
      what,
    );
  }
});

test("claimPatch() marks an object without changing anything else", () => {
  for (const annotations of [undefined, { a: "b" }]) {
    const object = objectOf({ ...(annotations && { annotations }), spec: { suspend: true } });
    const after = apply(
      object,
      claimPatch(factsOf(object, PREFIX), "s1"),
    ) as unknown as ClusterObject;
    expect(after.metadata.annotations).toMatchObject(annotations ?? {});
    expect(after.metadata.resourceVersion).toBe("7");
    const facts = factsOf(after, PREFIX);
    expect(facts.run).toEqual({ store: "s1", spec: "true/", version: "" });
    expect(isTakenOver(facts)).toBe(true);
  }
});

test("statusPatch() shows the state, the service's own labels and what the spec asks for", () => {
  const object = objectOf({ labels: { team: "b" }, phase: "Pending" });
  const after = apply(
    object,
    statusPatch(factsOf(object, PREFIX), shown()),
  ) as unknown as ClusterObject;
  expect(after.status).toEqual(WORKFLOW.status);
  expect(after.metadata.labels).toEqual({
    team: "b",
    [`${PREFIX}phase`]: "Running",
    [`${PREFIX}completed`]: "false",
  });
  expect(after.metadata.annotations).toEqual({
    note: "asked for",
    [RUN_ANNOTATION]: JSON.stringify({ store: "s1", spec: "false/", version: "42" }),
  });
  expect(isTakenOver(factsOf(after, PREFIX))).toBe(true);
});

test("statusPatch() sets the switches to those of the workflow", () => {
  const rows: [object: JsonObject, workflow: Workflow["spec"], spec: JsonObject][] = [
    [{}, { suspend: true }, { suspend: true }],
    [{ suspend: true }, {}, { suspend: false }],
    [{}, { shutdown: "Stop" }, { shutdown: "Stop" }],
    [{ shutdown: "Terminate" }, {}, {}],
    [{ suspend: true }, { suspend: true }, { suspend: true }],
  ];
  for (const [before, spec, wanted] of rows) {
    const object = objectOf({ spec: before });
    const patch = statusPatch(factsOf(object, PREFIX), shown({ ...WORKFLOW, spec }));
    const after = apply(object, patch) as unknown as ClusterObject;
    expect(after.spec).toEqual(wanted);
    expect(isTakenOver(factsOf(after, PREFIX))).toBe(true);
  }
});

test("endPatch() ends an object with the reason", () => {
  const object = objectOf({});
  const end = { phase: "Failed", message: "no", at: "2030-01-01T00:00:00Z", labelPrefix: PREFIX };
  const after = apply(object, endPatch(factsOf(object, PREFIX), { ...end, phase: "Failed" }));
  const facts = factsOf(after as unknown as ClusterObject, PREFIX);
  expect(facts).toMatchObject({ phase: "Failed", isCompleted: true, run: undefined });
  expect(withoutWorkflow(facts, "s1")).toBe("leave");
});

test("manifestOf() leaves out what belongs to the object; a copy of the labels makes no object", () => {
  const manifest = manifestOf({
    ...objectOf({ run: { store: "s", spec: "", version: "" }, labels: { team: "a" } }),
    spec: { entrypoint: "main" },
    status: { phase: "Running" },
  }, STANDARD_NAMING);
  expect(manifest["status"]).toBeUndefined();
  const metadata = manifest["metadata"] as { labels: Record<string, string>; annotations?: Json };
  expect(metadata.annotations).toBeUndefined();
  expect(metadata.labels["team"]).toBe("a");
  expect(isFromObject({ uid: "u1", labels: metadata.labels })).toBe(true);
  expect(isFromObject({ uid: "u2", labels: metadata.labels })).toBe(false);
});
