import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { Deadlines } from "./deadlines.ts";

test("ends each wait at its own time, unless it was over before", async () => {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock, 1_000);
  const late: string[] = [];
  const over = deadlines.add(() => late.push("a"));
  await clock.advance(300);
  deadlines.add(() => {
    late.push("b");
    deadlines.add(() => late.push("d"));
  });
  await clock.advance(300);
  deadlines.add(() => late.push("c"));
  over();
  await clock.advance(600);
  expect(late).toEqual([]);
  await clock.advance(100);
  expect(late).toEqual(["b"]);
  await clock.advance(300);
  expect(late).toEqual(["b", "c"]);
  await clock.advance(700);
  expect(late).toEqual(["b", "c", "d"]);
});

test("a promise that settles in time keeps its outcome, another one fails", async () => {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock, 1_000);
  const late = () => new Error("late");
  const mend = (error: unknown) => error === 2 ? 3 : Promise.reject(error);
  const quick = deadlines.bound(Promise.resolve(1), late, mend);
  const slow = deadlines.bound(new Promise(() => {}), late, mend);
  const outcome = expect(slow).rejects.toThrow("late");
  expect(await quick).toBe(1);
  expect(await deadlines.bound(Promise.reject(2), late, mend)).toBe(3);
  await expect(deadlines.bound(Promise.reject(4), late, mend)).rejects.toBe(4);
  await clock.advance(1_000);
  await outcome;
});

test("all waits can be ended at once", async () => {
  const clock = new ManualClock();
  const deadlines = new Deadlines(clock, 1_000);
  let late = 0;
  deadlines.add(() => late++);
  deadlines.add(() => late++);
  deadlines.expire();
  expect(late).toBe(2);
  await clock.advance(5_000);
  expect(late).toBe(2);
});

test("waits that all come to their end share timers", async () => {
  const clock = new ManualClock();
  let timers = 0;
  const counted = {
    monotonic: () => clock.monotonic(),
    after(ms: number, run: () => void) {
      timers++;
      return clock.after(ms, run);
    },
  };
  const deadlines = new Deadlines(counted, 10_000);
  let late = 0;
  for (let i = 0; i < 1_000; i++) {
    deadlines.add(() => void late++);
    await clock.advance(1);
  }
  await clock.advance(10_200);
  expect(late).toBe(1_000);
  expect(timers).toBeLessThan(15);
});
