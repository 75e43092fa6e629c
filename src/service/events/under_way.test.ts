import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { Deadlines } from "../../platform/deadlines.ts";
import { UnderWay } from "./under_way.ts";

function setting() {
  const clock = new ManualClock();
  const underWay = new UnderWay(2, new Deadlines(clock, 100));
  const works = [0, 1].map(() => Promise.withResolvers<void>());
  for (const { promise } of works) underWay.add(promise);
  return { clock, underWay, works };
}

test("all are waited for, and those that take long only until another one may begin", async () => {
  const { clock, underWay, works: [first, second] } = setting();
  let isSettled = false;
  const settled = underWay.settled().then(() => {
    isSettled = true;
  });
  await clock.advance(200);
  expect([isSettled, underWay.room]).toEqual([false, 0]);
  first?.resolve();
  await settled;
  expect([underWay.room, underWay.isEmpty]).toEqual([1, false]);
  second?.resolve();
  await underWay.ended();
  expect([underWay.room, underWay.isEmpty]).toEqual([2, true]);
  await underWay.settled();
});

test("a failure is told, and the others are waited for all the same", async () => {
  const { underWay, works: [first, second] } = setting();
  const settled = underWay.settled();
  first?.reject(new Error("defect"));
  second?.resolve();
  await expect(settled).rejects.toThrow("defect");
  await underWay.ended();
  expect(underWay.isEmpty).toBe(true);
});
