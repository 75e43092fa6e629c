import { expect, test } from "vitest";
import { parseQuantity, resourcesDuration } from "./resources_duration.ts";

test.each([
  ["100m", 0.1],
  ["2", 2],
  [2, 2],
  ["1.5Gi", 1.5 * 1024 ** 3],
  ["1e3", 1000],
  ["5M", 5e6],
  ["abc", undefined],
  ["", undefined],
])("parseQuantity(%j) is %j", (text, expected) => {
  expect(parseQuantity(text)).toBe(expected);
});

test("resourcesDuration() takes the minimum when nothing is asked for", () => {
  expect(resourcesDuration({}, 9.9)).toEqual({ cpu: 0, memory: 9 });
});

test("resourcesDuration() prefers requests to limits and keeps other resources", () => {
  const resources = {
    requests: { cpu: "2" },
    limits: { cpu: "4", memory: "200Mi", "nvidia.com/gpu": "1" },
  };
  expect(resourcesDuration({ resources }, 10)).toEqual({
    cpu: 20,
    memory: 20,
    "nvidia.com/gpu": 10,
  });
});

test.each([0, 2])(
  "resourcesDuration() of %d s is a number that JSON has, whatever was asked for",
  (seconds) => {
    const resources = { requests: { cpu: "1e400", memory: "1e308", gpu: "-1e400", disk: "9E" } };
    for (const used of Object.values(resourcesDuration({ resources }, seconds))) {
      expect(Number.isSafeInteger(used)).toBe(true);
    }
  },
);
