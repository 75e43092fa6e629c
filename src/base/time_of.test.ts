import { expect, test } from "vitest";
import { timeOf } from "./time_of.ts";

test.each([
  ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z"],
  ["2026-01-31T12:00:00.5+02:00", "2026-01-31T10:00:00.500Z"],
  ["2026-01-31", "2026-01-31T00:00:00.000Z"],
  ["2028-02-29", "2028-02-29T00:00:00.000Z"],
  ["2026-12-31T23:59:59Z", "2026-12-31T23:59:59.000Z"],
])("%s is a time", (text, want) => {
  expect(new Date(timeOf(text) ?? NaN).toISOString()).toBe(want);
});

test.each(["", "yesterday", "2026-02-29", "2026-02-31T00:00:00Z", "2026-04-31", "2026-13-01"])(
  "%j is none",
  (text) => {
    expect(timeOf(text)).toBeUndefined();
  },
);
