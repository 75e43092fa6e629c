import { scaleUtc } from "d3-scale";
import { expect, it } from "vitest";
import { ticksOf, tickText } from "./ticks.ts";

it.each([60, 100, 200, 350, 1_200])("texts of ticks have room on %i px", (width) => {
  for (const seconds of [1, 2, 3, 7, 61, 3_600, 86_400, 700_000]) {
    const x = scaleUtc().domain([0, seconds * 1_000]).range([0, width]);
    const ticks = ticksOf(x, seconds);
    expect(ticks.length).toBeGreaterThan(0);
    for (const [index, tick] of ticks.entries()) {
      const before = ticks[index - 1];
      if (before !== undefined) expect(x(tick) - x(before), `${seconds} s`).toBeGreaterThan(70);
    }
  }
});

it.each([80, 136, 200, 350, 1_200])("so have those with milliseconds, on %i px", (width) => {
  for (const ms of [12, 90, 342, 1_700, 2_560, 4_900]) {
    for (const begin of [0, 22_174, 59_990]) {
      const x = scaleUtc().domain([begin, begin + ms]).range([0, width]);
      const ticks = ticksOf(x, ms);
      expect(ticks.length, `${ms} ms from ${begin}`).toBeGreaterThan(0);
      for (const [index, tick] of ticks.entries()) {
        const before = ticks[index - 1];
        if (before !== undefined) expect(x(tick) - x(before), `${ms} ms`).toBeGreaterThan(80);
      }
    }
  }
});

it.each([
  [60_000, /:\d\d:\d\d/, /\d{1,2}:\d\d:09/],
  [3_600_000, /^\d{1,2}:\d\d(\s?[AP]M)?$/, /\d/],
  [3 * 86_400_000, /[A-Za-z]{3}.*\d{1,2}:\d\d/, /5/],
  [30 * 86_400_000, /[A-Za-z]{3}/, /^[^:]*$/],
])("the text of a tick on an axis of %i ms", (span, one, other) => {
  const text = tickText(new Date(2026, 2, 5, 10, 7, 9), span);
  expect(text).toMatch(one);
  expect(text).toMatch(other);
});
