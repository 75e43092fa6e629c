import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runToEnd } from "../base/steps.ts";
import { joinObject, largeMembers, splitObject } from "./object_text.ts";

const parts = (value: unknown) => runToEnd(splitObject(JSON.stringify(value)));

describe("splitObject()", () => {
  test("takes nodes and stored templates out of the status", () => {
    const { brief, at, large, template } = parts({
      spec: { workflowTemplateRef: { name: "etl" } },
      status: { phase: "Failed", nodes: { a: { b: ["}", '"', "\\"] } }, storedTemplates: {}, x: 1 },
    });
    expect(JSON.parse(brief)).toEqual({
      spec: { workflowTemplateRef: { name: "etl" } },
      status: { phase: "Failed", x: 1 },
    });
    expect(brief.slice(at)).toBe("}}");
    expect(large).toEqual({
      nodes: String.raw`{"a":{"b":["}","\"","\\"]}}`,
      storedTemplates: "{}",
    });
    expect(template).toBe("namespaced/etl");
  });

  test.each([
    [{ workflowTemplateRef: { name: "etl", clusterScope: true } }, "cluster/etl"],
    [{ workflowTemplateRef: { name: 7 } }, ""],
    [{ workflowTemplateRef: null }, ""],
    [{}, ""],
    [null, ""],
  ])("names the template of spec %j", (spec, template) => {
    expect(parts({ spec }).template).toBe(template);
  });

  test.each(["", "7", "[{}]", '{"status":', '{"status":{"nodes', '{"a" 1}', '{"status":null}'])(
    "leaves %j as it is, or ends",
    (text) => {
      const split = runToEnd(splitObject(text));
      expect(split.brief.length).toBeLessThanOrEqual(text.length + 1);
    },
  );

  test("property: nothing is lost, nothing large stays", () => {
    const status = fc.record({
      nodes: fc.jsonValue(),
      storedTemplates: fc.jsonValue(),
      phase: fc.string(),
      more: fc.jsonValue(),
    }, { requiredKeys: [] });
    const object = fc.record({
      a: fc.jsonValue(),
      status,
      z: fc.jsonValue(),
      spec: fc.jsonValue(),
    });
    fc.assert(fc.property(object, fc.boolean(), (value, isWide) => {
      const text = JSON.stringify(value, undefined, isWide ? 1 : undefined);
      const split = runToEnd(splitObject(text));
      expect(JSON.parse(joinObject(split, largeMembers(split)))).toEqual(JSON.parse(text));
      const { nodes: _nodes, storedTemplates: _stored, ...rest } = value.status;
      expect(JSON.parse(split.brief)).toEqual(
        JSON.parse(JSON.stringify({ ...value, status: rest })),
      );
    }));
  });

  test("a large object is looked through in many small steps", () => {
    const nodes = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`n${index}`, { id: "x".repeat(80) }]),
    );
    let steps = 0;
    for (const _ of splitObject(JSON.stringify({ status: { nodes } }))) steps++;
    expect(steps).toBeGreaterThan(20);
  });
});
