import { expect, test } from "vitest";
import { checkNotAhead, readResourceVersion } from "./resource_version.ts";

test.each([
  ["", ""],
  ["0", "0"],
  ["7", "7"],
  ["007", "7"],
  ["00", "0"],
  ["18446744073709551615", "18446744073709551615"],
])("a watch may begin at %j", (text, version) => {
  expect(readResourceVersion(text)).toBe(version);
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
  expect(() => readResourceVersion(text)).toThrow(
    expect.objectContaining({ status: 400, message }),
  );
});

test("a watch can't begin at a version that the store has not given yet", async () => {
  const query = { version: () => Promise.resolve("1795882905516717") };
  for (const text of ["", "0", "7", "007", "1795882905516717"]) await checkNotAhead(query, text);
  for (const text of ["1795882905516718", "18446744073709551615"]) {
    await expect(checkNotAhead(query, text)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(`too large resource version: ${text}, current: 1795`),
    });
  }
});
