import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ARGO_FUNCTIONS } from "./argo_functions.ts";
import { compileExpr } from "../language/compile.ts";
import { ExprCompileError, ExprRuntimeError } from "../values/error.ts";
import { goString, toJsonText } from "../values/go_text.ts";
import type { Value } from "../values/values.ts";

const NOW = Date.UTC(2024, 1, 29, 12, 30, 45);

function evaluate(source: string, env: Record<string, Value> = {}): Value {
  return compileExpr(source, { env, functions: ARGO_FUNCTIONS }).run(env, {
    now: () => NOW,
    random: () => 0.25,
  });
}

function failure(source: string): string {
  try {
    evaluate(source);
  } catch (error) {
    if (error instanceof ExprRuntimeError) return error.reason;
    throw error;
  }
  throw new Error("no error");
}

describe("text", () => {
  test.each([
    ["abbrev(5, 'hello world')", "he..."],
    ["abbrevboth(5, 10, '1234 5678 9123')", "...5678..."],
    ["trunc(-5, 'hello world')", "world"],
    ["trim(' \\t x\\u00a0')", "x"],
    ["upper('straße')", "STRAßE"],
    ["upper('ᾳ')", "ᾼ"],
    ["lower('İΑΣ')", "iασ"],
    ["title('hello big-world x_y')", "Hello Big-World X_y"],
    ["untitle('Hello World')", "hello world"],
    ["substr(-1, 3, 'abcdef')", "abc"],
    ["substr(2, -1, 'abcdef')", "cdef"],
    ["trimAll('$x', '$5x$')", "5"],
    ["trimSuffix('-', 'a-')", "a"],
    ["nospace(' a b\\n')", "ab"],
    ["initials('foo bar')", "fb"],
    ["swapcase('aBc')", "AbC"],
    ["snakecase('HTTP20xOK')", "http_20x_ok"],
    ["kebabcase('Bld4Floor3rd')", "bld4-floor-3rd"],
    ["kebabcase('가나다abc ひらカナx')", "가나다abc-ひらカナx"],
    ["snakecase('日本A語b')", "日本_a_語_b"],
    ["snakecase('(Foo)-Bar -(x) a_.b')", "(foo)-bar__(x)_a_.b"],
    ["camelcase('_complex__case_')", "_Complex_Case_"],
    ["camelcase('a_-_b one\\n\\ttwo')", "A_-BOne\nTwo"],
    ["camelcase('GOLANG_IS_GREAT')", "GolangIsGreat"],
    ["wrap(5, 'alpha beta')", "alpha\nbeta"],
    ["wrapWith(3, '|', 'abcdefgh')", "abc|def|gh"],
    ["quote('a\\tb', 1, nil, 1.5)", '"a\\tb" "1" "1.5"'],
    ["squote('a', [1])", "'a' '[1]'"],
    ["cat('a', nil, 2)", "a 2"],
    ["nindent(1, 'a\\nb')", "\n a\n b"],
    ["replace('', '-', 'ab')", "-a-b-"],
    ["replace('a', '$&', 'banana')", "b$&n$&n$&"],
    ["join('-', [1, nil, 'x'])", "1-x"],
    ["join('-', 'x')", "x"],
    ["toString(b'abc')", "abc"],
    ["splitn('$', 2, 'a$b$c')._1", "b$c"],
    ["uuidv4()", "40404040-4040-4040-8040-404040404040"],
    ["randNumeric(3)", "222"],
    ["regexReplaceAll('a(x*)b', '-ab-axxb-', '${1}W')", "-W-xxW-"],
    ["regexReplaceAll('a(x*)b', '-ab-axxb-', '$1W')", "---"],
    ["regexReplaceAll('(?P<n>b)', 'abc', '[${n}$$]')", "a[b$]c"],
    // Several groups may have one name: it stands for the first of them that matches.
    ["regexReplaceAll('a(?P<n>b)|(?<n>[(?<n>c])', 'abcb', '<$n>')", "<b><c>b"],
    ["regexReplaceAll('(?P<n>b)?(?P<n>c)', 'xc', '<$n>')", "x<c>"],
    ["regexFind('z', 'abc')", ""],
    ["urlJoin({scheme: 'http', host: 'h', path: 'a b', userinfo: 'u:p'})", "http://u:p@h/a%20b"],
    ["dir('/a/b/')", "/a/b"],
    ["clean('../a/./b/../..')", ".."],
    ["ext('a.tar.gz')", ".gz"],
    ["toRawJson('<\\\\u003c>')", '"<\\\\u003c>"'],
    ["toPrettyJson({a: [1]})", '{\n  "a": [\n    1\n  ]\n}'],
    ["b32dec(sprig.b32enc('any bytes'))", "any bytes"],
    ["b64dec('aGVsbG8')", "illegal base64 data at input byte 4"],
    ["b64dec('YQ=')", "illegal base64 data at input byte 3"],
    ["b64dec('YQ==YQ==')", "illegal base64 data at input byte 4"],
    ["b64dec('YQ=x')", "illegal base64 data at input byte 2"],
    ["b64dec('YQ\\n=\\n=\\nx')", "illegal base64 data at input byte 7"],
    ["b64dec('a\\nb')", "illegal base64 data at input byte 1"],
    ["title('\u01c6a \u01f3 \u10d0')", "\u01c5a \u01f2 \u10d0"],
    ["swapcase('\u01c6\u01c5\u01c6')", "\u01c5\u01c6\u01c4"],
    ["date('2006-01-02', 86400)", "1970-01-02"],
    ["htmlDate('no time')", "2024-02-29"],
    ["ago(now())", "0s"],
    ["duration('3700')", "1h1m40s"],
    ["durationRound('100h')", "4d"],
    ["unixEpoch(sprig.dateModify('-24h', sprig.now()))", "1709123445"],
    ["dateInZone('15:04 MST', sprig.now(), 'no zone')", "12:30 UTC"],
    ["typeOf(sprig.add(1, 2))", "int64"],
    ["typeOf(sprig.splitList(',', 'a'))", "[]string"],
    ["typeOf(sprig.split(',', 'a'))", "map[string]string"],
    ["typeOf(sprig.semver('1.2'))", "*semver.Version"],
    ["toString(sprig.semver('v01.2'))", "1.2.0"],
    ["kindOf(date('2024-01-01'))", "struct"],
    ["semver('v1.2.3-rc.1+b5').Metadata()", "b5"],
    ["semver('v1.2.3-rc.1').IncPatch().String()", "1.2.3"],
    ["semver('1.2.0-rc.1').IncMinor().IncPatch().String()", "1.3.1"],
    ["toString(sprig.semver('1.2').IncMajor())", "2.0.0"],
    ["kindOf(sprig.semver('1.2')) + sprig.kindOf(sprig.semver('1.2').IncMajor())", "ptrstruct"],
    ["seq(5, 1)", "5 4 3 2 1"],
    ["seq(1, -1, 5)", ""],
  ])("sprig.%s is %j", (source, want) => {
    expect(evaluate(`sprig.${source}`)).toBe(want);
  });
});

describe("other values", () => {
  test.each([
    ["sprig.add('1', 2.9, true)", "4"],
    ["sprig.addf(0.1, 0.2)", "0.3"],
    ["sprig.divf(1, 3)", "0.3333333333333333"],
    ["sprig.mulf(1.5, 2, 2)", "6"],
    ["sprig.round(-2.5, 0)", "-3"],
    ["sprig.round(1.5, 64)", "1.4999999999999998"],
    ["sprig.int('0x1f')", "31"],
    ["sprig.int('12.0')", "12"],
    ["sprig.int('12.5')", "12"],
    ["sprig.int64('-.5')", "0"],
    ["sprig.int('010.7')", "8"],
    ["sprig.int('1.5.6')", "0"],
    ["sprig.int(duration('1µs'))", "1000"],
    ["sprig.addf(duration('1µs'), 0.5)", "1000.5"],
    ["sprig.atoi('99999999999999999999')", "9223372036854775807"],
    ["sprig.atoi('-99999999999999999999')", "-9223372036854775808"],
    ["sprig.atoi('0x1')", "0"],
    ["sprig.split(',', 'a')._0 + sprig.split(',', 'a')._1", '"a"'],
    ["sprig.split(',', 'a')['x'] ?? 'none'", '""'],
    ["get(sprig.split(',', 'a'), 'x')", "null"],
    ["sort(sprig.chunk(1, [2, 1]))", "null"],
    ["sprig.sortAlpha(sprig.regexFindAll('x', 'a', -1))", "null"],
    ["sprig.toStrings(sprig.regexFindAll('x', 'a', -1))", "null"],
    ["sprig.sortAlpha(concat([]))", "[]"],
    ["sprig.chunk(1, [2, 1]) == [[2], [1]]", "false"],
    ["sprig.mod(-7, 3)", "-1"],
    ["sprig.max(1, '9', 3.7)", "9"],
    ["sprig.minf(2, 1.5)", "1.5"],
    ["sprig.untilStep(5, 0, -2)", "[5,3,1]"],
    ["sprig.until(-2)", "[0,-1]"],
    ["sprig.randInt(10, 20)", "12"],
    ["sprig.default('d', [])", '"d"'],
    ["sprig.coalesce(0, '', [], {}, 7)", "7"],
    ["sprig.chunk(2, [1, 2, 3])", "[[1,2],[3]]"],
    ["sprig.chunk(-1, [1, 2])", "[]"],
    ["sprig.semver('1.2') == sprig.semver('1.2')", "true"],
    ["sprig.semver('1.2').Compare(sprig.semver('1.3'))", "-1"],
    ["sprig.semver('1.2').LessThan(sprig.semver('1.3'))", "true"],
    ["sprig.semver('1.2').GreaterThanEqual(sprig.semver('1.2+b'))", "true"],
    ["sprig.slice([1, 2, 3], 1)", "[2,3]"],
    ["sprig.slice([])", "null"],
    ["sprig.uniq([1, 1.0, '1', [1], [1]])", '[1,1,"1",[1]]'],
    ["sprig.duration(date('1970-01-01T00:00:02Z').Unix())", '"2s"'],
    ["map(['UnixMilli', 'x'], sprig.typeOf(date('2024-01-01').UnixMilli()))", '["int64","int64"]'],
    ["sprig.typeOf(duration('1s').Milliseconds())", '"int64"'],
    ["sprig.typeOf(jsonpath('[1,2]', '$.length'))", '"int64"'],
    ["{a: duration('2ns').Nanoseconds()} == {a: 2}", "false"],
    ["duration('2ns').Nanoseconds() == 2", "true"],
    ["abs(sprig.sub(3, 5)) + abs(date('2024-01-01').Unix() - date('2024-01-02').Unix())", "86402"],
    ["abs(sprig.int64('-9223372036854775808')) == sprig.int64('-9223372036854775808')", "true"],
    ["uniq([sprig.add(1, 1), 2, 2.0])", "[2]"],
    ["sprig.add(1, 1) in 0..5 and sprig.add(1, 1) not in 3..5", "true"],
    [
      "let text = 'h'; let from = sprig.int(100); text == 'h' and sprig.int64(104) in from..110",
      "true",
    ],
    ["-9223372036854775807..3", "[]"],
    ["take([1, 2, 3], duration('2ns'))", "[1,2]"],
    ["take([1, 2, 3], date('2024-02-01').Month())", "[1,2]"],
    ["sprig.without([1, 2, 3], 2, 3)", "[1]"],
    ["sprig.concat([1], [], ['a'])", '[1,"a"]'],
    ["sprig.concat([], [])", "null"],
    ["sprig.initial([1, 2])", "[1]"],
    ["sprig.rest([])", "null"],
    ["sprig.dict('a', 1, 'b')", '{"a":1,"b":""}'],
    ["sprig.merge({a: '', b: {c: 1}}, {a: 'x', b: {c: 2, d: 3}})", '{"a":"x","b":{"c":1,"d":3}}'],
    ["sprig.merge(nil, {a: 1}, {a: 2, b: 3})", '{"a":1,"b":3}'],
    ["sprig.mergeOverwrite(nil, {a: 1}, {a: 2})", '{"a":2}'],
    ["sprig.unset(nil, 'a')", "{}"],
    ["sprig.mergeOverwrite({a: 1, b: {c: 1}}, {a: 0, b: {d: 3}})", '{"a":0,"b":{"c":1,"d":3}}'],
    ["sprig.dig('a', 'b', 'none', {a: {}})", '"none"'],
    ["sprig.pick({a: 1, b: 2}, 'b', 'zz')", '{"b":2}'],
    ["sprig.values({b: 2, a: 1})", "[1,2]"],
    ["sprig.regexFindAll('a*', 'baaac', -1)", '["","aaa",""]'],
    ["sprig.regexSplit('a+', 'baab', -1)", '["b","b"]'],
    ["sprig.regexMatch('(', 'x')", "false"],
    ["sprig.fromJson('{')", "null"],
    ["sprig.deepEqual({a: [1]}, {a: [1]})", "true"],
    ["sprig.urlParse('https://u@h:1/p?q#f').userinfo", '"u"'],
    ["sprig.urlParse('mailto:a@b').opaque", '"a@b"'],
  ])("%s is %s", (source, want) => {
    expect(toJsonText(evaluate(source))).toBe(want);
  });

  test.each([
    ["^1.2", "1.9.9", true],
    ["^0.2.3", "0.2.9", true],
    ["^0.2.3", "0.3.0", false],
    ["^0.0.3", "0.0.4", false],
    ["~1.2.3", "1.2.9", true],
    ["~1", "1.9.0", true],
    ["1.2.x", "1.2.7", true],
    ["*", "3.0.0", true],
    [">=1, <2", "1.5.0", true],
    [">=1 <2 || >3", "4.1.0", true],
    [">1.2", "1.2.5", false],
    [">3", "3.1.0", false],
    ["<=1.2", "1.2.5", true],
    ["1.2 - 1.4.5", "1.4.5", true],
    ["!=1.2.3", "1.2.4", true],
    ["!=1.2.3", "2.0.0-rc.1", false],
    [">=1.0.0", "1.1.0-beta", false],
    [">=1.0.0-0", "1.1.0-beta", true],
    ["v1.2.3", "1.2.3", true],
    // Pre-releases count if any comparison of the group names one, also beside an open part.
    ["1.2.3-beta - 2", "1.3.0-rc", true],
    [">=1.0.0-0, <2", "1.1.0-beta", true],
    ["1.2-beta", "1.2.3-gamma", true],
    ["!=1.2-beta", "1.2.3", true],
    ["!=1.2", "1.2.3", false],
    // An open major stands for 0.0.0, which is near to all.
    [">x", "1.2.3", true],
    ["<=*", "0.2.0", false],
    ["<=*", "0.0.9", true],
    ["^*", "1.2.3", false],
    ["~0.0.0", "1.2.3", true],
    ["1.0.0 - *", "1.2.3", false],
  ])("semverCompare(%s, %s) is %s", (constraint, version, want) => {
    expect(
      evaluate(`sprig.semverCompare(${JSON.stringify(constraint)}, ${JSON.stringify(version)})`),
    ).toBe(want);
  });
});

test.each([
  ["sprig.upper()", "invalid number of arguments: expected 1, got 0"],
  ["sprig.mul()", "invalid number of arguments: expected at least 1, got 0"],
  ["sprig.upper(1)", "reflect: Call using int as type string"],
  ["sprig.semverCompare('==1.2', '1.2.0')", "improper constraint: ==1.2"],
  ["sprig.semverCompare('1.2.3-01', '1.2.0')", "improper constraint: 1.2.3-01"],
  [
    "sprig.get(sprig.split(',', 'a'), '_0')",
    "reflect: Call using map[string]string as type map[string]interface {}",
  ],
  ["sprig.repeat(sprig.add(1, 1), 'x')", "reflect: Call using int64 as type int"],
  ["sprig.repeat(2.0, 'x')", "reflect: Call using float64 as type int"],
  ["sprig.pick({a: 1}, 1)", "reflect: cannot use int as type string in Call"],
  ["sprig.repeat(-1, 'x')", "strings: negative Repeat count"],
  ["sprig.substr(4, 2, 'abcdef')", "runtime error: slice bounds out of range [4:2]"],
  ["sprig.first('abc')", "Cannot find first on type string"],
  ["sprig.dig('a', {})", "dig needs at least three arguments"],
  [
    "sprig.dig('a', 'b', 'd', {a: 1})",
    "interface conversion: interface {} is int, not map[string]interface {}",
  ],
  [
    "sprig.dig('_0', 'd', sprig.split(',', 'a,b'))",
    "interface conversion: interface {} is map[string]string, not map[string]interface {}",
  ],
  ["sprig.div(1, 0)", "runtime error: integer divide by zero"],
  ["sprig.divf(1, 0)", "decimal division by 0"],
  ["sprig.fail('boom')", "boom"],
  ["sprig.mustFromJson('{')", "unexpected end of JSON input"],
  [
    "sprig.mustFromJson('{a: 1}')",
    "invalid character 'a' looking for beginning of object key string",
  ],
  [
    "sprig.mustToDate('2006-01-02', 'x')",
    'parsing time "x" as "2006-01-02": cannot parse "x" as "2006"',
  ],
  [
    "sprig.regexFind('[', 'x')",
    "regexp: Compile(`[`): error parsing regexp: missing closing ]: `[`",
  ],
  ["sprig.semver('x')", "invalid semantic version"],
  ["sprig.semver('1').Equal('1')", "reflect: Call using string as type *semver.Version"],
  ["sprig.semver('1').IncMajor(1)", "invalid number of arguments: expected 0, got 1"],
  ["sprig.semverCompare('?', '1.0.0')", "improper constraint: ?"],
  [
    "sprig.urlParse('http://a%20b/')",
    'unable to parse url: parse "http://a%20b/": invalid URL escape "%20"',
  ],
  [
    "sprig.urlParse('http://h:x/')",
    'unable to parse url: parse "http://h:x/": invalid port ":x" after host',
  ],
  ["sprig.set(sprig, 'upper', 1)", "this map cannot be changed"],
  ["sprig.set(nil, 'upper', 1)", "this map cannot be changed"],
  ["jsonpath([1, 'x'][0], '$')", "reflect: Call using int as type string"],
  [
    "sprig.genPrivateKey('rsa')",
    "sprig.genPrivateKey is not available: expressions have no access to keys, certificates and the network",
  ],
  ["sprig.repeat(100000000, 'x')", "memory budget exceeded"],
])("%s fails: %s", (source, want) => {
  expect(failure(source)).toBe(want);
});

test("sprig knows its 209 functions, and no others", () => {
  const names = Object.keys(ARGO_FUNCTIONS.get("sprig") ?? {});
  expect(names).toHaveLength(209);
  expect(evaluate("'env' in sprig")).toBe(false);
  expect(evaluate("'upper' in sprig")).toBe(true);
});

test("a clock and randomness that are not there are errors, not surprises", () => {
  const program = compileExpr("sprig.now()", { env: {}, functions: ARGO_FUNCTIONS });
  expect(() => program.run({})).toThrow("the present time is not available here");
});

test("any call of any function ends soon in a value or one of the two errors", () => {
  const names = Object.keys(ARGO_FUNCTIONS.get("sprig") ?? {});
  const texts = [
    "''",
    "'a b'",
    "'é世👋'",
    "'-1'",
    "'0x1f'",
    "'[a-z]+('",
    "'{\"a\":[1]}'",
    "'2006-01-02'",
    "'UTC'",
    "'1.2.3'",
  ];
  const others = [
    "nil",
    "true",
    "0",
    "-3",
    "7",
    "2.5",
    "1e300",
    "9223372036854775807",
    "[]",
    "[1, 'a', nil]",
    "[[1], {b: 1}]",
  ];
  const more = [
    "{}",
    "{a: 1, b: {c: nil}}",
    "date('2024-02-29')",
    "duration('1h')",
    "b'x'",
    "sprig",
    "sprig.int64(3)",
    "groupBy([1], #)",
  ];
  const arg = fc.constantFrom(...texts, ...others, ...more);
  const call = fc.tuple(fc.constantFrom(...names), fc.array(arg, { maxLength: 4 }))
    .map(([name, args]) => `sprig.${name}(${args.join(", ")})`);
  const nested = fc.tuple(call, fc.constantFrom(...names)).map(([inner, name]) =>
    `sprig.${name}(${inner})`
  );
  fc.assert(
    fc.property(fc.oneof(call, nested), (source) => {
      const started = performance.now();
      try {
        goString(evaluate(source));
      } catch (error) {
        expect(
          error instanceof ExprRuntimeError || error instanceof ExprCompileError,
          `${source}: ${error}`,
        ).toBe(true);
      }
      expect(performance.now() - started, source).toBeLessThan(3_000);
    }),
    { numRuns: 20_000 },
  );
});

test("nospace keeps letters that are not ASCII", () => {
  expect(evaluate("sprig.nospace('é a')")).toBe("éa");
});

test.each([
  ["sprig.list(asInt('7', 8))", "invalid number of arguments: expected 1, got 2"],
  ["sprig.quote(toJson('a', 'b'))", "invalid number of arguments: expected 1, got 2"],
  ["sprig.quote(jsonpath('{}'))", "invalid number of arguments: expected 2, got 1"],
  ["sprig.max(flatten([1], [2]))", "invalid number of arguments (expected 1, got 2)"],
  ["sprig.list(keys({a: 1}, 2))", "invalid number of arguments (expected 1, got 2)"],
  ["sprig.list(get())", "invalid number of arguments (expected 2, got 0)"],
  ["sprig.upper(trim())", "invalid number of arguments for trim (expected 1 or 2, got 0)"],
  ["sprig.list(bitnot(1, 2))", "invalid number of arguments for bitnot (expected 1, got 2)"],
  ["sprig.list(toJSON())", "not enough arguments to call toJSON"],
])("a wrong number of arguments within those of a sprig function fails: %s", (source, message) => {
  expect(failure(source)).toBe(message);
});

test("arguments that a built-in does not look at do no harm within those of a sprig function", () => {
  expect(evaluate("sprig.list(hasPrefix('ab', 'a', 'x'), max(), first(), last([1.5], 2))"))
    .toEqual([true, null, null, 1.5]);
});

test("a version has only its methods", () => {
  expect(failure("sprig.semver('1.2.3').major")).toBe("cannot fetch major from *semver.Version");
  expect(evaluate("sprig.semver('1.2.3').Minor()")).toMatchObject({ value: 2n });
});

test("the name of a host may escape what is not ASCII", () => {
  expect(evaluate("sprig.urlParse('http://a%c3%a9%25/').host")).toBe("aé%");
  expect(evaluate("sprig.urlParse('http://[fe80::1%25en0%20]/').host")).toBe("[fe80::1%en0 ]");
});
