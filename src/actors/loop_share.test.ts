import { expect, test } from "vitest";
import type { Clock } from "../platform/clock.ts";
import { LoopShare } from "./loop_share.ts";

test("long works of several actors, one after the other, let others in as if they were one", async () => {
  let now = 0;
  let rests = 0;
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    after: () => () => {},
    sleep: () => {
      rests++;
      return Promise.resolve();
    },
  };
  function* work(): Generator<void, string> {
    for (let step = 0; step < 2; step++) {
      now += 10;
      yield;
    }
    return "done";
  }
  const share = new LoopShare(clock);
  for (let actor = 0; actor < 10; actor++) expect(await share.runInTurns(work())).toBe("done");
  // 200 ms of work, and a rest after each that is over 30.
  expect(rests).toBe(5);
});

test("a turn may go on for 20 ms, and for so many questions where time stands still", () => {
  let now = 0;
  const clock = { monotonic: () => now } as Clock;
  const share = new LoopShare(clock);
  const questions = (stepMs: number) =>
    share.run(() => {
      let asked = 1;
      while (share.mayGoOn()) {
        now += stepMs;
        asked++;
      }
      return asked;
    });
  expect(questions(5)).toBe(5);
  expect(questions(0)).toBe(300);
  expect(questions(5)).toBe(5);
});
