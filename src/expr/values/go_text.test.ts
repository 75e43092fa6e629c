import { describe, expect, test } from "vitest";

import {
  base64Encode,
  floatText,
  goString,
  goTypeName,
  jsonString,
  toJsonText,
} from "./go_text.ts";
import { UTC } from "./go_zone.ts";
import {
  byteLength,
  byteSlice,
  compareStrings,
  joinText,
  runeCount,
  utf8Bytes,
  utf8String,
} from "./utf8.ts";
import {
  AnyMap,
  GoDuration,
  GoFunction,
  NamedInt,
  newMap,
  nilList,
  setOwn,
  typedList,
  type Value,
} from "./values.ts";

describe("floatText()", () => {
  test.each([
    [0, "0"],
    [-0, "-0"],
    [1, "1"],
    [-2.5, "-2.5"],
    [100_000, "100000"],
    [999_999.5, "999999.5"],
    [1_000_000, "1e+06"],
    [1_234_567.25, "1.23456725e+06"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [1e21, "1e+21"],
    [5e-324, "5e-324"],
    [1.7976931348623157e308, "1.7976931348623157e+308"],
    [0.1 + 0.2, "0.30000000000000004"],
    [Infinity, "+Inf"],
    [-Infinity, "-Inf"],
    [NaN, "NaN"],
  ])("%s is %s", (value, text) => expect(floatText(value)).toBe(text));
});

const MAP: Value = { b: 1, a: [null, "x"], "é": true };

describe("goString()", () => {
  test.each<[Value, string]>([
    [null, "<nil>"],
    ["plain", "plain"],
    [3n, "3"],
    [[1, "a", null, [true]], "[1 a <nil> [true]]"],
    [MAP, "map[a:[<nil> x] b:1 é:true]"],
    [
      new AnyMap(new Map<Value, Value>([["b", 1], [2n, 2], [true, 3], ["a", 4]])),
      "map[a:4 b:1 2:2 true:3]",
    ],
    [new Uint8Array([1, 255]), "[1 255]"],
    [new GoDuration(90_000_000_000n), "1m30s"],
    [new NamedInt("time.Month", 13n), "%!Month(13)"],
    [new NamedInt("time.Weekday", 0n), "Sunday"],
    [new NamedInt("uint8", 65n), "65"],
    [UTC, "UTC"],
    [new GoFunction("f", () => null), "func"],
  ])("%# gives %s", (value, text) => expect(goString(value)).toBe(text));
});

describe("toJsonText()", () => {
  test.each<[Value, string]>([
    [{ b: 1, a: [null, "<&>"] }, '{"a":[null,"\\u003c\\u0026\\u003e"],"b":1}'],
    ['\u2028\u0001\n"\\', '"\\u2028\\u0001\\n\\"\\\\"'],
    ["a\udcff", '"a\\ufffd"'],
    [[1e21, 1e-7, -0, 2n ** 62n], "[1e+21,1e-7,-0,4611686018427387904]"],
    [nilList(), "null"],
    [[], "[]"],
    [{}, "{}"],
    [new Uint8Array([104, 105]), '"aGk="'],
    [new GoDuration(5n), "5"],
    [new NamedInt("time.Month", 2n), "2"],
    [UTC, "{}"],
    [{ "😀": 1, "\uffee": 2 }, '{"\uffee":2,"😀":1}'],
  ])("%# gives %s", (value, text) => expect(toJsonText(value)).toBe(text));

  test("indents by level", () => {
    expect(toJsonText({ a: [1, {}] }, 2)).toBe('{\n  "a": [\n    1,\n    {}\n  ]\n}');
  });

  test.each<[Value, string]>([
    [NaN, "json: unsupported value: NaN"],
    [new AnyMap(new Map()), "json: unsupported type: map[interface {}]interface {}"],
    [new GoFunction("f", () => null), "json: unsupported type: func"],
  ])("%# has no JSON form", (value, message) => {
    expect(() => toJsonText([value])).toThrow(message);
  });

  test("refuses what is nested too deeply or too long", () => {
    let deep: Value = 1;
    for (let i = 0; i < 200_000; i++) deep = [deep];
    expect(() => toJsonText(deep)).toThrow("nested too deeply");
    let wide: Value = "x".repeat(1_000);
    for (let i = 0; i < 20; i++) wide = [wide, wide];
    expect(() => toJsonText(wide)).toThrow("memory budget exceeded");
  });

  test("keeps keys that JavaScript treats specially", () => {
    const map = newMap();
    setOwn(map, "__proto__", 1);
    expect(toJsonText(map)).toBe('{"__proto__":1}');
    expect(jsonString("__proto__")).toBe('"__proto__"');
  });
});

test("in JSON an invalid byte is the escape of U+FFFD, and U+FFFD itself is not escaped", () => {
  expect(jsonString(byteSlice("世é", 0, 2) + "\ufffd😀")).toBe('"\\ufffd\\ufffd\ufffd😀"');
});

test("base64Encode() takes long input", () => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i % 256);
  expect(atob(base64Encode(bytes)).length).toBe(100_000);
});

describe("goTypeName()", () => {
  test.each<[Value, string]>([
    [null, "<nil>"],
    ["", "string"],
    [1, "float64"],
    [1n, "int"],
    [true, "bool"],
    [[], "[]interface {}"],
    [typedList(["a"], "string"), "[]string"],
    [{}, "map[string]interface {}"],
    [new AnyMap(new Map(), "[]interface {}"), "map[interface {}][]interface {}"],
    [new Uint8Array(), "[]uint8"],
    [new NamedInt("uint8", 1n), "uint8"],
    [new GoDuration(1n), "time.Duration"],
  ])("%# is %s", (value, name) => expect(goTypeName(value)).toBe(name));
});

describe("strings as bytes", () => {
  const text = "aé世😀";

  test("cut anywhere and joined again they are whole", () => {
    const length = byteLength(text);
    expect(length).toBe(10);
    for (let i = 0; i <= length; i++) {
      const [left, right] = [byteSlice(text, 0, i), byteSlice(text, i, length)];
      expect(joinText(left, right)).toBe(text);
      expect(byteLength(left) + byteLength(right)).toBe(length);
      expect(utf8String(utf8Bytes(left))).toBe(left);
    }
  });

  test("count runes; a loose byte is one", () => {
    expect(runeCount(text)).toBe(4);
    expect(runeCount(byteSlice(text, 0, 2))).toBe(2);
    expect(runeCount(byteSlice(text, 2, 10))).toBe(3);
  });

  test("are ordered by their bytes", () => {
    const sorted = ["", "a", "ab", "é", "\uffee", "😀", "😁"];
    for (const [i, left] of sorted.entries()) {
      for (const [j, right] of sorted.entries()) {
        expect(Math.sign(compareStrings(left, right))).toBe(Math.sign(i - j));
      }
    }
    expect(compareStrings(byteSlice("é", 0, 1), "é")).toBeLessThan(0);
    expect(compareStrings(byteSlice("é", 1, 2), "a")).toBeGreaterThan(0);
  });

  test("with loose bytes are ordered by their bytes", () => {
    const text = "a世\u{1F600}é\uffee\u{1F601}世界b世";
    const cuts = Array.from({ length: 30 }, (_, n) => byteSlice(text, n % 9, 30 - (n >> 1)));
    const bytesOf = (one: string) => [...utf8Bytes(one)].map((byte) => String.fromCharCode(byte));
    for (const left of cuts) {
      for (const right of [...cuts, `${left}x`, left.slice(1), [...left].join("")]) {
        const [a, b] = [bytesOf(left).join(""), bytesOf(right).join("")];
        expect(Math.sign(compareStrings(left, right))).toBe(a === b ? 0 : a < b ? -1 : 1);
      }
    }
    // Bytes that were never joined are the same as their character.
    expect(compareStrings("x\udce4\udcb8\udc96", "x世")).toBe(0);
    expect(compareStrings("x\udce4\udcb8\udc96a", "x世")).toBeGreaterThan(0);
  });

  test("invalid sequences are kept byte by byte", () => {
    for (
      const bytes of [[0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80], [0xe4, 0xb8], [0xff], [
        0xf0,
        0x80,
        0x80,
        0x80,
      ]]
    ) {
      const kept = utf8String(Uint8Array.from(bytes));
      expect([...utf8Bytes(kept)]).toEqual(bytes);
      expect(runeCount(kept)).toBe(bytes.length);
    }
  });
});
