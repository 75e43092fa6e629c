/**
 * Long work that can be interrupted: a generator that yields wherever others may have their turn. Callers that can't
 * wait run it to its end; `platform/turns.ts` runs it a little at a time.
 */

/** Work with a result, interrupted at every yield. */
export type Steps<T> = Generator<void, T>;

/** Number of small pieces of work, such as nodes, between two yields. */
export const STEP_SIZE = 500;

/** Does all of the work at once. */
export function runToEnd<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
