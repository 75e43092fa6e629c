import { describe, expect, test } from "vitest";
import { jsonSchema } from "../../../spec/schema/json_schema.ts";
import { type JsonSchema, placeAt, proposalsAt, schemaAt } from "./manifest_schema.ts";

const SCHEMA = jsonSchema("Workflow") as JsonSchema;
const labels = (text: string) => {
  const place = placeAt(text);
  return place === undefined ? [] : proposalsAt(SCHEMA, place).map(({ label }) => label);
};

describe("the place of a cursor", () => {
  test.each([
    ["", [], "key", ""],
    ["spec:\n  entry", ["spec"], "key", "entry"],
    ["spec:\n  entrypoint: ma", ["spec", "entrypoint"], "value", "ma"],
    ["spec:\n  templates:\n    - na", ["spec", "templates", "[]"], "key", "na"],
    ["spec:\n  templates:\n  - na", ["spec", "templates", "[]"], "key", "na"],
    ["spec:\n  templates:\n    - name: a\n      con", ["spec", "templates", "[]"], "key", "con"],
    [
      "spec:\n  templates:\n    - name: a\n      container:\n        image: x\n    - name: b\n      container:\n        im",
      ["spec", "templates", "[]", "container"],
      "key",
      "im",
    ],
    [
      "spec:\n  templates:\n  - name: a\n    steps:\n    - - name: b\n        temp",
      ["spec", "templates", "[]", "steps", "[]", "[]"],
      "key",
      "temp",
    ],
    [
      "spec:\n  # why\n\n  arguments:\n    parameters:\n      - name: p\n  ent",
      ["spec"],
      "key",
      "ent",
    ],
  ])("%j", (text, path, kind, word) => {
    expect(placeAt(text)).toEqual({ path, kind, word });
  });

  test("is none in a comment", () => expect(placeAt("spec:\n  # na")).toBeUndefined());
});

describe("proposals", () => {
  test("are the members of the schema at that place", () => {
    expect(labels("")).toEqual(expect.arrayContaining(["metadata", "spec"]));
    expect(labels("spec:\n  ")).toEqual(expect.arrayContaining(["entrypoint", "templates"]));
    const ofStep = labels(
      "spec:\n  templates:\n  - name: a\n    steps:\n    - - name: b\n        ",
    );
    expect(ofStep).toEqual(expect.arrayContaining(["template", "when", "withItems"]));
    expect(ofStep).not.toContain("entrypoint");
  });

  test("are values where the schema has a choice", () => {
    expect(labels("spec:\n  suspend: ")).toEqual(["true", "false"]);
    expect(labels("kind: ")).toEqual(["Workflow"]);
  });

  test("say what they are", () => {
    const place = placeAt("spec:\n  templates:\n    - ");
    const steps = place && proposalsAt(SCHEMA, place).find(({ label }) => label === "steps");
    expect(steps).toEqual({
      label: "steps",
      detail: "list",
      info: "Run groups of steps, one group after the other",
      text: "steps:",
    });
  });

  test("are none where the schema knows nothing", () => {
    expect(labels("spec:\n  nothing:\n    ")).toEqual([]);
    expect(schemaAt(SCHEMA, ["spec", "nothing"])).toBeUndefined();
  });
});
