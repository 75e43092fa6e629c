import fc from "fast-check";
import { expect, test } from "vitest";
import { runToEnd, sortSteps } from "./steps.ts";

const byKey = ([a]: readonly number[], [b]: readonly number[]) => (a ?? 0) - (b ?? 0);

test("many items are sorted a little at a time, and equal ones keep their order", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 30_000 }),
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.integer(),
      (count, keys, seed) => {
        const random = (i: number) => Math.imul(i ^ seed, 2654435761) >>> 8;
        const items = Array.from({ length: count }, (_, i) => [random(i) % keys, i] as const);
        const steps = sortSteps(items, byKey);
        let pauses = 0;
        for (;;) {
          const { done, value } = steps.next();
          if (done === true) {
            expect(value).toEqual(items.toSorted(byKey));
            break;
          }
          pauses++;
        }
        if (count > 10_000 && keys > 1) expect(pauses).toBeGreaterThan(count / 4_096);
      },
    ),
    { numRuns: 20 },
  );
});

test("what is in order stays as it is, without a pause", () => {
  const items = Array.from({ length: 10_000 }, (_, i) => i);
  const steps = sortSteps(items, (a, b) => a - b);
  expect(steps.next()).toEqual({ done: true, value: items });
  expect(runToEnd(sortSteps([], () => 0))).toEqual([]);
});
