/** JSONPath: as a function of expressions, and in outputs of resource templates. */
import fc from "fast-check";
import { ExprRuntimeError } from "../../../src/expr/values/error.ts";
import { evaluateForUser } from "../../../src/expr/templates/evaluate_for_user.ts";
import { readKubePath } from "../../../src/executors/resource/kube_path_apply.ts";
import { type DocumentInput, documentInput, documentOf } from "../grammar/documents.ts";
import { regex } from "../grammar/regex.ts";
import { OBJECT_NAMES, shortText, wholeNumber } from "../grammar/texts.ts";
import { EXPRESSION_BLOCK_MS, type FuzzKind } from "../kind.ts";
import { joinPieces, type Piece, times } from "../pieces.ts";

const KEYS = [
  ...["metadata", "status", "conditions", "counts", "text", "type", "a", "b", "n", "length", "*"],
  ...OBJECT_NAMES,
];
const key = fc.oneof(fc.constantFrom(...KEYS), shortText);

const script = fc.letrec<{ script: string }>((tie) => ({
  script: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: key.map((one) => `@.${one}`) },
    { weight: 1, arbitrary: fc.constantFrom("@", "$", "$..a", "@.length-1", "$.status.n") },
    { weight: 2, arbitrary: wholeNumber },
    { weight: 2, arbitrary: shortText.map((text) => `'${text.replaceAll("'", "\\'")}'`) },
    {
      weight: 3,
      arbitrary: fc.tuple(
        tie("script"),
        fc.constantFrom(
          "==",
          "!=",
          "<",
          ">",
          ">=",
          "&&",
          "||",
          "+",
          "-",
          "*",
          "/",
          "%",
          "**",
          "in",
        ),
        tie("script"),
      ).map(([left, operator, right]) => `${left} ${operator} ${right}`),
    },
    {
      weight: 3,
      arbitrary: fc.tuple(tie("script"), regex)
        .map(([one, pattern]) => `${one} =~ /${pattern.replaceAll("/", "\\/")}/`),
    },
    { weight: 1, arbitrary: tie("script").map((one) => `(${one})`) },
    { weight: 1, arbitrary: tie("script").map((one) => `!${one}`) },
  ),
})).script;

const step: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: key.map((one) => `.${one}`) },
  { weight: 2, arbitrary: key.map((one) => `['${one}']`) },
  { weight: 2, arbitrary: key.map((one) => `..${one}`) },
  { weight: 1, arbitrary: fc.constantFrom("..", "..*", "[*]", ".*", "..[*]", "[?(@)]") },
  { weight: 1, arbitrary: wholeNumber.map((at) => `[${at}]`) },
  {
    weight: 1,
    arbitrary: fc.tuple(wholeNumber, wholeNumber, wholeNumber).map((all) => `[${all.join(":")}]`),
  },
  { weight: 1, arbitrary: fc.tuple(key, key).map(([a, b]) => `['${a}','${b}',0]`) },
  { weight: 4, arbitrary: script.map((one) => `[?(${one})]`) },
  { weight: 1, arbitrary: script.map((one) => `[(${one})]`) },
);
const path: fc.Arbitrary<Piece[]> = fc.tuple(
  fc.constantFrom("$", "$", "$", "@", ""),
  fc.array(fc.tuple(step, times), { minLength: 1, maxLength: 4 }),
).map(([root, steps]) => [
  root,
  ...steps.map(([text, count]): Piece => count < 200 ? text : ({ text, times: count })),
]);

export const JSONPATH: FuzzKind<{ path: Piece[]; document: DocumentInput; isTemplate: boolean }> = {
  inputs: fc.record({ path, document: documentInput, isTemplate: fc.boolean() }),
  maxBlockMs: EXPRESSION_BLOCK_MS,
  outcomes: ["found", "refused"],
  open: () => ({
    run({ path, document, isTemplate }) {
      const text = joinPieces(path);
      try {
        if (isTemplate) readKubePath(`{${text}}`, documentOf(document));
        else {
          const env = { document: JSON.stringify(documentOf(document)), path: text };
          evaluateForUser("jsonpath(document, path)", env);
        }
        return "found";
      } catch (error) {
        if (error instanceof ExprRuntimeError) return "refused";
        // Any text will do as the failure of a step, but not a defect.
        const isDefect = error instanceof TypeError || error instanceof RangeError;
        if (isTemplate && error instanceof Error && !isDefect) return "refused";
        throw error;
      }
    },
  }),
};
