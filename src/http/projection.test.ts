import { expect, test } from "vitest";
import type { JsonObject } from "../base/json.ts";
import { keepsPath, keepsWhole, parseProjection, project, projectionBelow } from "./projection.ts";

const object: JsonObject = {
  metadata: { name: "x", labels: { "a.example/b": "1", c: "2" } },
  spec: { templates: [{ name: "m", container: { image: "i" } }, { name: "n" }] },
  status: { phase: "Running", nodes: { x: { phase: "Running" } } },
};

function projected(fields: string): JsonObject {
  const projection = parseProjection(fields);
  return projection === undefined ? object : project(object, projection);
}

test.each<[string, JsonObject]>([
  ["metadata.name", { metadata: { name: "x" } }],
  ["metadata.name,", { metadata: { name: "x" } }],
  [" metadata.name", {}],
  ["*", {}],
  ["status.phaseX", { status: {} }],
  ["status.nodes.phase", { status: { nodes: {} } }],
  ["spec.templates.name", { spec: { templates: [{ name: "m" }, { name: "n" }] } }],
  ["metadata.labels.a.example/b", { metadata: { labels: { "a.example/b": "1" } } }],
  ["metadata.labels.a", { metadata: { labels: {} } }],
  ["-metadata.name,spec,status,metadata.labels.a", {
    metadata: { labels: { "a.example/b": "1", c: "2" } },
  }],
  ["-metadata,spec,status.nodes", { status: { phase: "Running" } }],
  ["-", object],
  ["-metadata.labels.a.example/b,spec,status", { metadata: { name: "x", labels: { c: "2" } } }],
])("fields=%s", (fields, want) => {
  expect(projected(fields)).toEqual(want);
});

test("projectionBelow() of a frame named as a whole names nothing of its object", () => {
  const projection = parseProjection("result");
  if (projection === undefined) throw new Error("no projection");
  expect(project(object, projectionBelow(projection, "result", "object"))).toEqual({});
  expect(project({ result: { object: 1 } }, projection)).toEqual({ result: { object: 1 } });
});

test("keepsPath() tells whether a part must be loaded", () => {
  expect(keepsPath(parseProjection("status.phase"), "status", "nodes")).toBe(false);
  expect(keepsPath(parseProjection("status"), "status", "nodes")).toBe(true);
  expect(keepsPath(parseProjection("-status.nodes"), "status", "nodes")).toBe(false);
  expect(keepsPath(parseProjection("-spec"), "status", "nodes")).toBe(true);
  expect(keepsPath(undefined, "status", "nodes")).toBe(true);
});

test.each<[fields: string, path: string[], whole: boolean]>([
  ["-status.nodes", ["spec"], true],
  ["-status.nodes", ["status"], false],
  ["-status.nodes", ["status", "nodes"], false],
  ["-status.nodes", ["status", "phase"], true],
  ["-status", ["status", "phase"], false],
  ["spec,status.phase", ["spec"], true],
  ["spec,status.phase", ["spec", "templates"], true],
  ["spec,status.phase", ["status"], false],
  ["spec,status.phase", ["metadata"], false],
])("keepsWhole() of fields=%s, %s: %s", (fields, path, whole) => {
  const projection = parseProjection(fields);
  expect(projection !== undefined && keepsWhole(projection, ...path)).toBe(whole);
});
