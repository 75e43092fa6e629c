import { expect, test } from "vitest";
import { continueToken, parseContinueToken, tokenAfter } from "./continue_token.ts";

test.each(["", "\0\0x", "WzEsIndmL2EvYiJd", "ü"])(
  "a cursor survives as a decimal: %j",
  (cursor) => {
    const token = continueToken(cursor);
    expect(token).toMatch(/^[0-9]+$/);
    expect(parseContinueToken(token)).toEqual({ cursor, offset: 0 });
  },
);

test("small numbers are offsets", () => {
  expect(parseContinueToken("50")).toEqual({ offset: 50 });
  expect(parseContinueToken(undefined)).toEqual({ offset: 0 });
});

test("after a page that began at an offset comes an offset", () => {
  expect(tokenAfter({ offset: 2 }, 3, "cursor")).toBe("5");
  expect(tokenAfter({ offset: 2 }, 3, undefined)).toBeUndefined();
  expect(tokenAfter({ cursor: "a", offset: 0 }, 3, "b")).toBe(continueToken("b"));
});

test.each([
  ["abc", "listOptions.continue must be int"],
  ["1x", "listOptions.continue must be int"],
  ["-1", "listOptions.continue must >= 0"],
])("parseContinueToken(%j) refuses", (token, message) => {
  expect(() => parseContinueToken(token)).toThrow(
    expect.objectContaining({ status: 400, message }),
  );
});
