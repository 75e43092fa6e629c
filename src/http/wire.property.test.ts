import fc from "fast-check";
import { expect, test } from "vitest";
import { freezeAll } from "../base/shared_json.ts";
import type { Workflow } from "../spec/manifest.ts";
import { workflowText, workflowWire } from "./wire.ts";

const text = fc.constantFrom("", "a", "<b>", 'quo"te', "\u2028");
const small = fc.constantFrom(undefined, null, "", {}, [], { a: "<1>" }, freezeAll({ b: ["2"] }));
const templates = freezeAll([{ name: "main", suspend: {} }]);

const spec = fc.record({
  entrypoint: text,
  arguments: fc.constantFrom({}, { parameters: [{ name: "p", value: "<v>" }] }),
  templates: fc.constantFrom(undefined, templates, [{ name: "own", suspend: {} }]),
}, { requiredKeys: [] });

const time = fc.constantFrom(undefined, null, "2026-01-01T00:00:00Z");

const MEMBERS = [
  ...["phase", "startedAt", "finishedAt", "progress", "message", "conditions", "outputs"],
  ...["artifactRepositoryRef", "storedTemplates", "storedWorkflowTemplateSpec", "nodes"],
  ...["resourcesDuration", "taskResultsCompletionStatus"],
];

function valueOf(member: string): fc.Arbitrary<unknown> {
  if (member.endsWith("edAt")) return time;
  return member === "storedWorkflowTemplateSpec" ? spec : small;
}

const status = fc.uniqueArray(fc.constantFrom(...MEMBERS)).chain((names) =>
  fc.tuple(...names.map(valueOf))
    .map((values) => Object.fromEntries(names.map((name, at) => [name, values[at]])))
);

test("the text of a workflow is that of the object, whatever its status has and in which order", () => {
  fc.assert(fc.property(text, spec, fc.option(status, { nil: undefined }), (name, spec, status) => {
    const workflow = { metadata: { name }, spec, status } as unknown as Workflow;
    expect(workflowText(workflow)).toBe(JSON.stringify(workflowWire(workflow)));
  }));
});
