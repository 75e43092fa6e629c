/** What is kept for many workflows of one manifest is the same as what is worked out for each. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { freezeAll } from "../../base/shared_json.ts";
import type { Arguments, Template, WorkflowSpec } from "../../spec/manifest.ts";
import { mergeSpecs } from "../../spec/resolve.ts";
import { mergedSpec } from "./merged_spec.ts";
import { specText } from "../../spec/spec_text.ts";

const text = fc.constantFrom("a", "b", "c", 'quo"te');

const parameter = fc.record({ name: text, value: text, default: text, description: text }, {
  requiredKeys: ["name"],
});

const given: fc.Arbitrary<Arguments> = fc.record({
  parameters: fc.uniqueArray(parameter, { selector: ({ name }) => name, maxLength: 3 }),
  artifacts: fc.uniqueArray(fc.record({ name: text, raw: fc.record({ data: text }) }), {
    selector: ({ name }) => name,
    maxLength: 2,
  }),
}, { requiredKeys: [] });

const common = {
  arguments: given,
  entrypoint: text,
  suspend: fc.boolean(),
  parallelism: fc.integer({ min: 1, max: 3 }),
  podMetadata: fc.record({ labels: fc.dictionary(text, text) }),
};

const own: fc.Arbitrary<WorkflowSpec> = fc.record({
  ...common,
  workflowTemplateRef: fc.constant({ name: "t" }),
}, { requiredKeys: ["workflowTemplateRef"] });

/** The specs of a few templates, each one value that all workflows share, as `parseShared` gives it. */
const stored: fc.Arbitrary<WorkflowSpec> = fc.record({
  ...common,
  templates: fc.constant<Template[]>([{ name: "main", suspend: {} }]),
}, { requiredKeys: ["templates"] }).map((spec): WorkflowSpec => freezeAll<WorkflowSpec>(spec));

test("a spec that is merged once for a template is what each workflow would get", () => {
  fc.assert(
    fc.property(stored, fc.array(own, { minLength: 1, maxLength: 12 }), (template, workflows) => {
      for (const spec of workflows) {
        const merged = mergedSpec(spec, template);
        expect(JSON.stringify(merged)).toBe(JSON.stringify(mergeSpecs(spec, template)));
        expect(specText(merged)).toBe(JSON.stringify(merged));
      }
    }),
  );
});

test("the text of a spec is its JSON, whichever specs with the same templates came before", () => {
  const templates = freezeAll([{ name: "main", suspend: {} }]);
  fc.assert(
    fc.property(own, fc.boolean(), (rest, isFirst) => {
      const spec = isFirst ? { templates, ...rest } : { ...rest, templates };
      expect(specText(spec)).toBe(JSON.stringify(spec));
      const { arguments: _given, ...others } = spec;
      expect(specText(others)).toBe(JSON.stringify(others));
      const known = spec.arguments === undefined ? spec : { ...spec, arguments: {} };
      expect(specText(spec, {})).toBe(JSON.stringify(known));
    }),
  );
});

test("a spec that is changed after it was asked for has another text", () => {
  const templates = freezeAll([{ name: "main", suspend: {} }]);
  const podMetadata = { labels: { a: "1" } };
  const spec: WorkflowSpec = { templates, podMetadata };
  expect(specText(spec)).toBe(JSON.stringify(spec));
  podMetadata.labels.a = "2";
  expect(specText(spec)).toBe(JSON.stringify(spec));
});
