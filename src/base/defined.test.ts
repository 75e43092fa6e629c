import { expect, test } from "vitest";
import { defined } from "./defined.ts";

test("defined() keeps what has a value, be it null, empty or false", () => {
  const name: string | undefined = undefined;
  expect(Object.entries(defined({ name, kept: null, text: "", flag: false, zero: 0 }))).toEqual([
    ["kept", null],
    ["text", ""],
    ["flag", false],
    ["zero", 0],
  ]);
});
