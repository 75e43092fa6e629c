import { expect, test } from "vitest";
import { skipsFrom, withSkip } from "./cron_skips.ts";

test("times in a row with one reason are one entry; a run or another reason begins a new one", () => {
  let text: string | undefined;
  text = withSkip(text, 60, "active", 0);
  text = withSkip(text, 120, "active", 0);
  expect(skipsFrom(text)).toEqual([{ reason: "active", from: 60, to: 120, count: 2 }]);
  text = withSkip(text, 180, "condition", 0);
  text = withSkip(text, 300, "condition", 240);
  expect(skipsFrom(text)).toEqual([
    { reason: "condition", from: 300, to: 300, count: 1 },
    { reason: "condition", from: 180, to: 180, count: 1 },
    { reason: "active", from: 60, to: 120, count: 2 },
  ]);
});

test("a time that is known is not counted again, and only the last ten entries stay", () => {
  let text: string | undefined;
  for (let at = 1; at <= 30; at++) {
    text = withSkip(text, at, at % 2 === 0 ? "active" : "condition", 0);
  }
  expect(withSkip(text, 30, "active", 0)).toBe(text);
  expect(skipsFrom(text)).toHaveLength(10);
  expect(skipsFrom(text)[9]).toMatchObject({ from: 21 });
});

test.each(["", "{", "{}", "[1, null]", '[{"reason":"active","from":"x","to":1,"count":1}]'])(
  "what is no list of skips counts as none: %s",
  (text) => expect(skipsFrom(text)).toEqual([]),
);
