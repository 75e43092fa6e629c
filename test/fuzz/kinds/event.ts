/** Events against bindings: any payload and headers, selectors and parameters that are any expressions. */
import fc from "fast-check";
import type { Json } from "../../../src/base/json.ts";
import { explainSelector } from "../../../src/events/explain.ts";
import { BoundEvent } from "../../../src/events/match.ts";
import { ExpressionError } from "../../../src/expr/templates/contexts.ts";
import { STANDARD_NAMING } from "../../../src/spec/naming.ts";
import { decodeManifest } from "../../../src/spec/schema/decode_manifest.ts";
import type { WorkflowTemplate } from "../../../src/spec/manifest.ts";
import { expressionText } from "../grammar/expressions.ts";
import { jsonValue, shortText } from "../grammar/texts.ts";
import type { FuzzKind } from "../kind.ts";

interface Input {
  payload: Json;
  headers: [string, string][];
  discriminator: string;
  selector: string;
  texts: string[];
  parameters: string[];
  action: "submit" | "resume" | "stop";
}

/** 50 parts and 50 values, each with a text of at most 300 characters, and their messages. */
const MAX_EXPLANATION = 200_000;

const selector = fc.oneof(
  expressionText,
  expressionText.map((one) => `(${one}) != nil`),
  expressionText.map((one) => `payload.a == 1 or (${one}) == "x"`),
  fc.constantFrom("true", 'payload.x.y > 1 || discriminator matches "("', '"x-a" in metadata'),
);
const text = fc.oneof(
  expressionText,
  expressionText.map((one) => `string(${one})`),
  fc.constant('"name"'),
);

const TEMPLATE = {
  metadata: { name: "t" },
  spec: { workflowMetadata: { labels: { a: "b" } } },
} as unknown as WorkflowTemplate;

export const EVENT: FuzzKind<Input> = {
  inputs: fc.record({
    payload: jsonValue as fc.Arbitrary<Json>,
    headers: fc.array(fc.tuple(shortText.map((name) => `X-${name}`), shortText), { maxLength: 4 }),
    discriminator: shortText,
    selector,
    texts: fc.array(text, { minLength: 3, maxLength: 3 }),
    parameters: fc.array(expressionText, { maxLength: 2 }),
    action: fc.constantFrom("submit", "resume", "stop"),
  }),
  // Six expressions at most, with a budget each, and two budgets of the explanation.
  maxBlockMs: 250,
  outcomes: ["selected", "not-selected", "refused"],
  open: () => ({ run }),
};

function run(input: Input): string {
  const { payload, headers, discriminator } = input;
  const sent = { namespace: "a", discriminator, headers, payload };
  const binding = decodeManifest("WorkflowEventBinding", bindingOf(input));
  const options = { now: () => 0, random: () => 0.5 };
  const event = new BoundEvent(sent, binding, options);
  const length = JSON.stringify(explainSelector(sent, binding, options) ?? "").length;
  if (length > MAX_EXPLANATION) throw new Error(`the explanation has ${length} characters`);
  try {
    if (!event.isSelected()) return "not-selected";
    event.submission(TEMPLATE, STANDARD_NAMING, (base) => `${base}x`);
    event.callbacks();
    return "selected";
  } catch (error) {
    if (error instanceof ExpressionError) return "refused";
    throw error;
  }
}

function bindingOf({ selector, texts, parameters, action }: Input): Json {
  const [name = "", label = "", node = ""] = texts;
  const metadata = { name, labels: { l: label }, annotations: { a: node } };
  return {
    metadata: { name: "b", namespace: "a" },
    spec: {
      event: { selector },
      ...(action === "submit"
        ? {
          submit: {
            workflowTemplateRef: { name: "t" },
            metadata,
            arguments: {
              parameters: parameters.map((event, at) => ({ name: `p${at}`, valueFrom: { event } })),
            },
          },
        }
        : { [action]: { workflow: name, labelSelector: label, nodeFieldSelector: node } }),
    },
  };
}
