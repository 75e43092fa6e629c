import { expect, test } from "vitest";
import { readConditions, verdictOn } from "./condition.ts";

const object = {
  metadata: { name: "job", labels: { a: "b" } },
  status: { phase: "Succeeded", active: 2, conditions: [{ type: "Ready" }], nothing: null },
};

test.each([
  ["status.phase == Succeeded", "met"],
  ["status.phase in (Failed,Succeeded), status.active > 1", "met"],
  ["status.phase == Succeeded, status.active > 2", undefined],
  ["status.conditions.0.type == Ready", "met"],
  ["status.nothing == x", undefined],
  ["status.nothing", "met"],
  ["status.missing", undefined],
  ["!status.missing", "met"],
  ["metadata", "met"],
  ["", "met"],
  [" ", "met"],
])("successCondition %j: %j", (successCondition, expected) => {
  expect(verdictOn(object, readConditions({ successCondition }))).toBe(expected);
});

test.each([
  ["status.phase == Succeeded", "status.phase == [Succeeded]"],
  ["status.phase=Succeeded", "status.phase = [Succeeded]"],
  ["status.phase in (Succeeded, Failed)", "status.phase in [Failed Succeeded]"],
  ["status.phase notin (b,a)", "status.phase notin [a b]"],
  ["status.phase != x", "status.phase != [x]"],
  ["status.active > 1", "status.active gt [1]"],
  ["!status.missing", "status.missing ! []"],
  ["status.phase", "status.phase exists []"],
  ["status.phase == Failed, status.active > 1", "status.active gt [1]"],
  ["status.phase == Succeeded, metadata.name == job", "metadata.name == [job]"],
])("failureCondition %j is told as the reference tells it", (failureCondition, shown) => {
  const failure = `failure condition '{${shown}}' evaluated true`;
  const conditions = readConditions({ failureCondition, successCondition: "status.phase" });
  expect(verdictOn(object, conditions)).toEqual({ failure });
});

test("without a success condition an object that has not failed is a success", () => {
  expect(verdictOn(object, readConditions({ failureCondition: "status.phase == Failed" })))
    .toBe("met");
});

test("a condition that is no selector is told", () => {
  expect(() => readConditions({ successCondition: "a = = x" })).toThrow(
    "success condition 'a = = x' failed to parse: unable to parse requirement: found '=', expected: identifier",
  );
  expect(() => readConditions({ failureCondition: "a#" })).toThrow("fail condition 'a#'");
});
