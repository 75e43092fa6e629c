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
