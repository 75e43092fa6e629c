/** The expression of a subscription: which changes of workflows it is about. */
import type { Json } from "../../base/json.ts";
import { ARGO_FUNCTIONS } from "../functions/argo_functions.ts";
import { compileExpr } from "../language/compile.ts";
import { ProgramCache } from "../language/program_cache.ts";
import { ExprCompileError } from "../values/error.ts";
import { RunContext, type RunOptions, STEP_BUDGET } from "../values/run_context.ts";
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

/** Steps that all expressions of one namespace may take for one change: at most 50 ms, mostly a tenth of that. */
const CHANGE_BUDGET = 500_000;
/** Compiled expressions that are kept: those of all subscriptions must fit, or each change compiles them again. */
const programs = new ProgramCache(1_000);

/**
 * Decides which of several subscriptions are about one change. They share a budget: each may take an even share of what those
 * before it have left.
 */
export class SubscribedExpressions {
  readonly #facts: SubscribedFacts;
  #env: ValueMap | undefined;
  #steps = CHANGE_BUDGET;
  #left: number;

  readonly #options: RunOptions;

  /**
   * @param count how many will be asked for
   * @param options the clock
   */
  constructor(facts: SubscribedFacts, count: number, options: RunOptions) {
    this.#facts = facts;
    this.#left = count;
    this.#options = options;
  }

  /** @throws {ExpressionError} when the expression is wrong, fails, takes too long or gives neither true nor false */
  holds(source: string): boolean {
    const run = new RunContext(this.#options);
    const share = Math.floor(this.#steps / Math.max(1, this.#left--));
    if (share < STEP_BUDGET) run.allow(share - STEP_BUDGET);
    const before = run.stepsTaken;
    try {
      const env = this.#env ??= envOf(this.#facts);
      return evaluateBoolean(source, env, {
        functions: ARGO_FUNCTIONS,
        open: OPEN,
        cache: programs,
        run,
      });
    } finally {
      this.#steps -= run.stepsTaken - before;
    }
  }
}

function envOf(facts: SubscribedFacts): ValueMap {
  return fromJson({ ...facts } as never) as ValueMap;
}
