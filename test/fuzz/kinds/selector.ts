/** Selectors of labels, of fields and of nodes, conditions of resources, and times, quantities and cron schedules. */
import fc from "fast-check";
import { Problem } from "../../../src/base/problem.ts";
import { verdictOn } from "../../../src/executors/resource/condition.ts";
import { parseFieldSelector } from "../../../src/expr/selectors/field_selector.ts";
import { matchesLabels, parseLabelSelector } from "../../../src/expr/selectors/label_selector.ts";
import { matchesNode } from "../../../src/expr/selectors/node_field_selector.ts";
import { parseWorkflowFieldSelector } from "../../../src/expr/selectors/workflow_field_selector.ts";
import { OBJECT_NAMES, shortText, wholeNumber } from "../grammar/texts.ts";
import { EXPRESSION_BLOCK_MS, type FuzzKind } from "../kind.ts";
import { joinPieces, type Piece, times } from "../pieces.ts";

const KEYS = [
  ...["app", "a.b/c", "workflows.argoproj.io/phase", "metadata.name", "metadata.namespace"],
  ...["spec.startedAt", "ext.showRemainingItemCount", "displayName", "inputs.parameters.x.value"],
  ...["phase", "status.n", "status.conditions.0.type", ...OBJECT_NAMES],
];
const key = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...KEYS) }, shortText);
const value = fc.oneof(
  shortText,
  wholeNumber,
  fc.constantFrom("2024-01-01T00:00:00Z", "true", "Failed", "a\\,b", "a\\=b", "a\\"),
);
const term = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(
      key,
      fc.constantFrom("=", "==", "!=", ">", "<", " in ", " notin ", ""),
      value,
    )
      .map((all) => all.join("")),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(key, fc.constantFrom(" in ", " notin "), fc.array(value, { maxLength: 4 }))
      .map(([one, operator, values]) => `${one}${operator}(${values.join(",")})`),
  },
  { weight: 1, arbitrary: key.map((one) => `!${one}`) },
  { weight: 1, arbitrary: shortText },
);
const text: fc.Arbitrary<Piece[]> = fc.array(
  fc.tuple(term, fc.constantFrom(",", ", ", "", ",,"), times)
    .map(([one, comma, count]): Piece => ({ text: one + comma, times: Math.max(1, count) })),
  { maxLength: 4 },
);

const NODE = { id: "w-1", name: "w.a", displayName: "a", templateName: "t", phase: "Running" };

const READERS = {
  label(text: string) {
    matchesLabels(parseLabelSelector(text), { app: "a", "a.b/c": "3" });
  },
  field(text: string) {
    matchesNode(parseFieldSelector(text), NODE);
  },
  workflowField(text: string) {
    parseWorkflowFieldSelector(text);
  },
  condition(text: string) {
    const conditions = { success: parseLabelSelector(text), failure: [] };
    verdictOn({ status: { n: 3, conditions: [{ type: "Ready" }] } }, conditions);
  },
};

export const SELECTOR: FuzzKind<{ reader: keyof typeof READERS; text: Piece[] }> = {
  inputs: fc.record({
    reader: fc.constantFrom(...Object.keys(READERS) as (keyof typeof READERS)[]),
    text,
  }),
  maxBlockMs: EXPRESSION_BLOCK_MS,
  outcomes: ["read", "refused"],
  open: () => ({
    run({ reader, text }) {
      try {
        READERS[reader](joinPieces(text));
        return "read";
      } catch (error) {
        if (error instanceof Problem && error.status === 400) return "refused";
        throw error;
      }
    },
  }),
};
