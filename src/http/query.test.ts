import { expect, test } from "vitest";
import { LIST_OPTIONS, readQuery } from "./query.ts";
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
  ["listOptions.limit=abc", 'strconv.ParseInt: parsing "abc": invalid syntax'],
  [
    "listOptions.limit=99999999999999999999",
    'strconv.ParseInt: parsing "99999999999999999999": value out of range',
  ],
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
