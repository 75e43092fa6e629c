import { expect, test } from "vitest";
import { boundedMessage, MAX_MESSAGE } from "./bounded_message.ts";
import { invalid } from "./problem.ts";

test("a message as long as may be stays as it is", () => {
  const text = "x".repeat(MAX_MESSAGE);
  expect(boundedMessage(text)).toBe(text);
});

test("a longer one keeps both ends, and says that something is missing", () => {
  const text = `bad value: ${"x".repeat(1_000_000)} is no list`;
  const bounded = boundedMessage(text);
  expect(bounded.length).toBeLessThanOrEqual(MAX_MESSAGE);
  expect(bounded).toMatch(/^bad value: x+ … \[\d+ characters or more left out\] … x+ is no list$/);
  // A text may be bounded again, with more around it.
  expect(boundedMessage(`step: ${bounded}`).length).toBeLessThanOrEqual(MAX_MESSAGE);
});

test("no character is cut in two", () => {
  for (const odd of ["", "x"]) {
    expect(boundedMessage(odd + "😀".repeat(20_000)).isWellFormed()).toBe(true);
  }
});

test("every refusal is bounded", () => {
  expect(invalid("x".repeat(100_000)).message.length).toBeLessThanOrEqual(MAX_MESSAGE);
});
