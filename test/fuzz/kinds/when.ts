/** The `when` of steps, tasks and cron workflows, and the `depends` of tasks. */
import fc from "fast-check";
import { ExpressionError } from "../../../src/expr/templates/contexts.ts";
import {
  dependsProblem,
  dependsReferences,
  evaluateDepends,
  expandDepends,
} from "../../../src/expr/templates/depends.ts";
import { evaluateCronWhen, evaluateWhen, WhenError } from "../../../src/expr/when/when.ts";
import { regex } from "../grammar/regex.ts";
import { OBJECT_NAMES, shortText, wholeNumber } from "../grammar/texts.ts";
import { EXPRESSION_BLOCK_MS, type FuzzKind } from "../kind.ts";
import { joinPieces, type Piece, times } from "../pieces.ts";

const quote = (text: string) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`;

/** Operands; long texts come from tags, which are replaced before. */
const operand: fc.Arbitrary<Piece[]> = fc.oneof(
  { weight: 4, arbitrary: shortText.map((one) => [quote(one)]) },
  { weight: 2, arbitrary: shortText.map((one) => [one]) },
  { weight: 2, arbitrary: wholeNumber.map((one) => [one]) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("true", "false", "1.5", "'x'", "2024-01-01").map((one) => [one]),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom("a", "ab", "\\\\", "é", "(", " "), times)
      .map(([text, count]) => ['"', { text, times: count }, '"']),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(shortText, times)
      .map(([text, count]) => ["(", { text: `${quote(text)}, `, times: count }, "1)"]),
  },
);
const comparison: fc.Arbitrary<Piece[]> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(
      operand,
      fc.constantFrom("==", "!=", "<", ">=", "in", "+", "-", "*", "**", "%", "<<", "??", "=", "&"),
      operand,
    ).map(([left, operator, right]) => [...left, ` ${operator} `, ...right]),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(operand, fc.constantFrom("=~", "!~"), regex)
      .map(([text, operator, pattern]) => [...text, ` ${operator} ${quote(pattern)}`]),
  },
  { weight: 1, arbitrary: operand },
);
const logic: fc.Arbitrary<Piece[]> = fc.letrec<{ logic: Piece[] }>((tie) => ({
  logic: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: comparison },
    {
      weight: 2,
      arbitrary: fc.tuple(tie("logic"), fc.constantFrom("&&", "||", "?", ":"), tie("logic"))
        .map(([left, operator, right]) => [...left, ` ${operator} `, ...right]),
    },
    { weight: 1, arbitrary: tie("logic").map((one) => ["!(", ...one, ")"]) },
    {
      weight: 1,
      arbitrary: fc.tuple(
        tie("logic"),
        fc.constantFrom<[string, string]>(["(", ")"], ["!", ""], ["", " && true"], [
          "1 == 1 || ",
          "",
        ]),
        times,
      ).map(([one, [open, close], count]) => [
        { text: open, times: count },
        ...one,
        { text: close, times: count },
      ]),
    },
  ),
})).logic;

const task = fc.constantFrom(
  "a",
  "b",
  "a-b",
  "c.Succeeded",
  "a.Failed",
  "b.Nothing",
  ...OBJECT_NAMES,
);
const depends: fc.Arbitrary<Piece[]> = fc.array(
  fc.tuple(
    fc.oneof(task, shortText),
    fc.constantFrom(" && ", " || ", " ", " && !", ") && (", " || ("),
    times,
  ).map(([one, operator, count]): Piece => ({ text: one + operator, times: Math.max(1, count) })),
  { maxLength: 4 },
).map((all) => [...all, "a"]);

type Input = { type: "when" | "cron" | "depends"; pieces: Piece[] };

export const WHEN: FuzzKind<Input> = {
  inputs: fc.oneof(
    { weight: 5, arbitrary: logic.map((pieces): Input => ({ type: "when", pieces })) },
    { weight: 1, arbitrary: logic.map((pieces): Input => ({ type: "cron", pieces })) },
    { weight: 2, arbitrary: depends.map((pieces): Input => ({ type: "depends", pieces })) },
  ),
  maxBlockMs: EXPRESSION_BLOCK_MS,
  outcomes: ["true", "false", "refused", "no-depends"],
  open: () => ({
    run({ type, pieces }) {
      const text = joinPieces(pieces);
      if (type === "depends") return runDepends(text);
      try {
        return String(type === "when" ? evaluateWhen(text) : evaluateCronWhen(text));
      } catch (error) {
        if (error instanceof WhenError) return "refused";
        throw error;
      }
    },
  }),
};

function runDepends(text: string): string {
  if (dependsProblem(text) !== undefined) return "refused";
  const results = new Map(
    dependsReferences(text).map(({ task }) => [task, { Succeeded: true, Failed: false }]),
  );
  const logic = expandDepends(text, () => ({ failed: true }));
  try {
    return String(evaluateDepends(logic, results));
  } catch (error) {
    if (error instanceof ExpressionError) return "no-depends";
    throw error;
  }
}
