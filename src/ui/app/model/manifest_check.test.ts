import { describe, expect, test } from "vitest";
import { jsonSchema } from "../../../spec/schema/json_schema.ts";
import { placeOfWords, readText, schemaProblems } from "./manifest_check.ts";
import type { JsonSchema } from "./manifest_schema.ts";

const SCHEMA = jsonSchema("Workflow") as JsonSchema;
const TEXT = `metadata:
  name: a
spec:
  entrypoint: main
  templates:
    - name: main
      steps:
        - - name: first
            template: other
    - name: other
      contaner:
        image: x
`;
const told = (text: string) =>
  schemaProblems(readText(text), SCHEMA).map((
    { from, to, message },
  ) => [text.slice(from, to), message]);

describe("what is no YAML of one manifest", () => {
  test("a second document is told in words of the form, at its place", () => {
    const text = "metadata: {}\n---\nmetadata: {}\n";
    const [fault] = readText(text).faults;
    expect(fault?.from).toBe(text.indexOf("---"));
    expect(fault?.message).toBe(
      "A second manifest begins here. Only one can be given at a time.",
    );
  });
});

test("lines between quotes may be indented as one likes, as the server takes them", () => {
  const text = 'metadata:\n  name: a\nspec:\n  entrypoint: "a\n  b"\n  x: 1\n';
  expect(readText(text).faults).toEqual([]);
  expect(told(text)).toEqual([["x", "“x” is not known here."]]);
});

describe("what the schema does not allow", () => {
  test("is told at its place, with the name that was probably meant", () => {
    expect(told(TEXT)).toEqual([
      ["contaner", "“contaner” is not known here. Do you mean “container”?"],
    ]);
  });

  test("is a manifest of another kind than the form's", () => {
    expect(told(`kind: WorkflowTemplate\n${TEXT.replace("contaner", "container")}`))
      .toEqual([["WorkflowTemplate", "Only Workflow can be here."]]);
    expect(told("kind: Workflow\nmetadata: {}\n")).toEqual([]);
  });

  test("is nothing in a valid manifest, also as JSON, and with tags instead of values", () => {
    expect(told(TEXT.replace("contaner", "container"))).toEqual([]);
    expect(told(JSON.stringify({ metadata: {}, spec: { templates: [{ name: "a" }] } }))).toEqual(
      [],
    );
    expect(told("spec:\n  parallelism: '{{workflow.parameters.p}}'\n")).toEqual([]);
  });

  test("is nothing where texts are read as the server reads them: octal numbers, merge keys", () => {
    const text = "spec:\n  parallelism: 010\n  templates:\n" +
      "    - &a {name: a, suspend: {}}\n    - {<<: *a, name: e2}\n";
    expect(told(text)).toEqual([]);
  });

  test("is a value of another kind", () => {
    expect(told("spec:\n  templates: main\n")).toEqual([
      ["main", "A list belongs here: begin each item with “- ”."],
    ]);
    expect(told("spec:\n  - a\n")[0]?.[1])
      .toBe("An object belongs here: write “name: value” on each line.");
    // A group of steps is a list in a list.
    const steps = "  templates:\n    - name: main\n      steps:\n        - name: x\n";
    expect(told(`spec:\n${steps}`)[0]?.[1]).toMatch(/^A list belongs here/);
  });
});

test.each(["", "\n", "# later\n"])("nothing is no manifest: %j", (text) => {
  expect(readText(text).faults).toEqual([{ from: 0, to: 0, message: "There is no manifest yet." }]);
});

test("what is no YAML is told where it breaks", () => {
  const { faults } = readText("spec:\n  a: [1, 2\n  b: c: d\n");
  expect(faults.length).toBeGreaterThan(0);
  expect(faults[0]?.from).toBeGreaterThan(6);
  expect(faults[0]?.message).not.toContain("\n");
});

test.each([
  ["templates.other must have one of container, steps", "other", 10],
  ["templates.main.steps[0].first references unknown template", "first", 8],
  ['invalid spec: entrypoint "other" not found', "other", 9],
  ["it begins with main: why?", "main", 4],
  ["something else in the domain", "metadata:", 1],
])("the server's words %j belong to %j in line %i", (words, part, line) => {
  const { from, to, message } = placeOfWords(readText(TEXT), words, TEXT);
  expect(message).toBe(words);
  expect(TEXT.slice(from, to)).toBe(part);
  expect(TEXT.slice(0, from).split("\n").length).toBe(line);
});

test.each([
  ["cron schedule 61 * * * * is malformed: 61", '"61 * * * *"', 3],
  ["cannot validate Workflow: templates.main.steps[0].a template name 'none' undefined", "a", 8],
])("the server's words about a cron workflow, %j, belong to %j in line %i", (words, part, line) => {
  const text = `metadata:
spec:
  schedules: ["61 * * * *"]
  workflowSpec:
    templates:
      - name: main
        steps:
          - - name: a
              template: none
`;
  const { from, to } = placeOfWords(readText(text), words, text);
  expect(text.slice(from, to)).toBe(part);
  expect(text.slice(0, from).split("\n").length).toBe(line);
});
