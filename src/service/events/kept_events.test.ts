import { expect, test } from "vitest";
import { keptEvents } from "./kept_events.ts";

function sampler(rate: number) {
  let now = 0;
  const keeps = keptEvents({ monotonic: () => now }, rate);
  return {
    count: (events: number, namespace = "a", text = "{}") =>
      Array.from({ length: events }, () => keeps({ namespace, text })).filter(Boolean).length,
    pass: (ms: number) => now += ms,
  };
}

test("a quiet namespace keeps all its events, a busy one some of each second", () => {
  const { count, pass } = sampler(1);
  expect(count(5)).toBe(5);
  expect(count(1_000)).toBe(15);
  pass(3_000);
  expect(count(1_000)).toBe(3);
  pass(3_600_000);
  expect(count(1_000)).toBe(20);
});

test("each namespace has its own allowance", () => {
  const { count } = sampler(1);
  expect(count(1_000, "busy")).toBe(20);
  expect(count(3, "quiet")).toBe(3);
});

test("large events are not kept, and with a rate of 0 none is", () => {
  expect(sampler(1).count(1, "a", "x".repeat(16_384))).toBe(1);
  expect(sampler(1).count(1, "a", "x".repeat(16_385))).toBe(0);
  expect(sampler(0).count(10)).toBe(0);
});
