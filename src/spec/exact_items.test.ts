import { expect, test } from "vitest";
import { withExactItems } from "./exact_items.ts";
import { parseDocuments } from "./parse.ts";

const ITEMS =
  "[9007199254740993, 5, {id: -9223372036854775808, sub: [123456789012345678]}, 9223372036854775808, 1.5]";
const KEPT = [
  "9007199254740993",
  5,
  { id: "-9223372036854775808", sub: ["123456789012345678"] },
  9223372036854775808,
  1.5,
];

test("items of a loop keep the digits of integers of 64 bits, other members are numbers", () => {
  const json = `{"steps": [{"withItems": ${ITEMS.replace("id", '"id"').replace("sub", '"sub"')}}],
    "priority": 9007199254740993}`;
  expect(withExactItems(JSON.parse(json), json)).toEqual({
    steps: [{ withItems: KEPT }],
    priority: 9007199254740992,
  });
  expect(withExactItems(5, '5 "withItems" 9007199254740993')).toBe(5);
});

test.each([
  ["YAML", `withItems: ${ITEMS}\nvalue: 9007199254740993\nother: [0x20, 017, 0o17, 1_000]`],
  [
    "JSON",
    `{"withItems": ${ITEMS.replace("id", '"id"').replace("sub", '"sub"')},
    "value": 9007199254740993, "other": [32, 15, 15, 1000]}`,
  ],
])("the same holds for manifests in %s", (_, text) => {
  expect(parseDocuments(text).map(({ value }) => value)).toEqual([
    { withItems: KEPT, value: 9007199254740992, other: [32, 15, 15, 1000] },
  ]);
});

test("an integer beyond 2^53 that loses nothing stays a number", () => {
  const json = '{"withItems": [9007199254740992, {"id": 1234567890123456800}]}';
  expect(withExactItems(JSON.parse(json), json)).toEqual(JSON.parse(json));
});

test("digits in a text are left alone, and so are numbers that are not whole", () => {
  const item = String
    .raw`"a\\\" 1234567890123456789", "b\\\\", 1234567890123456789, 0.1234567890123456789`;
  const json = `{"withItems": [${item}, 1e20, 12345678901234567890], "a\\\\": "x"}`;
  const plain = JSON.parse(json) as { withItems: unknown[] };
  const kept = plain.withItems.with(2, "1234567890123456789");
  expect(withExactItems(JSON.parse(json), json)).toEqual({ ...plain, withItems: kept });
});

test.each([
  ["items", `{"withItems":[${Array(100_000).fill("1234567890123456789").join()}]}`],
  ["members", `{"withItems":[1234567890123456789],"a":[${Array(500_000).fill("0").join()}]}`],
  ["texts", `{"a":[${Array(300_000).fill('"x"').join()}],"withItems":[1234567890123456789]}`],
  ["digits", `{"withItems":[${"9".repeat(2_000_000)}]}`],
])("many %s are looked at in proportion", (_, json) => {
  const value = JSON.parse(json) as unknown;
  const start = performance.now();
  withExactItems(value, json);
  expect(performance.now() - start).toBeLessThan(1_000);
});
