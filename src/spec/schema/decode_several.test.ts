import { describe, expect, it } from "vitest";
import { DecodeError } from "./decode.ts";
import { decodeManifest } from "./decode_manifest.ts";

function textOf(spec: unknown): string {
  try {
    decodeManifest("Workflow", { spec });
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
  return "";
}

const inTemplate = (template: object) => ({ templates: [{ name: "t", ...template }] });
const inStep = (step: object) => inTemplate({ steps: [[{ name: "s", ...step }]] });
const into = (place: string, type: string) => `into Go struct field ${place} of type ${type}`;

describe("of several values that do not fit, decode() reports the one that Go reports", () => {
  const badQuantity = { name: "v", emptyDir: { sizeLimit: "much" } };
  const regex = "quantities must match the regular expression " +
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const ofPriority = `json: cannot unmarshal string ${into("WorkflowSpec.spec.priority", "int32")}`;
  const several: [string, unknown, string][] = [
    ["the first of two", { priority: "x", parallelism: "x" }, ofPriority],
    ["a quantity, after a wrong type", { priority: "x", volumes: [badQuantity] }, regex],
    [
      "a quantity, after a wrong type among the templates",
      { templates: [{ name: 1 }], volumes: [badQuantity] },
      regex,
    ],
    [
      "a wrong type among the templates, before another one",
      { templates: [{ name: 1 }], priority: "x" },
      `json: cannot unmarshal number ${into("Template.spec.templates.name", "string")}`,
    ],
    [
      "a wrong type in a step, after one outside",
      { priority: "x", ...inStep({ withParam: 5 }) },
      `json: cannot unmarshal number ${into("Template.spec.templates.steps.withParam", "string")}`,
    ],
    [
      "a wrong type, and bytes further on that are none",
      { priority: "x", ...inTemplate({ http: { url: "u", bodyFrom: { bytes: "%" } } }) },
      ofPriority,
    ],
  ];
  it.each(several)("%s", (_name, spec, text) => {
    expect(textOf(spec)).toBe(text);
    // What was found among shared templates is found again.
    expect(textOf(spec)).toBe(text);
  });
});
