import { expect, test } from "vitest";
import { fieldsOf, matches } from "./log_line.ts";

const LINE = `{"level":"error","msg":"no paper","tray":2,"tags":["a"]}`;

test("a line that is a JSON object has a message and fields", () => {
  expect(fieldsOf(LINE)).toEqual({
    message: "no paper",
    fields: [["level", "error"], ["tray", "2"], ["tags", '["a"]']],
  });
  expect(fieldsOf(`{"a":null}`)).toEqual({ message: "", fields: [["a", "null"]] });
});

test.each(["plain", "[1]", "{broken}", "", `{"a":"${"x".repeat(30_000)}"}`])(
  "another line has none: %.20j",
  (line) => expect(fieldsOf(line)).toBeUndefined(),
);

test("a search finds words and fields", () => {
  expect(matches(LINE, "PAPER")).toBe(true);
  expect(matches(LINE, "level=error paper")).toBe(true);
  expect(matches(LINE, "tray=2")).toBe(true);
  expect(matches(LINE, "tray=3")).toBe(false);
  expect(matches("plain a=b", "a=b")).toBe(true);
  expect(matches("anything", " ")).toBe(true);
});
