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

test("only so much is kept: what was not asked for longest goes", () => {
  const values = new SharedValues<{ text: string }>();
  const long = (n: number) => String(n).padEnd(32_000);
  const make = (text: string) => () => ({ text });
  const [first, second] = [values.of(long(0), make("0")), values.of(long(1), make("1"))];
  for (let n = 2; n < 65; n++) values.of(long(n), make(String(n)));
  expect(values.of(long(0), make("again"))).toBe(first);
  values.of(long(65), make("65"));
  expect(values.of(long(0), make("again"))).toBe(first);
  expect(values.of(long(1), make("again"))).not.toBe(second);
});

test("a value that can't be read is not kept", () => {
  expect(() => parseShared("{")).toThrow(SyntaxError);
  expect(() => parseShared("{")).toThrow(SyntaxError);
});
