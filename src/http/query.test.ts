import { describe, expect, test } from "vitest";
import { LIST_OPTIONS, type QuerySchema, readQuery } from "./query.ts";
import { cleanPath, rawTarget } from "./request_path.ts";

const schema = { ...LIST_OPTIONS, fields: "string", key: "strings" } as const;

test("readQuery() types what is declared and ignores the rest", () => {
  expect(
    readQuery(
      "listOptions.limit=3&listOptions.limit=4&listOptions.watch=True&fields=a%2Cb+c&nosuch=1&no.such=1&listOptions.no.such=1&key=a&key=b&fields=z",
      schema,
    ),
  ).toEqual({
    "listOptions.limit": 3,
    "listOptions.watch": true,
    fields: "a,b c",
    key: ["a", "b"],
  });
  expect(readQuery("", schema)).toEqual({});
  expect(readQuery("a;b=%zz", {})).toEqual({});
  expect(readQuery("__proto__=1&constructor=2", schema)).toEqual({});
});

test.each([
  ["0x1F", 31],
  ["-0b11", -3],
  ["+0o17", 15],
  ["010", 8],
  ["1_000", 1000],
  ["0_7", 7],
  ["0", 0],
  ["-9223372036854775808", -(2 ** 63)],
])("readQuery() reads the whole number %s as Go does", (text, value) => {
  expect(readQuery(`listOptions.limit=${encodeURIComponent(text)}`, LIST_OPTIONS)).toEqual({
    "listOptions.limit": value,
  });
});

test.each(["", "08", "0x", "0b2", "1__0", "_1", "1_", "--1", "1e2", "1.0", " 1"])(
  "readQuery() refuses %j for a whole number",
  (text) => {
    expect(() => readQuery(`listOptions.limit=${text}`, LIST_OPTIONS)).toThrow(
      `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  },
);

test.each([
  ["listOptions.limit=abc", 'strconv.ParseInt: parsing "abc": invalid syntax'],
  [
    "listOptions.limit=99999999999999999999",
    'strconv.ParseInt: parsing "99999999999999999999": value out of range',
  ],
  [
    "listOptions.limit=0x8000000000000000",
    'strconv.ParseInt: parsing "0x8000000000000000": value out of range',
  ],
  ["listOptions.limit=a%00", String.raw`strconv.ParseInt: parsing "a\x00": invalid syntax`],
  ["listOptions.watch=yes", 'strconv.ParseBool: parsing "yes": invalid syntax'],
  ["listOptions=1", "field type *v1.ListOptions is not supported in query parameters"],
  ["fields.x=1", "unexpected nested field x in fields"],
  ["listOptions.limit.x.y=1", "unexpected nested field x in listOptions.limit"],
  ["key.x=1", "unexpected repeated field in key.x"],
  ["fields=%zz", 'invalid URL escape "%zz"'],
  ["fields=%ff", "query is not UTF-8: %ff"],
])("readQuery(%j) refuses", (text, message) => {
  expect(() => readQuery(text, schema)).toThrow(expect.objectContaining({ status: 400, message }));
});

describe("readQuery() tells of ignored parameters", () => {
  const told = (text: string, known: QuerySchema) => {
    const warnings: string[] = [];
    readQuery(text, known, (one) => void warnings.push(one));
    return warnings.map((one) => one.replace(" is not known here and was ignored", ""));
  };
  const known = { state: "string", discriminator: "string", limit: "int64" } as const;

  test("that lack their object, have one, or have another case or a letter more: once each", () => {
    const text = "limit=1&limit=2&ListOptions.limit=3&\u212aey=1&listOptions.limit=5";
    const schema = { ...LIST_OPTIONS, key: "string" } as const;
    expect(readQuery(text, schema)).toEqual({ "listOptions.limit": 5 });
    expect(told(text, schema)).toEqual(["the query parameter limit; use listOptions.limit"]);
    expect(told("listOptions.limit=5&discriminater=x&STATE=dead", known)).toEqual([
      "the query parameter listOptions.limit; use limit",
      "the query parameter discriminater; use discriminator",
      "the query parameter STATE; use state",
    ]);
  });

  test("that are like none: of the first one, with those that exist; of what is no name: nothing", () => {
    expect(told("phase=x&other=1&_=123&a%22b=1", known)).toEqual([
      "the query parameter phase; this path takes state, discriminator, limit",
    ]);
  });

  test("that other paths take: not of one that only looks like it", () => {
    expect(told("fields=items.metadata.name", { ...LIST_OPTIONS, namePattern: "string" })).toEqual([
      expect.stringMatching("^the query parameter fields; this path takes listOptions"),
    ]);
  });

  test("of ten at most: others may be sent by the thousand", () => {
    const text = Array.from({ length: 10 }, (_, index) => `odd${index}=1`).join("&");
    expect(told(`${text}&STATE=dead`, known)).toHaveLength(1);
    expect(told(`STATE=dead&${text}`, known)).toHaveLength(2);
  });
});

test.each([
  ["/api/v1//workflows/ns", "/api/v1/workflows/ns"],
  ["/api/v1/workflows//x", "/api/v1/workflows/x"],
  ["/a/b/../c", "/a/c"],
  ["/a/./b/", "/a/b/"],
  ["/a/b", "/a/b"],
  ["/a/b/", "/a/b/"],
  ["//", "/"],
  ["/../..", "/"],
])("cleanPath(%j)", (path, clean) => {
  expect(cleanPath(path)).toBe(clean);
});

test("rawTarget() prefers what was sent over what the URL became", () => {
  const request = new Request("http://h/a/../b?x=1#f");
  expect(rawTarget(request, { incoming: { url: "/a/../b?x=%zz" } })).toEqual({
    path: "/a/../b",
    query: "x=%zz",
  });
  expect(rawTarget(request, undefined)).toEqual({ path: "/b", query: "x=1" });
});

test.each([
  ["/%61pi/v1/%57%6f%5F%2d%7E9%39", "/api/v1/Wo_-~99"],
  ["/api/%2e%2E/%2Fa%20b%25%36%31", "/api/%2e%2E/%2Fa%20b%2561"],
  ["/api/%zz%e9%C3%A9%4", "/api/%zz%e9%C3%A9%4"],
])("the path %s is the same as %s", (url, path) => {
  expect(rawTarget(new Request("http://app/"), { incoming: { url } }).path).toBe(path);
});
