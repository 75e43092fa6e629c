import { expect, test } from "vitest";
import { parseGoFloat, parseGoInt } from "./go_number.ts";

test.each<[string, number, bigint | undefined]>([
  ["12", 10, 12n],
  ["+12", 10, 12n],
  ["-12", 0, -12n],
  ["010", 0, 8n],
  ["010", 10, 10n],
  ["08", 0, undefined],
  ["0x1F", 0, 31n],
  ["0x1F", 10, undefined],
  ["0b101", 0, 5n],
  ["1_000", 0, 1000n],
  ["1__000", 0, undefined],
  ["_1", 0, undefined],
  ["0x_f", 0, 15n],
  ["777", 8, 511n],
  ["", 10, undefined],
  ["-", 10, undefined],
  [" 1", 10, undefined],
  ["9223372036854775807", 10, 2n ** 63n - 1n],
  ["9223372036854775808", 10, undefined],
  ["-9223372036854775808", 10, -(2n ** 63n)],
])("parseGoInt(%s, %s) is %s", (text, base, want) => {
  expect(parseGoInt(text, base)).toBe(want);
});

test.each<[string, number | undefined]>([
  ["1.5", 1.5],
  [".5", 0.5],
  ["5.", 5],
  ["1e3", 1000],
  ["1_0.5", 10.5],
  ["1_.5", undefined],
  ["0x1p-2", 0.25],
  ["0x1.8p1", 3],
  ["-0x.8p0", -0.5],
  ["0x1p-1074", 5e-324],
  ["0x1p-1075", 0],
  ["0x1.8p-1075", 5e-324],
  ["0x1", undefined],
  ["Inf", Infinity],
  ["-infinity", -Infinity],
  ["NaN", NaN],
  ["1e400", undefined],
  ["", undefined],
  ["x", undefined],
  [" 1", undefined],
])("parseGoFloat(%s) is %s", (text, want) => {
  expect(parseGoFloat(text)).toBe(want);
});
