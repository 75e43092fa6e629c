/** One expression, evaluated for a person who tries it out. */
import type { JsonObject } from "../base/json.ts";
import { ARGO_FUNCTIONS } from "./argo_functions.ts";
import { typeOf } from "./builtins_convert.ts";
import { compileExpr } from "./compile.ts";
import { isFailure } from "./error.ts";
import { goString, toJsonText, unescapeHtml } from "./go_text.ts";
import { RunContext, type RunOptions } from "./run_context.ts";
import { fromJson, type Value, type ValueMap } from "./values.ts";

/** What an expression gives, in words. */
export interface UserResult {
  /** Type in the words of the language: `string`, `int`, `array`, … */
  type: string;
  /** A string as it is, anything else as JSON; what has no JSON form as the language prints it. */
  text: string;
}

/**
 * Evaluates an expression with all functions over the names of an environment.
 * @throws {ExprCompileError} when it is not valid
 * @throws {ExprRuntimeError} when it fails
 */
export function evaluateForUser(source: string, env: JsonObject, run?: RunOptions): UserResult {
  const values = fromJson(structuredClone(env)) as ValueMap;
  const context = RunContext.of(run);
  const program = compileExpr(source, { env: values, functions: ARGO_FUNCTIONS });
  const value = program.run(values, context);
  return { type: typeOf(value), text: textOf(value, context) };
}

/** @param context the evaluation, which pays for the text of its value too */
function textOf(value: Value, context: RunContext): string {
  if (typeof value === "string") return value;
  for (
    const write of [
      (value: Value) => unescapeHtml(toJsonText(value, 0, context)),
      (value: Value) => goString(value, context),
    ]
  ) {
    try {
      return write(value);
    } catch (error) {
      if (!isFailure(error)) throw error;
    }
  }
  return "(too long to show)";
}
