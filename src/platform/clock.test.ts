import fc from "fast-check";
import { expect, test } from "vitest";
import { untilBeat } from "./clock.ts";

test("pauses of about the same length that begin at different times end at the same beat", () => {
  expect([960, 980.4, 1_000, 1_020, 1_039.9].map((now) => now + untilBeat(now, 1_000)))
    .toEqual([2_000, 2_000.4, 2_000, 2_000, 2_000.9]);
});

test("a pause is never more than half a beat from what was asked for, and never ends before its beat", () => {
  const time = fc.double({ min: 0, max: 1e9, noNaN: true });
  fc.assert(fc.property(time, fc.integer({ min: 200, max: 60_000 }), (now, ms) => {
    const pause = untilBeat(now, ms);
    expect(Number.isInteger(pause)).toBe(true);
    expect(Math.abs(pause - ms)).toBeLessThanOrEqual(51);
    expect((now + pause) % 100).toBeLessThan(1.001);
  }));
});

test("a short pause stays as it is, and never becomes none", () => {
  expect([0, 10, 49, 51, 99].map((now) => untilBeat(now, 25))).toEqual([25, 25, 25, 25, 25]);
});
