import { expect, test } from "vitest";
import type { Json } from "../../base/json.ts";
import { formatInteger } from "./print_integer.ts";
import {
  compact,
  exactJson,
  isJsonContainer,
  listOfJsonTexts,
  listOfValues,
  parseExactJson,
} from "./raw_json.ts";
import { goTime, humanizeWait, rfc3339, strftime } from "./time_text.ts";

test.each([
  ["%d", 7, "7"],
  ["host-%02X", 10, "host-0A"],
  ["%04d", -3, "-003"],
  ["%-4d|", 5, "5   |"],
  ["100%%", 5, "100%%!(EXTRA int=5)"],
  ["%s", 5, "%!s(int=5)"],
  ["%.3d", 7, "007"],
  ["%8.3d|", -7, "    -007|"],
  ["%08.3d", 7, "     007"],
  ["%.0d", 0, ""],
  ["%#.4x", 255, "0x00ff"],
  ["%#o", 0, "0"],
  ["%O", 8, "0o10"],
  ["100%", 5, "100%!(NOVERB)%!(EXTRA int=5)"],
  ["%03s", 5, "%!s(int=005)"],
  ["%é", 5, "%!é(int=5)"],
  ["n%d", 9223372036854775807n, "n9223372036854775807"],
  ["%x", -9223372036854775807n, "-7fffffffffffffff"],
])("formatInteger() %s of %d", (format, value, text) => {
  expect(formatInteger(format, value)).toBe(text);
});

test("numbers keep their form through a loop", () => {
  const list = parseExactJson('[1, 2.50, 3e2, {"a": 1.0}]') as never[];
  expect(list.map(exactJson)).toEqual(["1", "2.50", "3e2", '{"a":1.0}']);
});

test("listOfJsonTexts() keeps texts and names what is wrong as Go does", () => {
  expect(listOfJsonTexts(["1.0", '{ "a": "b  <c>" }'])).toBe('[1.0,{"a":"b  \\u003cc\\u003e"}]');
  expect(() => listOfJsonTexts(["hi"])).toThrow(
    "invalid character 'h' looking for beginning of value",
  );
  expect(() => listOfJsonTexts([""])).toThrow("unexpected end of JSON input");
  expect(() => listOfJsonTexts(["1 x"])).toThrow("invalid character 'x' after top-level value");
});

test.each([
  [
    '{"z":1.50,"a":{"c":1e3,"b":"<"}}',
    "[2, 1e23]",
    String.raw`[{"a":{"b":"\u003c","c":1000},"z":1.5},[2,1e+23]]`,
  ],
  ["[1.0]", "2", '["[1.0]","2"]'],
  ["[1e400]", "{}", '["[1e400]","{}"]'],
])("listOfValues() %s, %s", (first, second, list) => {
  expect(listOfValues([first, second])).toBe(list);
});

test.each([
  ["[1,]", "']' looking for beginning of value"],
  ["[1 2]", "'2' after array element"],
  ["['a']", "'\\'' looking for beginning of value"],
  ['["x"y"]', "'y' after array element"],
  ["[01]", "'1' after array element"],
  ["[NaN]", "'N' looking for beginning of value"],
  ["[+1]", "'+' looking for beginning of value"],
  ["[1.]", "']' after decimal point in numeric literal"],
  ["[-]", "']' in numeric literal"],
  ["1e+", "' ' in exponent of numeric literal"],
  ["[tru]", "']' in literal true (expecting 'e')"],
  ["nul", "' ' in literal null (expecting 'l')"],
  ['["a\nb"]', "'\\n' in string literal"],
  ['["\\x"]', "'x' in string escape code"],
  ['["\\u00g0"]', "'g' in \\u hexadecimal character escape"],
  ["{a: 1}", "'a' looking for beginning of object key string"],
  ['{"a" 1}', "'1' after object key"],
  ['{"a":1 "b":2}', "'\"' after object key:value pair"],
  ['{"a":1,}', "'}' looking for beginning of object key string"],
  ["[1}", "'}' after array element"],
  ["[] []", "'[' after top-level value"],
  ["é", "'Ã' looking for beginning of value"],
  ["\u{1F44B}", "'ð' looking for beginning of value"],
  ["\u00a0[1]", "'Â' looking for beginning of value"],
])("what is wrong with %s is told as Go does", (text, fault) => {
  expect(() => parseExactJson(text)).toThrow(new Error(`invalid character ${fault}`));
});

test.each(["", " ", "[", "[1", '{"a"', '{"a":', '["a', "[[1]", '{"a":{}'])(
  "%j ends too early",
  (text) => {
    expect(() => parseExactJson(text)).toThrow(new Error("unexpected end of JSON input"));
  },
);

test("compact() leaves texts alone", () =>
  expect(compact('{ "a b" : "c \\" d" }')).toBe('{"a b":"c \\" d"}'));

test.each([
  [1000, "1 second"],
  [4000, "4 seconds"],
  [120_000, "2 minutes 0 seconds"],
  [3_600_000, "1 hour 0 minutes"],
  [90_000_000, "1 day 1 hours"],
  [500, "0 seconds"],
  [1500, "1 second"],
  [61_999, "1 minute 1 seconds"],
])("humanizeWait() of %d", (ms, text) => expect(humanizeWait(ms)).toBe(text));

test("times", () => {
  const at = Date.UTC(2024, 0, 2, 15, 4, 5, 67);
  expect(rfc3339(at)).toBe("2024-01-02T15:04:05Z");
  expect(goTime(at)).toBe("2024-01-02 15:04:05 +0000 UTC");
  expect([..."BbmAadHIMSYypZzL"].map((letter) => strftime(at, letter))).toEqual([
    ...["January", "Jan", "01", "Tuesday", "Tue", "02", "15", "03", "04", "05", "2024", "24", "PM"],
    ...["UTC", "+0000", ".067"],
  ]);
  expect(strftime(at, "Q")).toBeUndefined();
});

test("a text that nests too deep is refused before it is parsed", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  expect(exactJson(parseExactJson(nested(500)) as Json)).toBe(nested(500));
  expect(() => parseExactJson(nested(501))).toThrow("JSON nests deeper than 500");
  expect(isJsonContainer(nested(500))).toBe(true);
  expect(isJsonContainer(nested(900_000))).toBe(false);
  expect(() => parseExactJson(`[${"{},".repeat(2_000)}{}]`)).not.toThrow();
});
