import { expect, test } from "vitest";
import {
  eventFractions,
  eventKey,
  eventNameHash,
  eventNameSuffix,
  eventWorkflowUid,
  fittingName,
} from "./identity.ts";

test("uids are well formed, stable, and differ with event and binding", () => {
  const uid = eventWorkflowUid("e", "b");
  expect(uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(eventWorkflowUid("e", "b")).toBe(uid);
  const others = [["e", "c"], ["f", "b"], ["eb", ""], ["", "eb"]] as const;
  expect(new Set([uid, ...others.map(([e, b]) => eventWorkflowUid(e, b))]).size).toBe(5);
});

test("generated names hold the time, are unique and fit", () => {
  const at = Date.UTC(2030, 0, 2, 3, 4, 5, 678);
  const suffix = eventNameSuffix(at, "e", "b");
  expect(suffix).toMatch(/^20300102030405-[a-z0-9]{8}$/);
  const many = Array.from({ length: 20_000 }, (_, i) => eventNameSuffix(at, `e${i}`, "b"));
  expect(new Set(many).size).toBe(20_000);
  expect(eventNameHash("e", "b")).toMatch(/^[a-z0-9]{10}$/);
  expect(eventNameHash("e", "c")).not.toBe(eventNameHash("e", "b"));
  expect(fittingName("t-", suffix)).toBe(`t-${suffix}`);
  const long = fittingName("x".repeat(80), suffix);
  expect(long.length).toBe(63);
  expect(long.endsWith(suffix)).toBe(true);
});

test.each([
  [`${"x".repeat(63)}-`, `${"x".repeat(39)}-`],
  [`${"x".repeat(38)}-${"y".repeat(24)}-`, `${"x".repeat(38)}-`],
  [`${"x".repeat(37)}.-${"y".repeat(24)}-`, `${"x".repeat(37)}-`],
  ["t-", "t-"],
])("the name of a long template keeps the hyphen before the time-stamp: %s", (base, want) => {
  const suffix = eventNameSuffix(Date.UTC(2030, 0, 2), "e", "b");
  const name = fittingName(base, suffix);
  expect(name).toBe(want + suffix);
  expect(name.length).toBeLessThanOrEqual(63);
});

test("random numbers of a repeat are the same, and in range", () => {
  const draw = () => {
    const next = eventFractions("e", "b");
    return [next(), next(), next()];
  };
  expect(draw()).toEqual(draw());
  expect(new Set(draw()).size).toBe(3);
  for (const one of draw()) expect(one >= 0 && one < 1).toBe(true);
  expect(eventKey("e", "b", "resume")).toBe("event:e:b:resume");
});
