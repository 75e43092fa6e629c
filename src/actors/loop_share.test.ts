import { expect, test } from "vitest";
import type { Clock } from "../platform/clock.ts";
import { LoopShare } from "./loop_share.ts";

function countingClock() {
  const at = { now: 0, rests: 0 };
  const clock: Clock = {
    now: () => at.now,
    monotonic: () => at.now,
    after: () => () => {},
    sleep: () => {
      at.rests++;
      return Promise.resolve();
    },
  };
  return { at, clock };
}

/** Takes 10 ms a step. */
function* work(at: { now: number }, steps: number): Generator<void, string> {
  for (let step = 0; step < steps; step++) {
    at.now += 10;
    yield;
  }
  return "done";
}

test("long work that begins within a turn lets others in as well", async () => {
  const { at, clock } = countingClock();
  const share = new LoopShare(clock);
  expect(await share.run(() => share.runInTurns(work(at, 20)))).toBe("done");
  expect(at.rests).toBe(5);
});

test("long works of several actors, one after the other, let others in as if they were one", async () => {
  const { at, clock } = countingClock();
  const share = new LoopShare(clock);
  for (let actor = 0; actor < 10; actor++) {
    expect(await share.runInTurns(work(at, 2))).toBe("done");
  }
  // 200 ms of work, and a rest after each that is over 30.
  expect(at.rests).toBe(5);
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
