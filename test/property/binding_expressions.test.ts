/**
 * The expressions of `test/fixtures/binding_expressions.json`, which are those of the bindings in the recorded runs.
 * Whatever is posted, each gives a value of its type or an error of its own binding, and no error if its binding does
 * not select the event.
 */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../src/base/json.ts";
import { BoundEvent } from "../../src/events/match.ts";
import { ExpressionError } from "../../src/expr/templates/contexts.ts";
import { ExprCompileError } from "../../src/expr/values/error.ts";
import type { WorkflowEventBinding, WorkflowTemplate } from "../../src/spec/manifest.ts";
import { STANDARD_NAMING } from "../../src/spec/naming.ts";
import { SpecError } from "../../src/spec/spec_error.ts";
import { validateEventBinding } from "../../src/spec/validation/event_binding.ts";

const { selectors, parameters, texts } = JSON.parse(
  readFileSync(new URL("../fixtures/binding_expressions.json", import.meta.url), "utf8"),
) as Record<"selectors" | "parameters" | "texts", string[]>;

const RUNS = { numRuns: 150 };
/** Pieces of what the recorded runs posted, beside any JSON. */
const leaf = fc.constantFrom<Json>(null, 1, 2.5, true, "hello", "", [], {}, ["one", 2]);
const payloads = fc.oneof(
  fc.constantFrom<Json>(null, [], [1, 2], "hello", "", 12, 0, true, {}),
  fc.dictionary(fc.constantFrom("message", "n", "ok", "list", "obj", "items", "x", "go"), leaf),
  fc.jsonValue() as fc.Arbitrary<Json>,
);

interface Given {
  selector: string;
  parameter?: string;
  text?: string;
}

function bindingOf({ selector, parameter, text }: Given): WorkflowEventBinding {
  return {
    metadata: { name: "b", namespace: "argo" },
    spec: {
      event: { selector },
      submit: {
        workflowTemplateRef: { name: "t" },
        ...(text === undefined ? {} : { metadata: { labels: { l: text } } }),
        arguments: {
          parameters: parameter === undefined
            ? []
            : [{ name: "p", valueFrom: { event: parameter } }],
        },
      },
    },
  } as WorkflowEventBinding;
}

/** Whether a binding can be stored. */
function isStorable(given: Given): boolean {
  try {
    validateEventBinding(bindingOf(given));
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(SpecError);
    return false;
  }
}

function bound(given: Given, payload: Json): BoundEvent {
  const headers: [string, string][] = [["x-github-event", "push"]];
  return new BoundEvent(
    { namespace: "argo", discriminator: "d1", headers, payload },
    bindingOf(given),
    { now: () => 0, random: () => 0.5 },
  );
}

/** Runs what may fail with an error of the binding, which must be one of evaluation if the binding could be stored. */
function ownError(run: () => unknown, storable: boolean): void {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(ExpressionError);
    if (storable) expect((error as Error).cause).not.toBeInstanceOf(ExprCompileError);
  }
}

const template = { metadata: { name: "t" }, spec: {} } as WorkflowTemplate;

describe.each(selectors)("selector %j", (selector) => {
  const storable = isStorable({ selector });

  test("gives a boolean, or an error of the binding", () => {
    fc.assert(
      fc.property(payloads, (payload) =>
        ownError(
          () => expect(bound({ selector }, payload).isSelected()).toBeTypeOf("boolean"),
          storable,
        )),
      RUNS,
    );
  });

  test.runIf(storable)("is no error where its binding is for other events", () => {
    const guarded = [
      `discriminator == "other" && (${selector})`,
      `payload == 1.5 and (${selector})`,
    ]
      .filter((one) => isStorable({ selector: one }));
    fc.assert(
      fc.property(payloads.filter((one) => one !== 1.5), (payload) => {
        for (const one of guarded) {
          expect(bound({ selector: one }, payload).isSelected()).toBe(false);
        }
      }),
      RUNS,
    );
  });
});

test("guards can be put before every recorded selector that gives a boolean", () => {
  const all = selectors.filter((selector) => isStorable({ selector }));
  const guarded = all.filter((selector) =>
    isStorable({ selector: `discriminator == "other" && (${selector})` })
  );
  expect(all.length).toBeGreaterThan(40);
  // Expressions that are not boolean, or have a comment or several statements, can't stand after `&&`.
  expect(all.length - guarded.length).toBeLessThan(10);
});

test.each([
  ...parameters.map((parameter) => ({ parameter })),
  ...texts.map((text) => ({ text })),
])("%j gives a text, or an error of the binding", (given) => {
  const one = { selector: "true", ...given };
  const storable = isStorable(one);
  fc.assert(
    fc.property(payloads, (payload) =>
      ownError(() => {
        const made = bound(one, payload).submission(template, STANDARD_NAMING, (base) => base);
        const value = made?.spec.arguments?.parameters?.[0]?.value ?? made?.metadata.labels?.["l"];
        expect(value).toBeTypeOf("string");
      }, storable)),
    RUNS,
  );
});
