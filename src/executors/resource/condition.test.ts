import { expect, test } from "vitest";
import { conditionHolds } from "./condition.ts";

const object = {
  metadata: { name: "job", labels: { a: "b" } },
  status: { phase: "Succeeded", active: 2, conditions: [{ type: "Ready" }], nothing: null },
};

test.each([
  ["status.phase == Succeeded", false, true],
  ["status.phase in (Failed,Succeeded), status.active > 1", false, true],
  ["status.phase == Succeeded, status.active > 2", false, false],
  ["status.phase == Failed, status.active > 1", true, true],
  ["status.conditions.0.type == Ready", false, true],
  ["status.nothing == x", false, false],
  ["status.missing", false, false],
  ["", false, false],
])("conditionHolds(%j, any %j) is %j", (condition, any, expected) => {
  expect(conditionHolds(condition, object, any)).toBe(expected);
});
