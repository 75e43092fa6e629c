import { expect, test } from "vitest";
import { progressLine } from "./progress.ts";

test("the bar fills with what is done", () => {
  expect(progressLine(0, 10, "rows")).toBe(`[${"-".repeat(24)}] 0 of 10 rows`);
  expect(progressLine(5, 10, "rows")).toBe(`[${"#".repeat(12)}${"-".repeat(12)}] 5 of 10 rows`);
  // Rows may be added while it goes on.
  expect(progressLine(12, 10, "rows")).toBe(`[${"#".repeat(24)}] 12 of 10 rows`);
  expect(progressLine(7, undefined, "rows")).toBe("7 rows");
});
