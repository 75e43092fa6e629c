import { describe, expect, it } from "vitest";
import { errorText } from "../../base/error_text.ts";
import type { JsonObject } from "../../base/json.ts";
import { decode } from "../schema/decode.ts";
import { checkOnce } from "./known_valid.ts";
import type { Parameter, Workflow, WorkflowTemplate } from "../manifest.ts";
import { KIND_SCHEMAS } from "../schema/kinds.ts";
import type { StructSchema } from "../schema/schema.ts";
import { validateWorkflow } from "./validate.ts";

const schemaOf = (kind: string) => KIND_SCHEMAS.get(kind) as StructSchema;

/** A workflow as it is decoded from a request body: equal templates are shared. */
function workflow(spec: JsonObject, parameters: Parameter[], metadata: JsonObject = {}): Workflow {
  const whole = { entrypoint: "main", ...spec, arguments: { parameters } };
  return decode({ metadata, spec: whole }, schemaOf("Workflow")) as unknown as Workflow;
}

/** The text of the refusal; empty if it is accepted. */
function refusal(given: Workflow, stored?: WorkflowTemplate): string {
  try {
    validateWorkflow(given, { findTemplate: () => stored });
    return "";
  } catch (error) {
    return errorText(error);
  }
}

/** Tells whether the rules were checked for a workflow; otherwise it was known to be valid. */
function isChecked({ spec, metadata }: Workflow, options: object = {}): boolean {
  let checked = false;
  checkOnce(
    { own: spec, stored: undefined, metadata: [metadata], options },
    () => void (checked = true),
  );
  return checked;
}

const one = (template: JsonObject) => ({ templates: [{ name: "main", ...template }] });
const container = (more: JsonObject) => one({ container: { image: "i", ...more } });
const value = (text: string): Parameter[] => [{ name: "p", value: text }];
const TAG = "{{workflow.parameters.p}}";

describe("a workflow is known to be valid", () => {
  it.each([
    ["an argument of a container", container({ args: ["--id", TAG] })],
    ["a variable", container({ env: [{ name: "ID", value: TAG }] })],
    ["a script", one({ script: { image: "i", source: `echo ${TAG}` } })],
    ["an argument of a task", {
      templates: [
        {
          name: "main",
          dag: {
            tasks: [{
              name: "a",
              template: "wait",
              arguments: { parameters: [{ name: "q", value: TAG }] },
            }],
          },
        },
        { name: "wait", inputs: { parameters: [{ name: "q" }] }, suspend: {} },
      ],
    }],
    ["nothing", one({ suspend: {} })],
  ])("whatever the value that is used in %s", (_, spec) => {
    expect(isChecked(workflow(spec, value("a")))).toBe(true);
    expect(isChecked(workflow(spec, value("b")))).toBe(false);
  });

  it.each<[string, Workflow, Workflow]>([
    [
      "another rest of the spec",
      workflow(container({ args: ["1"] }), []),
      workflow({ ...container({ args: ["1"] }), priority: 3 }, []),
    ],
    [
      "a missing value",
      workflow(container({ args: ["2"] }), value("a")),
      workflow(container({ args: ["2"] }), [{ name: "p" }]),
    ],
    [
      "another name of an argument",
      workflow(container({ args: ["3"] }), value("a")),
      workflow(container({ args: ["3"] }), [{ name: "q", value: "a" }]),
    ],
    [
      "another label",
      workflow(container({ args: ["4"] }), [], { labels: { a: "1" } }),
      workflow(container({ args: ["4"] }), [], { labels: { b: "1" } }),
    ],
    [
      "a value that is a tag",
      workflow(container({ args: ["5"] }), value("a")),
      workflow(container({ args: ["5"] }), value("{{workflow.nam}}")),
    ],
    [
      "a value that is used where a rule looks",
      workflow(one({ suspend: {}, timeout: TAG }), value("a")),
      workflow(one({ suspend: {}, timeout: TAG }), value("b")),
    ],
    [
      "a tag inside a tag",
      workflow(container({ args: [`{{workflow.${TAG}}}`] }), value("name")),
      workflow(container({ args: [`{{workflow.${TAG}}}`] }), value("uid")),
    ],
    [
      "a reference",
      workflow(one({ steps: [[{ name: "a", templateRef: { name: "t", template: "u" } }]] }), []),
      workflow(one({ steps: [[{ name: "a", templateRef: { name: "t", template: "u" } }]] }), []),
    ],
  ])("but not with %s", (_, first, second) => {
    isChecked(first);
    expect(isChecked(second)).toBe(true);
  });

  it("and not under other options", () => {
    const given = workflow(container({ args: ["6"] }), []);
    isChecked(given, { lint: false });
    expect(isChecked(given, { lint: true })).toBe(true);
  });
});

describe("a workflow of templates that were found valid is refused", () => {
  it.each<[string, JsonObject, string, string, string]>([
    [
      "for a template that its argument names",
      {
        templates: [
          { name: "main", steps: [[{ name: "a", template: TAG }]] },
          { name: "there", suspend: {} },
        ],
      },
      "there",
      "gone",
      "template name 'gone' undefined",
    ],
    [
      "for a timeout that its argument gives",
      one({ container: { image: "i" }, timeout: TAG }),
      "1m",
      "60",
      "invalid duration format",
    ],
    [
      "for a tag in its argument",
      container({ args: [TAG] }),
      "a",
      "{{workflow.nowhere}}",
      "failed to resolve {{workflow.nowhere}}",
    ],
    [
      "for an image that its argument leaves out",
      one({ container: { image: TAG } }),
      "i",
      "",
      "image may not be empty",
    ],
    [
      "for a choice that its argument is not",
      {
        templates: [
          {
            name: "main",
            steps: [[{
              name: "a",
              template: "b",
              arguments: { parameters: [{ name: "q", value: TAG, enum: ["x", "y"] }] },
            }]],
          },
          { name: "b", inputs: { parameters: [{ name: "q" }] }, suspend: {} },
        ],
      },
      "x",
      "z",
      "enum",
    ],
  ])("%s", (_, spec, good, bad, text) => {
    expect(refusal(workflow(spec, value(good)))).toBe("");
    expect(refusal(workflow(spec, value(bad)))).toContain(text);
    expect(refusal(workflow(spec, value(good)))).toBe("");
  });

  it("for an input without a value, however often", () => {
    const spec = one({ inputs: { parameters: [{ name: "p" }] }, suspend: {} });
    expect(refusal(workflow(spec, value("a")))).toBe("");
    expect(refusal(workflow(spec, []))).toContain("inputs.parameters.p was not supplied");
    expect(refusal(workflow(spec, []))).toContain("inputs.parameters.p was not supplied");
  });

  it("for what became of a stored template", () => {
    const stored = (spec: JsonObject) =>
      decode(
        { metadata: { name: "t" }, spec },
        schemaOf("WorkflowTemplate"),
      ) as unknown as WorkflowTemplate;
    const given = (p: string) => ({
      metadata: {},
      spec: { workflowTemplateRef: { name: "t" }, arguments: { parameters: value(p) } },
    });
    const good = stored({ entrypoint: "main", ...container({ args: [TAG] }) });
    expect(refusal(given("a"), good)).toBe("");
    expect(refusal(given("b"), good)).toBe("");
    expect(refusal(given("b"), stored({ entrypoint: "gone", ...container({ args: [TAG] }) })))
      .toContain("template reference t.gone not found");
  });
});
