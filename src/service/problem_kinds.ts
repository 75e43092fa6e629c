/** Kinds of refusals that callers handle instead of passing them on. */
import { isProblem, Problem, ProblemCode } from "../base/problem.ts";

/** Tells whether an error may be over at the next attempt: the store or another replica can't be reached. */
export function isTransient(error: unknown): boolean {
  return error instanceof Problem &&
    (error.code === ProblemCode.Unavailable || error.code === ProblemCode.DeadlineExceeded);
}

/** Tells whether an error says that something does not exist. */
export function isNotFound(error: unknown): boolean {
  return isProblem(error, ProblemCode.NotFound);
}

/** Tells whether an error says that a workflow does not exist any more, though perhaps another one of its name does. */
export function isGone(error: unknown): boolean {
  return isNotFound(error) || isProblem(error, ProblemCode.Aborted);
}

/** For `catch`: something that does not exist is undefined. */
export function undefinedWhenNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}
