import { expect, test } from "vitest";
import { countOf, withAlone } from "./test.ts";

const base = {
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 0,
  success: true,
};

test("countOf() sums passed, failed and skipped", () => {
  expect(countOf({ ...base, testResults: [] })).toEqual({
    passed: 3,
    failed: 0,
    skipped: 1,
    failures: [],
  });
});

test("countOf() counts a file that failed to load as a failure", () => {
  const testResults = [{ status: "failed", assertionResults: [], name: "a.test.ts" }];
  expect(countOf({ ...base, success: false, testResults }).failed).toBe(1);
});

test("countOf() names what failed, with the first line of its error", () => {
  const testResults = [
    {
      status: "failed",
      name: "a.test.ts",
      assertionResults: [
        { status: "passed", fullName: "adds" },
        {
          status: "failed",
          fullName: "subtracts",
          failureMessages: ["Error: 1 is not 2\n    at a"],
        },
      ],
    },
    { status: "failed", name: "b.test.ts", message: "no such file\nat b", assertionResults: [] },
  ];
  expect(countOf({ ...base, numFailedTests: 1, success: false, testResults }).failures).toEqual([
    "a.test.ts: subtracts: Error: 1 is not 2",
    "b.test.ts: no such file",
  ]);
});

test("countOf() never calls an unsuccessful run clean", () => {
  expect(countOf({ ...base, success: false, testResults: [] }).failed).toBe(1);
});

test("withAlone() takes with a project its files that run alone, and leaves other options", () => {
  expect(withAlone(["--project", "unit", "src/a", "--project=contract", "-t", "x"]))
    .toEqual(["--project", "unit*", "src/a", "--project=contract*", "-t", "x"]);
  expect(withAlone(["--project", "e2e*"])).toEqual(["--project", "e2e*"]);
});
