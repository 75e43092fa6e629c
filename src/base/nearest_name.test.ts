import { expect, test } from "vitest";
import { nearestName } from "./nearest_name.ts";

const KNOWN = [
  "name",
  "namespace",
  "nodeFieldSelector",
  "message",
  "phase",
  "outputParameters",
  "restartSuccessful",
  "memoized",
  "parameters",
];

test.each([
  ["nodeSelector", "nodeFieldSelector"],
  ["node-field-selector", "nodeFieldSelector"],
  ["nodeFieldSelecter", "nodeFieldSelector"],
  ["NODE_FIELD_SELECTOR", "nodeFieldSelector"],
  ["fieldSelector", "nodeFieldSelector"],
  ["selector", "nodeFieldSelector"],
  ["msg", undefined],
  ["mesage", "message"],
  ["massage", "message"],
  ["phaes", "phase"],
  ["nmae", "name"],
  ["messages", "message"],
  ["phases", "phase"],
  ["outputParameter", "outputParameters"],
  ["outputs", undefined],
  ["restartSuccesful", "restartSuccessful"],
  ["restart", "restartSuccessful"],
  ["memoised", "memoized"],
  ["params", "parameters"],
  ["parameter", "parameters"],
  ["names", "name"],
  ["namespaces", "namespace"],
  ["uid", undefined],
  ["", undefined],
  ["-", undefined],
  ["x".repeat(1_000_000), undefined],
  [`${"x".repeat(100)}message`, undefined],
])("%.40s is probably %s", (name, meant) => {
  expect(nearestName(name, KNOWN)).toBe(meant);
});
