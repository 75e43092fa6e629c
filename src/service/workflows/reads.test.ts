import { describe, expect, test } from "vitest";
import { newestOf } from "./reads.ts";

describe("newestOf", () => {
  test("tells workflows of one second apart by their start", () => {
    const early = { name: "z", createdAt: 2_000, startedAt: 2_100 };
    const late = { name: "a", createdAt: 2_000, startedAt: 2_700 };
    const before = { name: "b", createdAt: 1_000, startedAt: 9_000 };
    expect(newestOf([early, late, before])).toBe(late);
    const pending = { name: "c", createdAt: 2_000 };
    expect(newestOf([early, pending, late])).toBe(pending);
    expect(newestOf([])).toBeUndefined();
  });
});
