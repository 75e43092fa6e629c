/**
 * The state of one evaluation: its budgets, its clock and its randomness. One evaluation is everything that is computed
 * for one purpose: an expression; the tags of one node; the selector and the parameters of one binding.
 */

import type { Budget } from "./budget.ts";
import { BudgetExceeded, Fault, fault } from "./error.ts";
import type { Pattern } from "./regex.ts";

/** Units of memory that one evaluation may use: list elements, map entries, bytes of repeated strings. */
export const MEMORY_BUDGET = 1_000_000;
/**
 * Steps that one evaluation may take. A step is at most a tenth of a microsecond of processor time: every function
 * charges for its slowest case, which `budgets.test.ts` measures.
 */
export const STEP_BUDGET = 250_000;
/** Characters that one evaluation may produce. */
export const TEXT_BUDGET = 8_000_000;

/** Steps for a caught failure. */
const STEPS_PER_FAULT = 200;
/** Steps for a random number; a source of randomness may be slow. */
const STEPS_PER_RANDOM = 20;

/** What an evaluation may need from outside. If something is absent, the functions that need it fail. */
export interface RunOptions {
  /** Present time in milliseconds since 1970, for `now()`. */
  readonly now?: () => number;
  /** Random number in [0, 1), for the random functions. */
  readonly random?: () => number;
}

/** The state of one evaluation. Functions get it as their last argument; several runs may share one. */
export class RunContext implements RunOptions, Budget {
  readonly #now: (() => number) | undefined;
  readonly #random: (() => number) | undefined;
  #memory = MEMORY_BUDGET;
  #steps = STEP_BUDGET;
  #text = TEXT_BUDGET;
  #allowed = 0;
  #patterns: Map<string, Pattern> | undefined;

  constructor(options: RunOptions = {}) {
    this.#now = options.now;
    this.#random = options.random;
  }

  /** The given context itself, or a new one with the given clock and randomness. */
  static of(options: RunOptions | undefined): RunContext {
    return options instanceof RunContext ? options : new RunContext(options);
  }

  /** Takes memory units from the budget. @throws {BudgetExceeded} when none are left */
  spend(units: number): void {
    this.#memory -= units;
    this.#steps -= units / 16;
    if (!(this.#memory > 0)) throw new BudgetExceeded("memory budget exceeded");
    if (!(this.#steps > 0)) throw this.#tooManySteps();
  }

  /** Takes steps from the budget; a fraction counts. @throws {BudgetExceeded} when none are left */
  step(count = 1): void {
    this.#steps -= count;
    if (!(this.#steps > 0)) throw this.#tooManySteps();
  }

  /** Takes characters from the budget of produced strings. @throws {BudgetExceeded} when none are left */
  produce(length: number): void {
    this.#text -= length;
    this.#steps -= length / 64;
    if (!(this.#text > 0)) throw new BudgetExceeded("memory budget exceeded");
    if (!(this.#steps > 0)) throw this.#tooManySteps();
  }

  /** Steps taken so far. */
  get stepsTaken(): number {
    return STEP_BUDGET + this.#allowed - this.#steps;
  }

  /** Resets it for a new evaluation, with full budgets. */
  renew(): void {
    this.#memory = MEMORY_BUDGET;
    this.#steps = STEP_BUDGET;
    this.#text = TEXT_BUDGET;
    this.#allowed = 0;
    this.#patterns = undefined;
  }

  /**
   * Adds steps to the budget: for work that grows with the number of its parts, each of which is small. Negative: takes them
   * away, since others need a share.
   */
  allow(steps: number): void {
    this.#allowed += steps;
    this.#steps += steps;
  }

  /** The result of a function, or something else if it fails; making an error is expensive. */
  orElse<T>(run: () => T, otherwise: (fault: Fault) => T): T {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.step(STEPS_PER_FAULT);
      return otherwise(error);
    }
  }

  /**
   * The pattern of a regular expression. Its first use in an evaluation costs the steps of compiling it, even if
   * another evaluation has left it in a cache: what an evaluation may do depends only on itself.
   */
  pattern(source: string, compile: (source: string) => Pattern): Pattern {
    const known = this.#patterns?.get(source);
    if (known !== undefined) {
      this.step(1 + (source.length >> 6));
      return known;
    }
    const pattern = compile(source);
    this.#patterns ??= new Map();
    this.#patterns.set(source, pattern);
    return pattern;
  }

  /** Present time in milliseconds since 1970. @throws {Fault} when there is no clock */
  now(): number {
    return this.#now?.() ?? fault("the present time is not available here");
  }

  /** Random number in [0, 1). @throws {Fault} when there is no source of randomness */
  random(): number {
    this.step(STEPS_PER_RANDOM);
    return this.#random?.() ?? fault("random values are not available here");
  }

  #tooManySteps(): BudgetExceeded {
    const most = STEP_BUDGET + Math.min(0, Math.floor(this.#allowed));
    return new BudgetExceeded(
      `step budget exceeded: the expression takes more than ${most} steps; shorten the texts, lists and patterns it works on`,
    );
  }
}
