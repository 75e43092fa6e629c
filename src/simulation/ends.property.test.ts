/** Random workflows: each comes to its end, with all that belongs to it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { carryOn, carryOut, faultsOf, outcomeOf } from "../../test/support/random_runs.ts";
import { randomRuns } from "../../test/support/random_workflows.ts";

test("a workflow ends with all its nodes, tasks and locks, its progress adds up, and each task starts once", () => {
  fc.assert(
    fc.property(randomRuns(3), (run) => {
      const isRetried = run.orders.some(({ request }) => request.type === "retry");
      expect(faultsOf(carryOut(run), isRetried)).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

test.each(["retry", "resubmit"] as const)(
  "after a %s it also ends, and is the same when it is loaded again after each step",
  (how) => {
    fc.assert(
      fc.property(randomRuns(2), (run) => {
        const simulation = carryOut(run);
        const name = carryOn(simulation, how);
        if (name === undefined) return;
        expect(faultsOf(simulation, true, name)).toEqual([]);
        const forgetful = carryOut(run, { isForgetful: true });
        carryOn(forgetful, how);
        expect(outcomeOf(forgetful, name)).toEqual(outcomeOf(simulation, name));
      }),
      { numRuns: 30 },
    );
  },
);
