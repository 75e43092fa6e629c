import { expect, test } from "vitest";
import { isShared, parseShared, SharedValues } from "./shared_json.ts";

test("the same text gives the same value, frozen all the way down", () => {
  const first = parseShared<{ list: { name: string }[] }>('{"list":[{"name":"a"}]}');
  expect(parseShared('{"list":[{"name":"a"}]}')).toBe(first);
  expect(isShared(first.list)).toBe(true);
  expect(() => first.list.push({ name: "b" })).toThrow(TypeError);
  expect(() => Object.assign(first.list[0] ?? {}, { name: "b" })).toThrow(TypeError);
});

test("another text gives another value", () => {
  expect(parseShared('{"a":1}')).toEqual({ a: 1 });
  expect(parseShared('{"a":2}')).toEqual({ a: 2 });
});

test("long texts are not kept", () => {
  const text = JSON.stringify({ long: "x".repeat(40_000) });
  const first = parseShared<object>(text);
  expect(parseShared(text)).not.toBe(first);
  expect(isShared(first)).toBe(false);
});

test("only so many are kept", () => {
  const values = new SharedValues<{ text: string }>();
  const first = values.of("0", () => ({ text: "0" }));
  for (let i = 1; i < 300; i++) values.of(String(i), () => ({ text: String(i) }));
  expect(values.of("0", () => ({ text: "again" }))).not.toBe(first);
});

test("a value that can't be read is not kept", () => {
  expect(() => parseShared("{")).toThrow(SyntaxError);
  expect(() => parseShared("{")).toThrow(SyntaxError);
});
