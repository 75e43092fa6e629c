import { describe, expect, test } from "vitest";

import { goString, toJsonText } from "../values/go_text.ts";
import type { ValueMap } from "../values/values.ts";
import { compileExpr } from "./compile.ts";

const ENV: ValueMap = {
  name: "sluice",
  payload: { ok: true, list: [1, 2, "a"], text: "abc", sizes: [3, 1] },
};

function run(source: string) {
  return compileExpr(source, { env: ENV }).run(ENV);
}

describe("an equality whose operands are known to be ints, or texts, refuses nil", () => {
  test.each([
    ["findIndex(payload.list, # == 'x') == 0", "nil, not int"],
    ["0 != findLastIndex(payload.list, # == 'x')", "nil, not int"],
    ["find(['a'], # == 'b') == 'b'", "nil, not string"],
    ["(payload.ok ? nil : 'a') != 'b'", "nil, not string"],
    ["(payload.ok ? nil : name) == name", "nil, not string"],
    ["let at = findIndex([1], # > 5); at == len(name)", "nil, not int"],
  ])("%s", (source, message) => expect(() => run(source)).toThrow(message));

  test.each([
    ["findIndex(payload.list, # == 'x') == nil", true],
    ["findIndex(payload.list, # == 'x') == 0.0", false],
    ["findIndex(payload.list, # == 'x') in [0]", false],
    ["findIndex(payload.list, # == 2) == 1", true],
    ["find(payload.list, # == 'x') == 'x'", false],
    ["(payload.ok ? nil : true) == true", false],
    ["name == 'sluice' and name != 'x'", true],
  ])("%s is %s", (source, want) => expect(run(source)).toBe(want));
});

describe("a count that is compared with a number stops where the answer is known", () => {
  test.each([
    ["count([1, 2, 'a'], # > 0) < 2", false],
    ["count([1, 2, 'a'], # > 0) <= 1", false],
    ["count([1, 2, 3], # > 0) < 3", false],
    ["count([1, 2, 3], # > 0) <= 3", true],
  ])("%s is %s", (source, want) => expect(run(source)).toBe(want));

  test.each(["count([1, 2, 'a'], # > 0) <= 2", "count([1, 2, 'a'], # > 0) == 2"])(
    "%s fails",
    (source) => expect(() => run(source)).toThrow("string > int"),
  );
});

describe("lists know what they are made of", () => {
  test.each([
    ["sort(toPairs({b: 1, a: 2}))", "null"],
    ["toPairs({a: 1}) == [['a', 1]]", "false"],
    ["toPairs({a: 1}) == toPairs({a: 1})", "true"],
    ["take(toPairs({a: 1}), 5) == toPairs({a: 1})", "true"],
    ["map(toPairs({a: 1}), #[0])", '["a"]'],
  ])("%s is %s", (source, want) => expect(toJsonText(run(source))).toBe(want));

  test.each(["join(3..1)", "join(1..3)"])("%s is refused: it has ints", (source) => {
    expect(() => run(source)).toThrow("invalid argument for join (type []int)");
  });
});

test.each([
  "payload.text[0]",
  "(payload.x ?? duration('1s'))",
  "(payload.x ?? date('2024-01-01'))",
])(
  "get() finds nothing in %s",
  (source) => expect(goString(run(`get(${source}, 'x')`))).toBe("<nil>"),
);

test("date() takes four arguments only when the first is known to be a zone", () => {
  expect(() => run("date(payload.text, 'a', 'b', 'c')")).toThrow("expected at most 3, got 4");
  expect(goString(run("date(timezone('UTC'), '2024-01-02', '2006-01-02', 'UTC').Day()"))).toBe("2");
});

describe("an int64 and an int, or maps with other values, have no type in common", () => {
  test.each([
    "(payload.ok ? 1 : duration('1h').Nanoseconds()).x",
    "(date('2024-01-01').Unix() ?? 1).x",
    "(fromPairs([['k', 1]]) ?? groupBy([1], #)).x + 1",
    "-(fromPairs([['k', 1]]) ?? groupBy([1], #))",
  ])("%s fails when it runs", (source) => {
    const program = compileExpr(source, { env: ENV });
    expect(() => program.run(ENV)).toThrow();
  });
});

describe("a time and a zone contain no name, and can't be asked for anything else", () => {
  test.each(["'x' in date('2024-01-01')", "'x' in timezone('UTC')"])(
    "%s is false",
    (source) => expect(run(source)).toBe(false),
  );
  test.each([
    ["payload.x in date('2024-01-01')", "cannot use <nil> as field name of time.Time"],
    ["payload.ok in timezone('UTC')", "cannot use bool as field name of time.Location"],
  ])("%s fails", (source, message) => expect(() => run(source)).toThrow(message));
});

test("findLast leaves nothing behind", () => {
  expect(run("1 + findLast([1, 2, 3], # > 1)")).toBe(4n);
  expect(goString(run("['a', findLastIndex([1, 2], true)]"))).toBe("[a 1]");
});
