/** Expressions, evaluated with every function there is. */
import { ExprCompileError, ExprRuntimeError } from "../../../src/expr/values/error.ts";
import { evaluateForUser } from "../../../src/expr/templates/evaluate_for_user.ts";
import { ENVIRONMENT, expressionPieces } from "../grammar/expressions.ts";
import { EXPRESSION_BLOCK_MS, type FuzzKind } from "../kind.ts";
import { joinPieces, type Piece } from "../pieces.ts";

export const EXPRESSION: FuzzKind<Piece[]> = {
  inputs: expressionPieces,
  maxBlockMs: EXPRESSION_BLOCK_MS,
  outcomes: ["value", "compile-error", "run-error"],
  open: () => ({
    run(pieces) {
      try {
        evaluateForUser(joinPieces(pieces), ENVIRONMENT, { now: () => 0, random: () => 0.5 });
        return "value";
      } catch (error) {
        if (error instanceof ExprCompileError) return "compile-error";
        if (error instanceof ExprRuntimeError) return "run-error";
        throw error;
      }
    },
  }),
};
