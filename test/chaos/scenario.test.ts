/** What holds for every scenario, whatever its fault. */
import { expect, test } from "vitest";
import { type ChaosRun, runScenario, type Scenario } from "./scenario.ts";

const options = { seconds: 0, isShort: true, random: () => 0, say() {} };

function scenarioThat(run: (run: ChaosRun) => Promise<void>): Scenario {
  return {
    name: "F0-none",
    about: "none",
    seconds: 0,
    async run(chaos) {
      await run(chaos);
      return { violations: [], alive: { done: 1, wanted: 1 }, figures: {} };
    },
  };
}

test("what a scenario starts is ended, the last one first", async () => {
  const ended: string[] = [];
  await runScenario(
    scenarioThat((run) => {
      for (const name of ["redis", "servers"]) run.onEnd(() => ended.push(name));
      return Promise.resolve();
    }),
    options,
  );
  expect(ended).toEqual(["servers", "redis"]);
});

test("what it starts after it was interrupted is ended too", async () => {
  const ended: string[] = [];
  const interruption = Promise.withResolvers<never>();
  const scenario = scenarioThat(async (run) => {
    run.onEnd(() => ended.push("first"));
    interruption.reject(new Error("interrupted"));
    await interruption.promise.catch(() => {});
    await new Promise((done) => setTimeout(done, 20));
    run.onEnd(() => ended.push("late"));
  });
  await expect(runScenario(scenario, options, interruption.promise)).rejects.toThrow("interrupted");
  expect(ended).toEqual(["first", "late"]);
});
