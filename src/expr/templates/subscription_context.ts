/** The expression of a subscription: which changes of workflows it is about. */
import type { Json } from "../../base/json.ts";
import { ARGO_FUNCTIONS } from "../functions/argo_functions.ts";
import { compileExpr } from "../language/compile.ts";
import { ExprCompileError } from "../values/error.ts";
import { RunContext } from "../values/run_context.ts";
import { fromJson, type ValueMap } from "../values/values.ts";
import { evaluateBoolean } from "./contexts.ts";

/** What an expression sees. */
export interface SubscribedFacts {
  /** Name of the change, such as `Failed`. */
  change: string;
  workflow: { [member: string]: Json };
  /** Of a change of a node. */
  node: { [member: string]: Json } | null;
}

/** Any member of these may be named: what is not there is nil. */
const OPEN: ReadonlySet<string> = new Set(["workflow", "node"]);

const NOTHING: SubscribedFacts = { change: "", workflow: {}, node: {} };

/** What is wrong with an expression; undefined when it can be compiled. */
export function subscriptionExpressionFault(source: string): string | undefined {
  const context = new RunContext();
  const env = envOf(NOTHING);
  try {
    compileExpr(source, { env, functions: ARGO_FUNCTIONS, open: OPEN, context });
    return undefined;
  } catch (error) {
    if (error instanceof ExprCompileError) return error.message;
    throw error;
  }
}

/**
 * Decides whether a subscription is about a change.
 * @throws {ExpressionError} when the expression is wrong, fails or gives neither true nor false
 */
export function isSubscribed(source: string, facts: SubscribedFacts): boolean {
  return evaluateBoolean(source, envOf(facts), { functions: ARGO_FUNCTIONS, open: OPEN });
}

function envOf(facts: SubscribedFacts): ValueMap {
  return fromJson({ ...facts } as never) as ValueMap;
}
