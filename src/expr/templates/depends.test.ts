import { expect, test } from "vitest";
import { ExpressionError } from "./contexts.ts";
import { dependsProblem, dependsReferences, evaluateDepends, expandDepends } from "./depends.ts";

test.each([
  ["A", "(A.Succeeded || A.Skipped || A.Daemoned)"],
  ["A.Failed && !my-task.Omitted", "A.Failed && !my-task.Omitted"],
  [
    "(A||b-2)",
    "((A.Succeeded || A.Skipped || A.Daemoned)||(b-2.Succeeded || b-2.Skipped || b-2.Daemoned))",
  ],
])("expandDepends(%s)", (depends, want) => {
  expect(expandDepends(depends)).toBe(want);
});

test("continueOn adds results", () => {
  const continueOn = (task: string) => task === "A" ? { error: true, failed: true } : undefined;
  expect(expandDepends("A && B", continueOn)).toBe(
    "(A.Succeeded || A.Skipped || A.Daemoned || A.Errored || A.Failed) && " +
      "(B.Succeeded || B.Skipped || B.Daemoned)",
  );
});

test("names and results of a depends", () => {
  expect(dependsReferences("A.Failed || (b-c && A.AnySucceeded)")).toEqual([
    { task: "A", results: ["Failed", "AnySucceeded"] },
    { task: "b-c", results: [] },
  ]);
  expect(dependsReferences("A.AnySucceeded || A || A.Failed")).toEqual([
    { task: "A", results: ["Failed"] },
  ]);
  expect(dependsProblem("A.Bogus")).toBe("task result 'Bogus' for task 'A' is invalid");
  expect(dependsProblem("A.Succeeded && B.Worse && A.Bogus")).toBe(
    "task result 'Worse' for task 'B' is invalid",
  );
  expect(dependsProblem("A.Succeeded && B")).toBeUndefined();
});

test("evaluateDepends() decides over results, dashes count as underscores", () => {
  const results = [["my-task", { Succeeded: true }], ["len", { Failed: true }]] as const;
  expect(evaluateDepends(expandDepends("my-task && len.Failed"), results)).toBe(true);
  expect(evaluateDepends(expandDepends("my-task && len"), results)).toBe(false);
  expect(() => evaluateDepends("my-task.Succeeded and", results)).toThrow(ExpressionError);
  expect(() => evaluateDepends("other.Succeeded", results)).toThrow(
    "unable to evaluate expression 'other.Succeeded': unknown name other (1:1)",
  );
});
