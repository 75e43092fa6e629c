/** What compiling an expression gives, and what it needs. `compileExpr` in `compile.ts` makes it. */

import type { RunContext, RunOptions } from "./run_context.ts";
import type { GoFunction, Value, ValueMap } from "./values.ts";

/**
 * Functions an expression sees besides the built-ins: a function, or a map of functions reached with a dot
 * (`sprig.upper`). They win over names of the environment.
 */
export type FunctionTable = ReadonlyMap<string, GoFunction | ValueMap>;

export interface CompileOptions {
  /**
   * The environment whose top-level names and kinds the expression is checked against. Properties may be getters: only
   * those of names the expression uses are read.
   */
  readonly env: ValueMap;
  readonly functions?: FunctionTable;
  /**
   * Names whose value may be anything each time: nothing of them is checked before they are reached, and what they don't
   * have is nil (`access.ts`, `fetchOpen`). Names that are not in the environment count too. Pass the same set each time.
   */
  readonly open?: ReadonlySet<string>;
  /** Whose budget compiling takes its steps from; a fresh one by default. */
  readonly context?: RunContext;
}

/** A name the expression reads from its environment, with the members after it as far as they are literal. */
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
   * @param options clock and randomness, or the evaluation that this run is a part of
   * @throws {ExprRuntimeError} when the expression fails, or its evaluation has used up a budget
   */
  readonly run: (env: ValueMap, options?: RunOptions) => Value;
}
