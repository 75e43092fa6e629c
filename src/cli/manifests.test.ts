import { expect, test } from "vitest";
import { finiteOnly } from "./manifests.ts";

test("a number that is too large is refused, and does not become null", () => {
  expect(() => JSON.parse('{"a": [{"n": 1e999}]}', finiteOnly)).toThrow("n is too large");
  expect(() => JSON.stringify({ a: NaN }, finiteOnly)).toThrow("a is too large, or no number");
  expect(JSON.parse('{"a": [1e300, null]}', finiteOnly)).toEqual({ a: [1e300, null] });
});
