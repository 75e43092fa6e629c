/** What compiling an expression needs, and its result. `compileExpr` in `compile.ts` does it. */

import type { RunContext, RunOptions } from "../values/run_context.ts";
import type { FunctionTable, Value, ValueMap } from "../values/values.ts";

export interface CompileOptions {
  /**
   * The environment against whose top-level names and kinds the expression is checked. Properties may be getters: only
   * those that the expression uses are read.
   */
  readonly env: ValueMap;
  readonly functions?: FunctionTable;
  /**
   * Names whose values may be anything each time: they are not checked before the run, and what they don't have is nil
   * (`values/access.ts`, `fetchOpen`). They need not be in the environment. Pass the same set each time.
   */
  readonly open?: ReadonlySet<string>;
  /** The evaluation whose budget pays for compiling; a new one by default. */
  readonly context?: RunContext;
}

/** A name that the expression reads from its environment, with the members after it as far as they are literal. */
export interface Reference {
  /** `inputs.parameters['my-p']` is `["inputs", "parameters", "my-p"]`. */
  readonly path: readonly string[];
  /** Behind `?.` or on the left of `??`: it may be absent. */
  readonly guarded: boolean;
  /** The name was made by `let` in the expression itself. */
  readonly local: boolean;
  /** Offset of the name in the source, in UTF-16 units. */
  readonly offset: number;
}

/** A compiled expression. It may be run any number of times with environments of the same top-level kinds. */
export interface Program {
  readonly source: string;
  readonly references: readonly Reference[];
  /** Steps that compiling took. */
  readonly compileSteps: number;
  /**
   * @param options clock and randomness, or the evaluation to which this run belongs
   * @throws {ExprRuntimeError} when the expression fails, or its evaluation has exhausted a budget
   */
  readonly run: (env: ValueMap, options?: RunOptions) => Value;
}
