import { expect, test } from "vitest";
import { fromSentHeader, toSentHeader } from "./header_text.ts";

test.each([
  ["", ""],
  ["plain", "plain"],
  ["José", "JosÃ©"],
  ["✓ 日本", "\u00e2\u009c\u0093 \u00e6\u0097\u00a5\u00e6\u009c\u00ac"],
])("%j is sent as UTF-8, and read as such", (text, sent) => {
  expect(toSentHeader(text)).toBe(sent);
  expect(fromSentHeader(sent)).toBe(text);
});

test("what is not UTF-8 stays as it was read", () => {
  expect(fromSentHeader("Jos\u00e9")).toBe("Jos\u00e9");
  expect(fromSentHeader("\u00ed\u00a0\u0080")).toBe("\u00ed\u00a0\u0080");
});
