import process from "node:process";
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

test("readFirstJson() has no half of a surrogate pair: it becomes U+FFFD", () => {
  expect(readFirstJson('{"\\udc80":["a\\uD800","\\ud83d\\ude00",1],"__proto__":"\\ud800"} x'))
    .toEqual(
      JSON.parse('{"\ufffd":["a\ufffd","😀",1],"__proto__":"\ufffd"}'),
    );
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
  expect(() => readFirstJson("[".repeat(2_000_000), 3_000_000)).toThrow(/deeper/);
});

test("writeJson() escapes what could end a script element", () => {
  expect(writeJson({ a: "<&>\u2028" })).toBe('{"a":"\\u003c\\u0026\\u003e\\u2028"}');
});

const many = 1_000;
const repeated = (text: string) => Array.from({ length: many }, () => text).join(",");
test.each([
  ["lists", `[${repeated("[]")}]`],
  ["objects", `{"a":[${repeated("{}")}]}`],
  ["numbers", `[${repeated("1")}]`],
  ["texts", `[${repeated('"x"')}]`],
  ["texts with brackets", `[${repeated('"\\",[{"')}]`],
  ["members", `{${repeated('"a" : null')}}`],
  ["nested", `[[[${repeated("[ ]")}]]]`],
  ["what follows the first value", `{} [${repeated("1")}]`],
  ["no JSON", repeated("")],
])("readFirstJson() refuses too many members before it makes any: %s", (_, text) => {
  expect(() => readFirstJson(text, many / 2)).toThrow(expect.objectContaining({ status: 413 }));
});

test.each([
  ["a long text", JSON.stringify("[{,".repeat(many))],
  ["a text with quotation marks", JSON.stringify('",['.repeat(many))],
  ["a text that ends with backslashes", JSON.stringify(["\\".repeat(many), ",".repeat(many)])],
  ["a long number", "1".repeat(many)],
  ["blanks", `[${" ".repeat(many)}]`],
])("readFirstJson() counts no members in %s", (_, text) => {
  expect(readFirstJson(text, 10)).toEqual(JSON.parse(text));
});

test("readFirstJson() takes as many members as it may", () => {
  expect(readFirstJson(`[${repeated("1")}]`, many)).toHaveLength(many);
});

test("counting costs little, whatever a text is made of", () => {
  for (const piece of ["{},", '\\"', "[[", '"",', "    ", '"\\\\"']) {
    const text = piece.repeat(Math.floor(2 ** 24 / piece.length));
    const before = process.cpuUsage();
    try {
      readFirstJson(text, 100_000);
    } catch {
      // Most of these are not JSON, or have too many members.
    }
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000, piece).toBeLessThan(1_000);
  }
});

test("saying where a text is no JSON costs little, whatever it is made of", () => {
  for (const piece of ["\\n", "a", "\n", "\\u00e9"]) {
    for (const [open, end] of [['["', '"}'], ["[", "}"]] as const) {
      const text = `${open}${piece.repeat(Math.floor(2 ** 22 / piece.length))}${end}`;
      const before = process.cpuUsage();
      expect(() => readFirstJson(text)).toThrow("the body is not JSON: line");
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1000, JSON.stringify(piece)).toBeLessThan(500);
    }
  }
});
