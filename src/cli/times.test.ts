import { expect, test } from "vitest";
import { moment, span, spanWords } from "./times.ts";

test.each([
  [0, "0s", "0 seconds"],
  [999, "0s", "0 seconds"],
  [61_000, "1m1s", "1 minute 1 second"],
  [3_600_000, "1h", "1 hour"],
  [90_061_000, "1d1h", "1 day 1 hour"],
])("%d ms are %s", (ms, short, words) => {
  expect(span(ms)).toBe(short);
  expect(spanWords(ms)).toBe(words);
});

test("moment() says when and how long ago", () => {
  const now = Date.parse("2026-02-03T10:00:00Z");
  expect(moment("2026-02-01T09:00:00Z", now)).toMatch(
    /^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d [+-]\d{4} \(2 days ago\)$/,
  );
  expect(moment("2026-02-03T10:00:30Z", now)).toMatch(/\(30 seconds from now\)$/);
  expect(moment("2026-02-03T10:00:00Z", now)).toMatch(/\(now\)$/);
});
