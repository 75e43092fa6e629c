/** What closures share while a program runs. */

import type { RunContext } from "../values/run_context.ts";
import type { FunctionTable, Value, ValueMap } from "../values/values.ts";

/** The value of an optional chain that has met a nil. */
export const SKIP: unique symbol = Symbol("skip");

/** The state of one run. */
export interface State {
  readonly env: ValueMap;
  readonly functions: FunctionTable;
  /** Variables, and the element, index and accumulator of each collection call. */
  readonly slots: Value[];
  readonly context: RunContext;
  /** Offset of the current operation, where a fault is reported. */
  at: number;
}

/** A compiled node. */
export type Run = (s: State) => Value | typeof SKIP;
