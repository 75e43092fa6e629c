/** What one run of a program carries along: its budgets, and the clock and randomness it was given. */

import { fault } from "./error.ts";

/** Units of memory one run may produce: list elements, map entries, bytes of repeated strings. */
export const MEMORY_BUDGET = 1_000_000;
/** Steps one run may take, each some tenths of a microsecond: evaluating a predicate, looking at elements or text. */
export const STEP_BUDGET = 1_000_000;
/** Characters of strings one run may produce. */
export const TEXT_BUDGET = 8_000_000;

/** The outside facts a run may ask for. What is absent makes the functions that need it fail. */
export interface RunOptions {
  /** Present time in milliseconds since 1970, for `now()`. */
  readonly now?: () => number;
  /** Random number in [0, 1), for the random functions. */
  readonly random?: () => number;
}

/** The state of one run. Functions get it as their last argument. */
export class RunContext {
  readonly #options: RunOptions;
  #memory = MEMORY_BUDGET;
  #steps = STEP_BUDGET;
  #text = TEXT_BUDGET;

  constructor(options: RunOptions = {}) {
    this.#options = options;
  }

  /** Takes memory units from the budget. @throws {Fault} when none are left */
  spend(units: number): void {
    this.#memory -= units;
    if (!(this.#memory > 0)) fault("memory budget exceeded");
  }

  /** Takes steps from the budget. @throws {Fault} when none are left */
  step(count = 1): void {
    this.#steps -= count;
    if (!(this.#steps > 0)) fault("step budget exceeded");
  }

  /** Takes characters from the budget of produced strings. @throws {Fault} when none are left */
  produce(length: number): void {
    this.#text -= length;
    if (!(this.#text > 0)) fault("memory budget exceeded");
  }

  /** Present time in milliseconds since 1970. @throws {Fault} when the place has no clock */
  now(): number {
    return this.#options.now?.() ?? fault("the present time is not available here");
  }

  /** Random number in [0, 1). @throws {Fault} when the place has no randomness */
  random(): number {
    return this.#options.random?.() ?? fault("random values are not available here");
  }
}
