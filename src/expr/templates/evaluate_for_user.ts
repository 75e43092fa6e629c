/** One expression, evaluated for a person who tries it out. */
import type { JsonObject } from "../../base/json.ts";
import { ARGO_FUNCTIONS } from "../functions/argo_functions.ts";
import { typeOf } from "../functions/builtins_convert.ts";
import { compileExpr } from "../language/compile.ts";
import { isFailure } from "../values/error.ts";
import { goString, toJsonText, unescapeHtml } from "../values/go_text.ts";
import { RunContext, type RunOptions } from "../values/run_context.ts";
import { fromJson, type Value, type ValueMap } from "../values/values.ts";

/** The value of an expression, in words. */
export interface UserResult {
  /** Type in the words of the language: `string`, `int`, `array`, … */
  type: string;
  /** A string as it is, anything else as JSON; if it has no JSON form, as the language prints it. */
  text: string;
}

/**
 * Evaluates an expression over an environment, with all functions.
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

/** @param context the evaluation, which also pays for the text of the value */
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
