/** Texts with tags, replaced as the parts of manifests are. */
import fc from "fast-check";
import { ARGO_FUNCTIONS } from "../../../src/expr/functions/argo_functions.ts";
import { scopeOf } from "../../../src/expr/language/scope.ts";
import { tagsOf } from "../../../src/expr/templates/tags.ts";
import { substitute, TemplateError } from "../../../src/expr/templates/template.ts";
import { expressionPieces } from "../grammar/expressions.ts";
import { OBJECT_NAMES, shortText } from "../grammar/texts.ts";
import { EXPRESSION_BLOCK_MS, type FuzzKind } from "../kind.ts";
import { joinPieces, type Piece, times } from "../pieces.ts";

const VARIABLES = {
  "workflow.name": "w",
  "inputs.parameters.message": "Grüße",
  "inputs.parameters.tag": "{{inputs.parameters.tag}}",
  "inputs.parameters.list": "[1,2,3]",
  "inputs.parameters.long": "ab{{".repeat(10_000),
  "steps.a.outputs.result": null,
  item: { a: 1, __proto__x: "b" },
};

const name = fc.constantFrom(
  ...Object.keys(VARIABLES),
  ...["item.a", "inputs.parameters", "workflow", "unknown", "steps.x.outputs.result", ""],
  ...OBJECT_NAMES,
  ...OBJECT_NAMES.map((one) => `item.${one}`),
);
const tag: fc.Arbitrary<Piece[]> = fc.oneof(
  name.map((one) => [`{{${one}}}`]),
  name.map((one) => [`{{ ${one} }}`]),
  expressionPieces.map((pieces) => ["{{=", ...pieces, "}}"]),
  fc.tuple(name, times).map(([one, count]) => [
    { text: "{{", times: count },
    one,
    { text: "}}", times: count },
  ]),
  fc.tuple(name, times).map(([one, count]) => [{ text: `{{${one}}}`, times: count }]),
  shortText.map((one) => [one]),
  times.map((count) => [{ text: "{{", times: count }]),
);

type Missing = "error" | "keep" | { errorUnder: string[] };

export const TEMPLATE: FuzzKind<{ parts: Piece[][]; missing: Missing }> = {
  inputs: fc.record({
    parts: fc.array(tag, { minLength: 1, maxLength: 4 }),
    missing: fc.constantFrom<Missing>("error", "keep", { errorUnder: ["inputs", "workflow"] }),
  }),
  maxBlockMs: EXPRESSION_BLOCK_MS,
  outcomes: ["replaced", "unresolved", "absent", "expression"],
  open: () => ({
    run({ parts, missing }) {
      const text = joinPieces(parts.flat());
      tagsOf(text);
      try {
        substitute({ [text.slice(0, 100)]: [text] }, scopeOf(VARIABLES), {
          missing,
          functions: ARGO_FUNCTIONS,
          run: { now: () => 0, random: () => 0.5 },
        });
        return "replaced";
      } catch (error) {
        if (error instanceof TemplateError) return error.kind;
        throw error;
      }
    },
  }),
};
