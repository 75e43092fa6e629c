/** What closures share while a program runs. */

import type { FunctionTable } from "./program.ts";
import type { RunContext } from "./run_context.ts";
import type { Value, ValueMap } from "./values.ts";

/** Stands for the value of an optional chain that has met a nil. */
export const SKIP: unique symbol = Symbol("skip");

/** The state of one run. */
export interface State {
  readonly env: ValueMap;
  readonly functions: FunctionTable;
  /** Variables, and the element, index and accumulator of each collection call. */
  readonly slots: Value[];
  readonly context: RunContext;
  /** Offset of the operation that runs; where a fault is reported. */
  at: number;
}

/** A compiled node. */
export type Run = (s: State) => Value | typeof SKIP;
