import { describe, expect, test } from "vitest";

import { compileExpr } from "./compile.ts";
import { ExprCompileError, ExprRuntimeError } from "../values/error.ts";
import { goString } from "../values/go_text.ts";
import type { Value, ValueMap } from "../values/values.ts";

/** The environment of the tables below. */
const ENV: ValueMap = {
  name: "sluice",
  big: true,
  price: 2.5,
  stock: 40,
  nothing: null,
  order: {
    id: "o-17",
    total: 99.5,
    paid: false,
    lines: [
      { sku: "bolt", qty: 4, tags: ["metal", "small"] },
      { sku: "plank", qty: 1, tags: [] },
      { sku: "glue", qty: 2, tags: null },
    ],
    note: null,
    "odd key": 1,
  },
  words: ["tap", "weir", "lock", "tap"],
  numbers: [3, 1, 2],
  mixed: [1, "a", null, [2]],
};

function evaluate(source: string): Value {
  return compileExpr(source, { env: ENV }).run(ENV, { now: () => 1_700_000_000_500 });
}

/** A value as text with its kind: ints end in n, strings are quoted. */
function show(value: Value): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(show).join(", ")}]`;
  return value === null ? "nil" : goString(value);
}

function table(title: string, rows: readonly (readonly [source: string, want: string])[]): void {
  describe(title, () => {
    test.each(rows)("%s gives %s", (source, want) => {
      expect(show(evaluate(source))).toBe(want);
    });
  });
}

test.each(["date('a', 'b', 'c', 'd')", "$env()", "$env().text", "$env(1)"])(
  "%s can't be compiled",
  (source) => expect(() => evaluate(source)).toThrow(ExprCompileError),
);

table("literals", [
  ["42", "42n"],
  ["1_000", "1000n"],
  ["0x2A", "42n"],
  ["0b101", "5n"],
  ["0o17", "15n"],
  ["017", "17n"],
  ["1.5", "1.5"],
  [".5", "0.5"],
  ["5.", "5"],
  ["1e3", "1000"],
  ["9223372036854775807", "9223372036854775807n"],
  ['"a\\tb"', '"a\\tb"'],
  ["'it\\'s'", '"it\'s"'],
  ['"\\x41\\u00e9\\u{1F600}\\101"', '"Aé😀A"'],
  ["`raw \\n ``q```", '"raw \\\\n `q`"'],
  ['"a\\r"', '"a\\r"'],
  ['"a\rb"', '"a\\nb"'],
  ['b"h\\x69"', "[104 105]"],
  ["true", "true"],
  ["nil", "nil"],
  ["[1, 'a',]", '[1n, "a"]'],
  ["{a: 1, 'b c': 2, 3: 4, (name): 5}", "map[3:4 a:1 b c:2 sluice:5]"],
  ["{a: 1, a: 2}", "map[a:1]"],
]);

table("arithmetic keeps ints and floats apart", [
  ["1 + 2", "3n"],
  ["1 + 2.0", "3"],
  ["7 / 2", "3.5"],
  ["8 / 2", "4"],
  ["-7 % 3", "-1n"],
  ["2 ** 10", "1024"],
  ["2 ^ 3 ^ 2", "512"],
  ["-2 ** 2", "-4"],
  ["9223372036854775807 + 1", "-9223372036854775808n"],
  ["1 / 0", "+Inf"],
  ["stock + 2", "42"],
  ["'a' + 'b'", '"ab"'],
  ["+price", "2.5"],
  ["- -3", "3n"],
  ["1 + 2 * 3 - 4 / 2", "5"],
]);

table("comparison", [
  ["1 == 1.0", "true"],
  ["[1, [2]] == [1.0, [2.0]]", "true"],
  ["{a: 1} == {a: 1.0}", "false"],
  ["{a: 1, b: [2]} == {b: [2], a: 1}", "true"],
  ["stock == 40", "true"],
  ["order.total == '99.5'", "false"],
  ["nothing == nil", "true"],
  ["order.missing == nil", "true"],
  ["1 < 2 <= 2 < 3", "true"],
  ["1 < 3 < 2", "false"],
  ["'a' < 'b'", "true"],
  ["'é' > 'z'", "true"],
  ["'\\uffee' < '😀'", "true"],
  ["numbers == [3, 1, 2]", "true"],
  ["0/0 == 0/0", "false"],
]);

table("logic", [
  ["big and order.id", '"o-17"'],
  ["order.paid or order.total", "99.5"],
  ["order.paid and order.note.x", "false"],
  ["order.note.x or true", "true"],
  ["not (1 == 2)", "true"],
  ["!order.paid", "true"],
  ["1 == 1 and order.id", '"o-17"'],
  ["big ? 1 : 2", "1n"],
  ["order.paid ?: 'unpaid'", '"unpaid"'],
  ["order.note ?? 'none'", '"none"'],
  ["'' ?? 'none'", '""'],
  ["1 + order.note ?? 2", "3n"],
  ["if stock > 30 { 'many' } else if stock > 10 { 'some' } else { 'few' }", '"many"'],
]);

table("in, matches and text tests", [
  ["'tap' in words", "true"],
  ["'dam' not in words", "true"],
  ["'id' in order", "true"],
  ["'toString' in order", "false"],
  ["stock in 1..50", "true"],
  ["2.5 in 1..3", "false"],
  ["name in ['sluice', 'weir']", "true"],
  ["nothing in ['']", "true"],
  ["1 in mixed", "true"],
  ["'x' in order.note", "false"],
  ["name matches '^s.*e$'", "true"],
  ["name matches '(?i)SLUICE'", "true"],
  ["name not matches 'dam'", "true"],
  ["order.note matches 'x'", "false"],
  ["name matches name", "true"],
  ["b'abc' matches '^a'", "true"],
  ["name contains 'lui'", "true"],
  ["name startsWith 'sl' and name endsWith 'ce'", "true"],
  ["order.note contains 'x'", "false"],
]);

table("members, indexes and slices", [
  ["order.id", '"o-17"'],
  ['order["odd key"]', "1"],
  ["order.lines[0].sku", '"bolt"'],
  ["order.lines[-1].sku", '"glue"'],
  ["order?.note?.text.deep", "nil"],
  ["(order.note?.a).b", "nil"],
  ["order.note?.[0]", "nil"],
  ["order.constructor", "nil"],
  ["order.__proto__", "nil"],
  ["words[1:3]", '["weir", "lock"]'],
  ["order.٣x", "nil"],
  ["words[-1:]", '["tap"]'],
  ["words[:1]", '["tap"]'],
  ["words[9:]", "[]"],
  ["name[1:3]", '"lu"'],
  ["'héllo'[0:2] + 'héllo'[2:]", '"héllo"'],
  ["len('héllo'[0:2])", "2n"],
  ["order.id[0]", "111"],
  ["$env.name", '"sluice"'],
  ["$env?.nope", "nil"],
  ["'name' in $env", "true"],
  ["get($env, 'nope') ?? 'd'", '"d"'],
  ["get(order, 'nope')", "nil"],
  ["get(words, 99)", "nil"],
  ["(1..9)[-1]", "9n"],
  ["words[::len('a')]", '"weir"'],
  ["words[::len('a'):2]", '["weir"]'],
  ["type(groupBy(words, #)?.dam) + type(get(groupBy(words, #), 'dam'))", '"nilnil"'],
  ["type(groupBy(words, #).dam)", '"array"'],
  ["order.in", "nil"],
]);

table("let, sequences, pipes", [
  ["let x = 2; let y = x * 3; x + y", "8n"],
  ["1; 2; 3", "3n"],
  ["(let x = 1; x) + (let x = 2; x)", "3n"],
  ["name | upper() | len()", "6n"],
  ["words | filter(# != 'tap') | map(upper(#)) | join('-')", '"WEIR-LOCK"'],
  ["1 | string() + 'a'", '"1a"'],
  ["/* c */ 1 // two", "1n"],
]);

table("collections", [
  ["all(numbers, # > 0)", "true"],
  ["any(order.lines, .qty == 2)", "true"],
  ["one(words, # == 'tap')", "false"],
  ["none(words, {# == 'dam'})", "true"],
  ["filter(numbers, # > 1)", "[3, 2]"],
  ["map(order.lines, .sku)", '["bolt", "plank", "glue"]'],
  ["map(words, #index)", "[0n, 1n, 2n, 3n]"],
  ["map([1, 2], {{v: #}})", "[map[v:1], map[v:2]]"],
  ["map([[1, 2], [3]], {let row = #; map(row, # * len(row))})", "[[2n, 4n], [3n]]"],
  ["find(order.lines, .qty < 2).sku", '"plank"'],
  ["find(words, # == 'x')", "nil"],
  ["findLast(words, # == 'tap')", '"tap"'],
  ["findIndex(words, # == 'tap')", "0n"],
  ["findLastIndex(words, # == 'tap')", "3n"],
  ["count(words, # == 'tap')", "2n"],
  ["count([true, false, true])", "2n"],
  ["sum(numbers)", "6"],
  ["sum(order.lines, .qty)", "7"],
  ["sum([name, name])", '"sluicesluice"'],
  ["reduce(numbers, #acc + #)", "6"],
  ["reduce(words, #acc + #[0:1], '')", '"twlt"'],
  ["reduce([1, 2, 3], #acc * 10 + #index, 0)", "12n"],
  ["groupBy(words, len(#))", "map[3:[tap tap] 4:[weir lock]]"],
  ["groupBy(words, #[0])", "map[108:[lock] 116:[tap tap] 119:[weir]]"],
  ["groupBy(map(['d', '_'], order?.x ?? #), #[0])", "map[95:[_] 100:[d]]"],
  [
    "groupBy([true, 2.5, 10, 9, 'b', nil], #)",
    "map[<nil>:[<nil>] b:[b] 9:[9] 10:[10] 2.5:[2.5] true:[true]]",
  ],
  ["groupBy([duration('1h'), duration('5m')], #)", "map[5m0s:[5m0s] 1h0m0s:[1h0m0s]]"],
  ["groupBy(words, len(#))[4]", '["weir", "lock"]'],
  ["groupBy(words, #).dam", "[]"],
  ["map(groupBy([3, 1], #).dam, .x)", "[]"],
  ["sortBy(order.lines, .qty) | map(.sku)", '["plank", "glue", "bolt"]'],
  ["sortBy(order.lines, .sku, 'desc') | map(.sku)", '["plank", "glue", "bolt"]'],
  ["filter(order.lines, .qty > 1)[0].sku", '"bolt"'],
  ["first(filter(order.lines, .qty > 90))", "nil"],
  ["last(filter(words, # != 'tap'))", '"lock"'],
  ["filter(order.id, # > 100)", "[111]"],
  ["len(filter(words, # == 'tap'))", "2n"],
  ["count(words, # == 'tap') > 1", "true"],
  ["count(words, # == 'tap') > 0", "true"],
  ["any(numbers, # > 2) or any(numbers, # > 5)", "true"],
  ["sum(map(numbers, # * 2))", "12"],
  ["map(filter(numbers, # > 1), #index)", "[0n, 1n]"],
  ["filter(filter(numbers, # > 1), # < 3)", "[2]"],
  ["mixed | filter(# != nil) | filter(# != 'a') | filter(# != 1) | map(#[0])", "[2]"],
  // Each element passes through all filters before the next one is looked at.
  ["first(filter(filter(mixed, # > 0), # == 1))", "1"],
  ["filter(filter(mixed, # > 0), # == 1)[0]", "1"],
  ["filter(filter(mixed, # > 0), false)", "[]"],
  ["len(filter(filter(mixed, true), # == 1))", "1n"],
]);

table("functions on text", [
  ["trim('  a ')", '"a"'],
  ["trim('xxaxx', 'x')", '"a"'],
  ["trimPrefix('v1', 'v') + trimSuffix('a.go', '.go')", '"1a"'],
  ["upper('straße') + lower('ÀÉ')", '"STRAßEàé"'],
  ["split('a,b,c', ',', 2)", '["a", "b,c"]'],
  ["splitAfter('a,b', ',')", '["a,", "b"]'],
  ["split('né', '')", '["n", "é"]'],
  ["split('a', ',', 0) == nil", "true"],
  ["replace('aaa', 'a', 'b', 2)", '"bba"'],
  ["replace('ab', '', '-')", '"-a-b-"'],
  ["repeat('ab', 3)", '"ababab"'],
  ["join(words, '+')", '"tap+weir+lock+tap"'],
  ["indexOf('héllo', 'l')", "3n"],
  ["lastIndexOf('abcb', 'b')", "3n"],
  ["indexOf('abc', 'z')", "-1n"],
  ["hasPrefix(name, 'sl') and hasSuffix(name, 'ce')", "true"],
]);

table("functions on numbers", [
  ["abs(-5)", "5n"],
  ["abs(-2.5)", "2.5"],
  ["ceil(1.2) + floor(1.8) + round(-1.5)", "1"],
  ["max(1, [5, [7]], 2)", "7n"],
  ["min(2.5, 2)", "2n"],
  ["max([])", "nil"],
  ["max([17, [], [[8]]])", "17n"],
  ["min([[], []], [])", "nil"],
  ["type(max(b'hi'))", '"uint"'],
  ["string(abs(-0.0 * 1))", '"-0"'],
  ["mean(numbers)", "2"],
  ["median([4, 1, 3, 2])", "2.5"],
  ["bitand(12, 10)", "8n"],
  ["bitor(12, 3)", "15n"],
  ["bitxor(12, 10)", "6n"],
  ["bitnand(12, 10)", "4n"],
  ["bitnot(12)", "-13n"],
  ["bitshl(1, 63)", "-9223372036854775808n"],
  ["bitshr(-256, 4)", "-16n"],
  ["bitushr(-1, 63)", "1n"],
]);

table("conversions", [
  ["int('42')", "42n"],
  ["int(-1.9)", "-1n"],
  ["int(1e30)", "-9223372036854775808n"],
  ["float('0x1p-2')", "0.25"],
  ["float('-Inf')", "-Inf"],
  ["string(1000000.0)", '"1e+06"'],
  ["string([1, nil, {a: 'x'}])", '"[1 <nil> map[a:x]]"'],
  ["type(1) + type(1.0) + type(nil) + type(order.id[0]) + type([])", '"intfloatniluintarray"'],
  ["type(now())", '"time.Time"'],
  [
    "toJSON({b: 1, a: ['<', 2.0]})",
    '"{\\n  \\"a\\": [\\n    \\"\\\\u003c\\",\\n    2\\n  ],\\n  \\"b\\": 1\\n}"',
  ],
  ["fromJSON('{\"a\": [1]}').a[0]", "1"],
  ["fromBase64(toBase64('né'))", '"né"'],
  ["len('né')", "2n"],
  ["len(order)", "6n"],
]);

table("functions on lists and maps", [
  ["first(words) + last(words)", '"taptap"'],
  ["first(order.note)", "nil"],
  ["take(words, 2)", '["tap", "weir"]'],
  ["sort(keys(order.lines[0]))", '["qty", "sku", "tags"]'],
  ["values({a: 1})", "[1n]"],
  ["toPairs({a: 1})", '[["a", 1n]]'],
  ["fromPairs([['a', 1], [2, 3]])", "map[a:1 2:3]"],
  ["fromPairs([['a', 1], [2, 3]])[2]", "3n"],
  ["get(fromPairs([[nil, 1]]), nil)", "1n"],
  ["reverse(numbers)", "[2, 1, 3]"],
  ["uniq([1, 1.0, 'a', 'a', [1], [1.0]])", '[1n, "a", [1n]]'],
  ["concat(words[:1], [1])", '["tap", 1n]'],
  ["concat([], []) == nil", "true"],
  ["flatten([1, [2, [3]]])", "[1n, 2n, 3n]"],
  ["sort(numbers, 'desc')", "[3, 2, 1]"],
  ["sort(order.note) == nil", "true"],
]);

table("times and durations", [
  ["duration('1h30m') + duration('30m')", "2h0m0s"],
  ["2 * duration('1h')", "2h0m0s"],
  ["date('2024-02-29') + duration('24h')", "2024-03-01 00:00:00 +0000 UTC"],
  ["date('2024-03-01') - date('2024-02-28')", "48h0m0s"],
  ["date('2024-03-01') > date('2024-02-29')", "true"],
  ["date('2024-03-01T00:00:00Z') == date('2024-03-01T01:00:00+01:00')", "true"],
  ["date('2024-02-29').Weekday()", "Thursday"],
  ["date('Monday, 04-Mar-24 10:20:30 UTC')", "2024-03-04 10:20:30 +0000 UTC"],
  ["date('FRIDAY, 01-MAR-24 10:20:30 UTC')", "2024-03-01 10:20:30 +0000 UTC"],
  ["date('2024-02-29').Month().String()", '"February"'],
  ["date('29/02/2024', '02/01/2006').YearDay()", "60n"],
  [
    "date('2024-07-01 10:00', '2006-01-02 15:04', 'Europe/Berlin').Format('15:04 -0700 MST')",
    '"10:00 +0200 CEST"',
  ],
  ["now().Unix()", "1700000000"],
  ["duration('90m').Hours()", "1.5"],
]);

describe("errors", () => {
  const rows: readonly (readonly [source: string, kind: string, reason: string, column: number])[] =
    [
      ["", "compile", "unexpected token EOF", 1],
      ["1 +", "compile", "unexpected token EOF", 3],
      ["1 2", "compile", 'unexpected token Number("2")', 3],
      ["1 ''", "compile", "unexpected token String", 3],
      ["'open", "compile", "literal not terminated", 6],
      ['"\\q"', "compile", "invalid char escape", 3],
      ["1x", "compile", 'bad number syntax: "1x"', 2],
      ["9223372036854775808", "compile", "invalid integer literal", 19],
      ["@", "compile", "unrecognized character: U+0040 '@'", 1],
      ["/* open", "compile", "unclosed comment", 8],
      ["unknown", "compile", "unknown name unknown", 1],
      ["hasOwnProperty(1)", "compile", "unknown name hasOwnProperty", 1],
      ["true or unknown", "compile", "unknown name unknown", 9],
      ["1 + 'a'", "compile", "invalid operation: + (mismatched types int and string)", 3],
      ["not 1", "compile", "invalid operation: not (mismatched type int)", 1],
      ["1 % 0", "compile", "integer divide by zero", 3],
      ["name[0:'a']", "compile", "non-integer slice index string", 8],
      ["name.x", "compile", "type string has no field x", 6],
      ["nothing.x", "compile", "type nil has no field x", 9],
      [
        "words.x",
        "compile",
        "array elements can only be selected using an integer (got string)",
        7,
      ],
      ["order[1]", "compile", "cannot use int to get an element from map[string]interface {}", 7],
      ["first(split(name, '')).x", "compile", "type string has no field x", 24],
      ["first(take([name], 1)).x", "runtime", "cannot fetch x from string", 24],
      ["first([name]).x", "runtime", "cannot fetch x from string", 15],
      ["(true ? [1] : [][0]).x", "runtime", "cannot fetch x from []interface {}", 22],
      ["sum(numbers, nil)", "compile", "predicate should has one input", 14],
      ["order()", "compile", "map[string]interface {} is not callable", 1],
      ["upper(1)", "compile", "cannot use int as argument (type string) to call upper ", 7],
      ["upper()", "compile", "not enough arguments to call upper", 1],
      ["len(1)", "compile", "invalid argument for len (type int)", 1],
      ["filter(words, 1)", "compile", "predicate should return boolean (got int)", 15],
      ["map(name, #)", "compile", "builtin map takes only array (got string)", 5],
      ["map(words)", "compile", "expected at least 2 arguments", 10],
      ["map(words, #; 1)", "compile", "wrap predicate with brackets { and }", 13],
      ["# + 1", "compile", 'unexpected token Operator("#")', 1],
      ["map(words, #acc)", "compile", "unknown pointer #acc", 12],
      [
        "order.a ?? 1 + 2",
        "compile",
        "Operator (+) and coalesce expressions (??) cannot be mixed",
        14,
      ],
      ["let name = 1; 2", "compile", "cannot redeclare name", 5],
      ["let len = 1; 2", "compile", "cannot redeclare builtin len", 5],
      ["let x = 1; let x = 2; x", "compile", "cannot redeclare variable x", 16],
      ["name matches '['", "compile", "error parsing regexp: missing closing ]: `[`", 6],
      ["$env.nope", "compile", "unknown name nope", 6],
      ["order.(total)", "compile", "expected name", 8],
      ["order. == 1", "compile", "expected name", 11],
      ["order.note.x", "runtime", "cannot fetch x from <nil>", 12],
      ["order.total.x", "runtime", "cannot fetch x from float64", 13],
      ["words[9]", "runtime", "index out of range: 9 (array length is 4)", 6],
      ["stock % 2", "compile", "invalid operation: % (mismatched types float64 and int)", 7],
      ["order.total % 2", "runtime", "invalid operation: float64 % int", 13],
      ["order.missing > 1", "runtime", "invalid operation: <nil> > int", 15],
      ["order.id and big", "runtime", "interface conversion: interface {} is string, not bool", 10],
      ["order.id ? 1 : 2", "runtime", "interface conversion: interface {} is string, not bool", 16],
      [
        "upper(order.total)",
        "runtime",
        "interface conversion: interface {} is float64, not string",
        1,
      ],
      ["order.nope()", "runtime", "invalid operation: cannot call nil", 7],
      [
        "now().Format(order.note)",
        "runtime",
        "interface conversion: interface {} is nil, not string",
        7,
      ],
      ["now().Sub(order.note)", "runtime", "is nil, not time.Time", 7],
      ["now().Add(order.note)", "runtime", "is nil, not time.Duration", 7],
      ["max([1, nil])", "runtime", "invalid argument for max (type <nil>)", 1],
      ["int('x')", "runtime", "invalid operation: int(x)", 1],
      ["join(order.nothing, ',')", "runtime", "invalid argument for join (type <nil>)", 1],
      ["len(words) % 0", "runtime", "runtime error: integer divide by zero", 12],
      [
        "order.id in ['a'] or order.total in ['a']",
        "runtime",
        "reflect.Value.MapIndex: value of type float64",
        34,
      ],
      [
        "order.id matches order.id + '('",
        "runtime",
        "error parsing regexp: missing closing ): `o-17(`",
        10,
      ],
      ["filter(words, false)[0]", "runtime", "reflect: slice index out of range", 21],
      ["filter(order, true)", "compile", "builtin filter takes only array", 8],
      ["map(order.total, #)", "runtime", "reflect: call of reflect.Value.Len on float64 Value", 1],
      ["reduce([], #acc)", "runtime", "reduce of empty array with no initial value", 1],
      ["sortBy(mixed, #)", "runtime", "invalid operation: ", 1],
      ["groupBy(mixed, #)", "runtime", "hash of unhashable type: []interface {}", 1],
      ["toJSON(1/0)", "runtime", "json: unsupported value: +Inf", 1],
      ["date('x')", "runtime", "invalid date x", 1],
      ["duration('1d')", "runtime", 'time: unknown unit "d" in duration "1d"', 1],
      ["timezone('Nope')", "runtime", "unknown time zone Nope", 1],
      ["repeat('a', 1000000)", "runtime", "memory budget exceeded", 1],
      ["len(1..1000000)", "runtime", "memory budget exceeded", 6],
      ["bitshl(1, -1)", "runtime", "invalid operation: negative shift count -1 (type int)", 1],
    ];
  test.each(rows)("%s is a %s error: %s", (source, kind, reason, column) => {
    const error = failureOf(source);
    expect(error).toBeInstanceOf(kind === "compile" ? ExprCompileError : ExprRuntimeError);
    expect(error?.reason).toContain(reason);
    expect(error?.column).toBe(column);
  });

  function failureOf(source: string): ExprCompileError | ExprRuntimeError | undefined {
    try {
      evaluate(source);
    } catch (error) {
      if (error instanceof ExprCompileError || error instanceof ExprRuntimeError) return error;
      throw error;
    }
    return undefined;
  }

  test("show the line with a caret under the place", () => {
    const error = failureOf("name +\n\t('é' + x)");
    expect(error?.message).toBe("unknown name x (2:9)\n |  ('é' + x)\n | ........^");
    expect(error?.line).toBe(2);
  });

  test("the same expression compiles for one environment and not for another", () => {
    const compile = (payload: Value) => compileExpr("payload.a == 1", { env: { payload } });
    expect(compile({ a: 1 }).run({ payload: { a: 1 } })).toBe(true);
    expect(() => compile("text")).toThrow("type string has no field a");
    expect(() => compile(null)).toThrow("type nil has no field a");
  });

  test("names of the environment hide built-ins", () => {
    const env = { len: "mine", map: 3 };
    expect(compileExpr("len + string(map)", { env }).run(env)).toBe("mine3");
    expect(() => compileExpr("len(1)", { env })).toThrow("string is not callable");
    expect(compileExpr("::len('abc')", { env }).run(env)).toBe(3n);
  });
});

describe("hostile input", () => {
  const nested = (open: string, core: string, close: string, depth: number) =>
    open.repeat(depth) + core + close.repeat(depth);
  const rows: readonly (readonly [title: string, source: string, reason: string])[] = [
    ["parentheses", nested("(", "1", ")", 100_000), "nested deeper"],
    ["lists", nested("[", "1", "]", 100_000), "nested deeper"],
    ["not", `${"not ".repeat(50_000)}true`, "nested deeper"],
    ["conditionals", `${"true ? 1 : ".repeat(20_000)}2`, "nested deeper"],
    ["many nodes", `1${"+1".repeat(20_000)}`, "exceeds maximum allowed nodes"],
    ["links", `order${".a".repeat(4_000)}`, "links in a chain"],
    ["pipes", `1${" | string()".repeat(2_000)}`, "piped calls"],
    ["length", `'${"x".repeat(300_000)}'`, "longer than"],
    ["loops", "let xs = 1..1000; all(xs, {all(xs, {all(xs, true)})})", "step budget"],
    ["doubling text", "reduce(1..60, #acc + #acc, 'ab')", "memory budget"],
    ["shared structure", "string(reduce(1..60, [#acc, #acc], 0))", "step budget"],
    [
      "shared structure compared",
      "let a = reduce(1..60, [#acc, #acc], 0); {x: a} == {x: reduce(1..60, [#acc, #acc], 0)}",
      "step budget",
    ],
    ["deep value", "string(reduce(1..100000, [#acc], 0))", "nested too deeply"],
    ["formatting", "count(1..100000, {now().Format('" + "Jan".repeat(999) + "') == ''})", "step"],
  ];
  test.each(rows)("%s is refused", (_title, source, reason) => {
    expect(() => evaluate(source)).toThrow(reason);
  });

  test("regular expressions take time in proportion to the text", () => {
    const env = { text: "a".repeat(20_000) };
    const start = performance.now();
    expect(compileExpr("text matches '^(a+)+$'", { env }).run(env)).toBe(true);
    expect(compileExpr("text matches '(a|aa)+b'", { env }).run(env)).toBe(false);
    expect(performance.now() - start).toBeLessThan(2_000);
  });
});
