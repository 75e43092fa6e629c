/**
 * Long work that can be interrupted: a generator that yields wherever others may have their turn. Whoever may not wait runs it to
 * its end; `platform/turns.ts` runs it a little at a time.
 */

/** Work with a result, interrupted at every yield. */
export type Steps<T> = Generator<void, T>;

/** Pieces of work between two yields: of small things such as nodes, so many. */
export const STEP_SIZE = 500;

/** Does all of the work at once. */
export function runToEnd<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
