import { expect, test } from "vitest";
import { countOf } from "./test.ts";

const base = {
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 0,
  success: true,
};

test("countOf() sums passed, failed and skipped", () => {
  expect(countOf({ ...base, testResults: [] })).toEqual({ passed: 3, failed: 0, skipped: 1 });
});

test("countOf() counts a file that failed to load as a failure", () => {
  const testResults = [{ status: "failed", assertionResults: [], name: "a.test.ts" }];
  expect(countOf({ ...base, success: false, testResults }).failed).toBe(1);
});

test("countOf() never calls an unsuccessful run clean", () => {
  expect(countOf({ ...base, success: false, testResults: [] }).failed).toBe(1);
});
