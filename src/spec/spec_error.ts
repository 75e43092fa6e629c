/** Refusals of manifests that are well-formed but not valid. */
import { Problem, ProblemCode } from "../base/problem.ts";

/** A manifest breaks a rule; the text names the place as the reference does. */
export class SpecError extends Problem {
  constructor(message: string) {
    super(ProblemCode.InvalidArgument, message);
    this.name = "SpecError";
  }
}

/**
 * Runs `check`, and puts `prefix` before the text of any {@link SpecError} that it throws. Other errors pass unchanged.
 */
export function withPrefix<T>(prefix: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof SpecError) throw new SpecError(`${prefix}${error.message}`);
    throw error;
  }
}
