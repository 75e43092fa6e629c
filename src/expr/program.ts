/** What compiling an expression gives, and what it needs. `compileExpr` in `compile.ts` makes it. */

import type { RunOptions } from "./run_context.ts";
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
  /** @throws {ExprRuntimeError} when the expression fails */
  readonly run: (env: ValueMap, options?: RunOptions) => Value;
}
