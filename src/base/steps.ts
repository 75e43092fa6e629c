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

/** Goes through many items, some at a time. */
export function* eachInSteps<T>(items: Iterable<T>, visit: (item: T) => void): Steps<void> {
  let count = 0;
  for (const item of items) {
    visit(item);
    if (++count % STEP_SIZE === 0) yield;
  }
}

/** Items that are sorted at once. */
const SORTED_AT_ONCE = 4_096;

/** Sorts many items, step by step. Equal ones keep their order. */
export function* sortSteps<T>(items: Iterable<T>, compare: (a: T, b: T) => number): Steps<T[]> {
  let sorted = [...items];
  if (isSorted(sorted, compare)) return sorted;
  for (let at = 0; at < sorted.length; at += SORTED_AT_ONCE) {
    if (at > 0) yield;
    const run = sorted.slice(at, at + SORTED_AT_ONCE).sort(compare);
    for (const [offset, item] of run.entries()) sorted[at + offset] = item;
  }
  for (let size = SORTED_AT_ONCE; size < sorted.length; size *= 2) {
    const merged: T[] = [];
    for (let at = 0; at < sorted.length; at += 2 * size) {
      yield* mergeSteps(sorted, at, size, compare, merged);
    }
    sorted = merged;
  }
  return sorted;
}

function isSorted<T>(items: readonly T[], compare: (a: T, b: T) => number): boolean {
  let last = items[0];
  for (const item of items) {
    if (compare(last as T, item) > 0) return false;
    last = item;
  }
  return true;
}

/** Adds two sorted runs of a list, one after the other in it, as one. @param size of the first run */
function* mergeSteps<T>(
  items: readonly T[],
  at: number,
  size: number,
  compare: (a: T, b: T) => number,
  merged: T[],
): Steps<void> {
  let [first, second] = [at, at + size];
  const [firstEnd, end] = [Math.min(second, items.length), Math.min(second + size, items.length)];
  while (first < firstEnd || second < end) {
    if (merged.length % SORTED_AT_ONCE === 0) yield;
    const takesFirst = second >= end ||
      (first < firstEnd && compare(items[first] as T, items[second] as T) <= 0);
    merged.push(items[takesFirst ? first++ : second++] as T);
  }
}
