/** Random workflows: each comes to its end, with all that belongs to it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { carryOut, faultsOf } from "../../test/support/random_runs.ts";
import { randomRuns } from "../../test/support/random_workflows.ts";

test("a workflow ends with all its nodes, tasks and locks, its progress adds up, and each task starts once", () => {
  fc.assert(
    fc.property(randomRuns(3), (run) => {
      expect(faultsOf(run, carryOut(run))).toEqual([]);
    }),
    { numRuns: 150 },
  );
});
