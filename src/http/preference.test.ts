import { expect, test } from "vitest";
import { prefersMinimal } from "./preference.ts";

test.each([
  ["return=minimal", true],
  ['respond-async, wait=10, Return = "minimal"', true],
  ["handling=lenient; x=y, return=minimal; z", true],
  ["return=representation, return=minimal", false],
  ['note="return=minimal"', false],
  ["minimal", false],
  ["", false],
])("prefersMinimal(%j) is %j", (prefer, expected) => {
  expect(prefersMinimal(new Headers({ prefer }))).toBe(expected);
});

test("without the header nothing is preferred", () => {
  expect(prefersMinimal(new Headers())).toBe(false);
});
