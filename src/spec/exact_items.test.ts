import { expect, test } from "vitest";
import { withExactItems, withWrittenNumbers } from "./exact_items.ts";
import { parseDocuments } from "./parse.ts";
import { decodeText } from "./schema/decode.ts";
import { KIND_SCHEMAS } from "./schema/kinds.ts";
import { WrittenNumber } from "./written_number.ts";

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

test("whole numbers that are not written as such are told apart, except in items and texts", () => {
  const text =
    `{"a": [1e1, -2.0, 1.5, 10], "t": "[1e1, 2.0]", "withItems": [1e1, 9007199254740993]}`;
  const written = (number: number, source: string) => new WrittenNumber(number, source);
  expect(withWrittenNumbers(JSON.parse(text), text)).toEqual({
    a: [written(10, "1e1"), written(-2, "-2.0"), 1.5, 10],
    t: "[1e1, 2.0]",
    withItems: [10, "9007199254740993"],
  });
  const long = `{"a":[1.5${",0".repeat(500_000)}],"b":"${"[1e1,".repeat(100_000)}"}`;
  const start = performance.now();
  withWrittenNumbers(JSON.parse(long), long);
  expect(performance.now() - start).toBeLessThan(1_000);
});

/** A workflow with these members of its spec, as a body brings it. */
function decoded(members: string): unknown {
  const schema = KIND_SCHEMAS.get("Workflow");
  if (schema === undefined) throw new Error("no schema");
  const text = `{"metadata": {"name": "w"}, "spec": {"entrypoint": "m", ${members}}}`;
  return decodeText(JSON.parse(text), text, schema);
}

test.each([
  [
    '"parallelism": 1e1',
    "number 1e1 into Go struct field WorkflowSpec.spec.parallelism of type int64",
  ],
  ['"priority": 1.0', "number 1.0 into Go struct field WorkflowSpec.spec.priority of type int32"],
  [
    '"templates": [{"name": "m", "retryStrategy": {"limit": 1e0}}]',
    "number 1e0 into Go",
  ],
])("as in the reference, %s is no integer", (members, refusal) => {
  expect(() => decoded(members)).toThrow(`json: cannot unmarshal ${refusal}`);
  expect(() => decoded(members.replace(/1e\d|1\.0/, "1"))).not.toThrow();
  // What was decoded before changes nothing.
  expect(() => decoded(members)).toThrow(`json: cannot unmarshal ${refusal}`);
});

test("where other numbers may stand, it is the number", () => {
  const made = decoded(
    '"arguments": {"parameters": [{"name": "p", "value": 1e1}]}, "templates": [{"name": "m", ' +
      '"steps": [[{"name": "s", "template": "m", "withItems": [1.0, {"a": 1e1}]}]], "plugin": {"x": {"y": 2.0}}}]',
  );
  expect(made).toMatchObject({
    spec: {
      arguments: { parameters: [{ value: "10" }] },
      templates: [{ steps: [[{ withItems: [1, { a: 10 }] }]], plugin: { x: { y: 2 } } }],
    },
  });
});
