/** Where long work takes its steps from; `RunContext` is the budget of an evaluation. */
export interface Budget {
  /** Takes steps; a fraction counts. @throws {BudgetExceeded} when none are left */
  step(count?: number): void;
}
