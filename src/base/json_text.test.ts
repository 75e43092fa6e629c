import { expect, test } from "vitest";
import { MAX_JSON_DEPTH, readFirstJson, writeJson } from "./json_text.ts";

test.each([
  ['{"a":[1,"}"]} trailing words', { a: [1, "}"] }],
  [' "x" y', "x"],
  ["12 13", 12],
  ["null", null],
  ['{"a":"\\"}"}x', { a: '"}' }],
  ["true{}", true],
])("readFirstJson(%j)", (text, value) => {
  expect(readFirstJson(text)).toEqual(value);
});

test("readFirstJson() of blank text is undefined", () => {
  expect(readFirstJson(" \n")).toBeUndefined();
});

test.each(["{broken", "metadata:\n  name: y\n", "}", '{"a":1', '"open', "[1,]", "nul"])(
  "readFirstJson(%j) refuses",
  (text) => {
    expect(() => readFirstJson(text)).toThrow(expect.objectContaining({ status: 400 }));
  },
);

test("readFirstJson() refuses deep nesting before parsing it", () => {
  const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  expect(readFirstJson(deep(MAX_JSON_DEPTH))).toBeDefined();
  expect(() => readFirstJson(deep(MAX_JSON_DEPTH + 1))).toThrow(/deeper/);
  expect(() => readFirstJson("[".repeat(2_000_000))).toThrow(/deeper/);
});

test("writeJson() escapes what could end a script element", () => {
  expect(writeJson({ a: "<&>\u2028" })).toBe('{"a":"\\u003c\\u0026\\u003e\\u2028"}');
});
