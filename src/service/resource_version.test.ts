import { expect, test } from "vitest";
import { checkResourceVersion } from "./resource_version.ts";

test.each(["", "0", "7", "007", "18446744073709551615"])("a watch may begin at %j", (text) => {
  expect(() => checkResourceVersion(text)).not.toThrow();
});

test.each([
  ["abc", "invalid syntax"],
  ["-1", "invalid syntax"],
  [" 1", "invalid syntax"],
  ["18446744073709551616", "value out of range"],
  ["9".repeat(50), "value out of range"],
])("a watch can't begin at %j", (text, reason) => {
  const message =
    `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": ${reason}`;
  expect(() => checkResourceVersion(text)).toThrow(
    expect.objectContaining({ status: 400, message }),
  );
});
