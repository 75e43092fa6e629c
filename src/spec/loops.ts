/** Steps and tasks that run once for each element of a list. */
import type { StepLike } from "./manifest.ts";

/** Tells whether a step is a loop. Its list may be empty. */
export function isLoop(step: StepLike): boolean {
  return step.withItems !== undefined || (step.withParam ?? "") !== "" ||
    step.withSequence !== undefined;
}

/** Tells whether it is a loop over a list or a text, whose outputs others read as lists. A list without items is no loop. */
export function isAggregated(step: StepLike): boolean {
  return (step.withItems ?? []).length > 0 || (step.withParam ?? "") !== "";
}

/** Tells whether it is a loop over a list with items, a text or a sequence. */
export function hasElements(step: StepLike): boolean {
  return isAggregated(step) || step.withSequence !== undefined;
}
