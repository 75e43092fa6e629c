/**
 * Nothing that can be evaluated blocks the process: every function is called with the largest and worst arguments that
 * its budget admits, and must end within a bound of processor time. It measures processor time, not the clock, so that
 * a busy machine does not matter.
 */
import { availableParallelism } from "node:os";
import { describe, expect, test } from "vitest";
import { ARGO_FUNCTIONS } from "../functions/argo_functions.ts";
import { BUILTINS } from "../functions/builtins.ts";
import { compileExpr } from "./compile.ts";
import {
  evaluateBoolean,
  evaluateSelector,
  eventEnvironment,
  ExpressionError,
} from "../templates/contexts.ts";
import { ExprCompileError, ExprRuntimeError } from "../values/error.ts";
import { queryJson } from "../jsonpath/jsonpath.ts";
import { parseLabelSelector } from "../selectors/label_selector.ts";
import { parseFieldSelector } from "../selectors/field_selector.ts";
import { parseWorkflowFieldSelector } from "../selectors/workflow_field_selector.ts";
import { compileRegex, MAX_PATTERN_SIZE } from "../values/regex.ts";
import { regexSize } from "../values/regex_size.ts";
import { RunContext } from "../values/run_context.ts";
import { scopeOf } from "./scope.ts";
import { substitute, substituteText } from "../templates/template.ts";
import { fromJson, type Value, type ValueMap } from "../values/values.ts";
import { evaluateCronWhen, evaluateWhen, WhenError } from "../when/when.ts";
import { leastProcessorMs } from "../../../test/support/processor_time.ts";

/** Most processor time of one evaluation, milliseconds. */
const MOST_MS = 50;

const processorMs = (run: () => void) => leastProcessorMs(run, MOST_MS);
function withoutErrors(run: () => unknown): () => void {
  return () => {
    try {
      run();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (/internal error/.test(error.message)) throw error;
    }
  };
}

const CLOCK = { now: () => 1_700_000_000_000, random: () => 0.5 };

// --------------------------------------------------------------------------------------------------------- functions

/** Values of a size, each the worst for some function. */
const SHAPES: Readonly<Record<string, (size: number) => Value>> = {
  ascii: (n) => "a".repeat(n),
  words: (n) => "ab Cd-1_".repeat(n >> 3),
  wide: (n) => "é".repeat(n),
  sigma: (n) => "Σß".repeat(n >> 1),
  pairs: (n) => "\u{1F600}".repeat(n >> 1),
  escapes: (n) => '<"\\\n'.repeat(n >> 2),
  digits: (n) => "1".repeat(n),
  path: (n) => "a/../".repeat(n / 5),
  blanks: (n) => " ".repeat(n),
  base64: (n) => "QUJD".repeat(n >> 2),
  base32: (n) => "MFRGGZDF".repeat(n >> 3),
  json: (n) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: n / 10 }, (_, i) => [`k${i}`, i]))),
  broken: (n) => "\udc80".repeat(n),
  durations: (n) => "1h".repeat(n >> 1),
  url: (n) => `http://u:p@h/${"%20".repeat(n / 3)}?q#f`,
  numbers: (n) => Array.from({ length: n >> 2 }, (_, i) => i / 7),
  texts: (n) => Array.from({ length: n >> 2 }, (_, i) => `key${(i * 7919) % n}`),
  objects: (n) => Array.from({ length: n >> 3 }, (_, i) => ({ a: i, b: "x" })),
  entries: (n) => Array.from({ length: n >> 3 }, (_, i) => [`k${i}`, i]),
  same: (n) => new Array<Value>(n >> 2).fill("aaaaaaaaaaaaaaaa"),
  map: (n) =>
    Object.fromEntries(Array.from({ length: n >> 3 }, (_, i) => [`k${(i * 7919) % n}`, i])),
};

/** Arguments around the large one. */
const CALLS = [
  "x",
  "x, 5",
  "5, x",
  "x, 'a'",
  "'a', x",
  "'', x",
  "x, x",
  "5, ' ', x",
  "'a', '', x",
  "'', 'a', x",
  "x, 'a', ''",
];

const NAMES = [
  ...BUILTINS.keys(),
  ...Object.keys(ARGO_FUNCTIONS.get("sprig") as ValueMap).map((name) => `sprig.${name}`),
  ...["asInt", "asFloat", "toJson", "jsonpath"],
].filter((name) => !/sprig\.must|sprig\.os/.test(name));

/** Steps that a call takes; undefined if it does not accept such arguments. */
function call(source: string, x: Value): { run: () => void; steps: () => number } | undefined {
  const env = { x };
  try {
    const program = compileExpr(source, { env, functions: ARGO_FUNCTIONS });
    let context = new RunContext(CLOCK);
    return {
      run: withoutErrors(() => program.run({ x }, context = new RunContext(CLOCK))),
      steps: () => context.stepsTaken,
    };
  } catch (error) {
    if (error instanceof ExprCompileError) return undefined;
    throw error;
  }
}

function takes(source: string, x: Value): boolean {
  try {
    const env = { x };
    compileExpr(source, { env, functions: ARGO_FUNCTIONS }).run(env, CLOCK);
    return true;
  } catch (error) {
    if (error instanceof ExprCompileError) return false;
    if (!(error instanceof ExprRuntimeError)) throw error;
    return !/number of arguments|reflect:|interface conversion|cannot |invalid argument/.test(
      error.reason,
    );
  }
}

const SIZE = 50_000;
const LARGEST = 2_000_000;

describe("functions end in time, whatever they are given", () => {
  const slow = new Map<string, string>();
  test.each(Object.keys(SHAPES))("%s", (shape) => {
    const make = SHAPES[shape] as (size: number) => Value;
    const small = make(16);
    for (const name of NAMES) {
      for (const args of CALLS) {
        const source = `${name}(${args})`;
        if (!takes(source, small)) continue;
        const first = call(source, make(SIZE));
        if (first === undefined) continue;
        const ms = processorMs(first.run);
        if (ms > MOST_MS) slow.set(source, `${shape}: ${ms} ms of ${first.steps()} steps`);
        // As large as the budget admits.
        const size = Math.min(
          shape === "map" ? LARGEST / 4 : LARGEST,
          Math.floor(SIZE * 240_000 / Math.max(first.steps(), 1)),
        );
        if (size < SIZE * 1.5 || ms * size / SIZE < MOST_MS / 3) continue;
        const largest = call(source, make(size));
        if (largest === undefined) continue;
        const most = processorMs(largest.run);
        if (most > MOST_MS) {
          slow.set(source, `${shape} × ${size}: ${most} ms of ${largest.steps()} steps`);
        }
      }
    }
    expect(Object.fromEntries(slow)).toEqual({});
  }, 120_000 * Math.max(1, 4 / availableParallelism()));

  test("in a loop", () => {
    const samples = [
      ...["'aé1.5'", "3", "2.5", "'1.2.3-rc.1'", "'2024-02-29'", "'(a|b)*c+'", "l", "m", "nil"],
      ...["'http://u:p@h:1/p?q=%20'", "'1h2m3s'", "'Europe/Berlin'", "1e300", "'$..a[?(@.b>1)]'"],
    ];
    const env: ValueMap = { l: [1, "x", null], m: { a: { b: 1 }, c: "x" } };
    const slow: Record<string, number> = {};
    for (const name of NAMES) {
      const calls = samples.flatMap((a, i) => [
        `${name}(${a})`,
        `${name}(${a}, ${samples[(i * 5 + 3) % samples.length]})`,
        `${name}(3, ${a}, ${samples[(i * 3 + 1) % samples.length]})`,
      ]).filter((source) => {
        try {
          compileExpr(source, { env, functions: ARGO_FUNCTIONS }).run(env, CLOCK);
          return true;
        } catch {
          return false;
        }
      });
      for (const source of calls.slice(0, 4)) {
        const program = compileExpr(`count(1..999990, {type(${source}) == '#'})`, {
          env,
          functions: ARGO_FUNCTIONS,
        });
        const ms = processorMs(withoutErrors(() => program.run(env, CLOCK)));
        if (ms > MOST_MS) slow[source] = ms;
      }
    }
    expect(slow).toEqual({});
  }, 240_000);
});

// ------------------------------------------------------------------------------------------------------- expressions

const A = "repeat('a', 100000)";
const NEARLY = `let t = repeat('a', 450000); let h = repeat('a', 120000); let p = h + 'b' + h; `;
const MANY = Array.from({ length: 2_000 }, (_, i) => `"x" matches "p${i}[a-z]+"`).join(" || ");

const EXPRESSIONS: readonly (readonly [title: string, source: string])[] = [
  ["a counted alternation", `sprig.regexMatch('(a|aa|aaa|b){300}$', ${A})`],
  ["one that is too large", `sprig.regexMatch('(a|aa|aaa|b){500}$', ${A})`],
  ["nested counted repeats", `sprig.regexMatch('((a{30}){30}){30}', ${A})`],
  ["nested open repeats", `sprig.regexMatch('((a{0,30}){0,30}){0,30}$', ${A})`],
  ["optional letters", `${A} matches '(a?){1000}a{1000}$'`],
  ["classes", `${A} matches '([\\\\pL\\\\pN\\\\pP]?){400}$'`],
  ["classes without case", `${A} matches '(?i)${"[a-\\\\x{10ffff}]".repeat(100)}'`],
  ["compiling many", "map(1..100000, sprig.regexMatch('a{' + string(#) + '}', 'a'))"],
  ["compiling large ones", "map(1..100000, sprig.regexMatch('(ab|c){400}' + string(#), 'a'))"],
  ["compiling the same", `map(1..100000, sprig.regexMatch("(a|b)*c", "ababab"))`],
  ["patterns in the source", MANY],
  ["classes without an end", `'x' matches repeat('[', 4000) + '<'`],
  ["many of them", "map(1..100000, sprig.regexMatch(repeat('[', 4000) + '<' + string(#), 'a'))"],
  ["matches everywhere", `sprig.regexReplaceAll('a*?', ${A}, '$0$0$0')`],
  ["a search that fails late", `sprig.regexFindAll('a*b|a', ${A}, -1)`],
  ["splitting", `sprig.regexSplit('', ${A}, -1)`],
  ["many groups", `sprig.regexReplaceAll('${"(a)".repeat(100)}', ${A}, '$1')`],
  ["literal text", `sprig.regexFindAll('${"a".repeat(2_000)}b', ${A}, -1)`],
  ["letters with a case", `sprig.regexFindAll('(?i)straße|kelvin', ${A}, -1)`],
  ["comparing long texts", `let t = ${A} + 'b'; let u = ${A} + 'c'; count(1..100000, t < u)`],
  ["equal long texts", `let t = ${A} + 'b'; let u = ${A} + 'b'; count(1..100000, t == u)`],
  [
    "comparing long texts with loose bytes",
    "let t = repeat('\u{1F600}', 200000)[1:]; let u = t + 'b'; count(1..100000, t < u)",
  ],
  ["searching in vain", `let t = ${A}; count(1..100000, t contains repeat('a', 500) + 'b')`],
  [
    "searching from behind",
    `let t = ${A}; count(1..100000, lastIndexOf(t, 'b' + repeat('a', 500)))`,
  ],
  ...[
    "t contains p",
    "sprig.contains(p, t)",
    "indexOf(t, p)",
    "lastIndexOf(t, p)",
    "split(t, p)",
    "sprig.splitList(p, t)",
    "replace(t, p, 'x')",
    "sprig.replace(p, 'x', t)",
  ].map((call) => [`nearly found everywhere: ${call}`, `${NEARLY}${call}`] as const),
  [
    "a pattern nearly found everywhere",
    `count(1..5, ${A} matches '${"a".repeat(2_000)}b${"a".repeat(2_000)}')`,
  ],
  ["bytes", `let t = repeat('é', 100000); count(1..100000, t[50000] == 1)`],
  ["a slice", `let t = repeat('é', 100000); count(1..100000, t[1:99999] == 'x')`],
  ["sums of decimals", "sprig.addf(map(1..1000, 1e300))"],
  ["powers", "reduce(1..100000, #acc * 1000003, 7)"],
  [
    "decimals",
    `sprig.mulf(${Array.from({ length: 600 }, (_, i) => i % 2 ? "1e300" : "1e-300").join()})`,
  ],
  ["hashes", `map(1..100000, sprig.sha512sum(string(#)))`],
  ["hash of hash", `reduce(1..100000, sprig.sha256sum(#acc), 'x')`],
  [
    "dates",
    "map(1..100000, date('2024-02-29', '2006-01-02', 'Europe/Berlin').Format('Mon Jan 2'))",
  ],
  ["versions", "count(1..100000, sprig.semverCompare('^1.2 || ~2.3 || >4 <5', '1.2.3'))"],
  ["nested loops", "let xs = 1..1000; all(xs, {all(xs, {all(xs, true)})})"],
  ["sorting texts", "sort(map(1..60000, repeat('a', 20) + string(# % 1000)))"],
  ["sorting by", "sortBy(1..200000, -#)"],
  ["grouping", "groupBy(1..200000, string(#))"],
  ["unlike objects", "uniq(map(1..100000, {{a: #}}))"],
  ["shared structure", "string(reduce(1..60, [#acc, #acc], 0))"],
  ["shared structure as JSON", "toJSON(reduce(1..60, {a: #acc, b: #acc}, 0))"],
  ["deep structure", "toJSON(reduce(1..4000, [#acc], 0))"],
  ["a large message", "({a: map(1..200000, #)}).b.c[map(1..200000, #)]"],
  ["JSONPath everywhere", `jsonpath('${"[".repeat(300)}${"]".repeat(300)}', '$..*..*..*..*')`],
  ["JSONPath filters", "jsonpath(toJSON(map(1..2000, {{a: #}})), '$[?(@.a in $..a)]')"],
  ["JSONPath patterns", `jsonpath('["' + ${A} + '"]', "$[?(@ =~ '(a|aa|aaa){300}b')]")`],
  ["a long JSONPath", `jsonpath('{}', '$' + repeat('[?(@.a)]', 10000))`],
  ["a deep JSONPath", `jsonpath('{}', '$' + repeat('[?(@', 400) + repeat(')]', 400))`],
  ["random text", "sprig.randAlphaNum(900000)"],
  ["deep copies", "map(1..100000, sprig.deepCopy({a: {b: {c: [1, 2, 3]}}}))"],
  ["merging", "reduce(1..100000, sprig.merge(#acc, {a: {b: 1}}), {a: {b: {c: 1}}})"],
  ["printing in a loop", "map(1..100000, string([#, #, #]))"],
  ["indenting", `sprig.indent(1000, repeat('\\n', 100000))`],
  ["wrapping", `sprig.wrapWith(1, '--', repeat('\u{1F600}', 100000))`],
  // Compiling.
  ["operators", `1${"+1".repeat(4_900)}`],
  ["conditionals", `${"true ? 1 : ".repeat(390)}2`],
  ["predicates in predicates", `${"map([1], ".repeat(190)}1${")".repeat(190)}`],
  [
    "one large predicate in many",
    `${"map([1], ".repeat(100)}1${"+1".repeat(4_500)}${")".repeat(100)}`,
  ],
  [
    "names",
    `${Array.from({ length: 390 }, (_, i) => `let v${i} = 1; `).join("")}${
      Array(4_000).fill("v0").join("+")
    }`,
  ],
  ["unlike any", Array.from({ length: 400 }, (_, i) => `any(x, # == ${i})`).join(" or ")],
  ["members", Array.from({ length: 19 }, () => `f()${".a".repeat(250)}`).join("+")],
  ["a long literal", `'${"é".repeat(250_000)}' == 'x'`],
  ["escapes", `"${"\\u00e9".repeat(40_000)}" == 'x'`],
  ["a long list", `[${"1,".repeat(9_900)}1] == []`],
  ["a long map", `{${Array.from({ length: 3_000 }, (_, i) => `k${i}: ${i}`).join()}}`],
  ["comments", `1 ${"/* x */".repeat(30_000)}`],
];

describe("expressions end in time", () => {
  test.each(EXPRESSIONS)("%s", (_title, source) => {
    const evaluate = () =>
      evaluateBoolean(source, { x: [1] }, { functions: ARGO_FUNCTIONS, run: CLOCK });
    expect(processorMs(withoutErrors(evaluate))).toBeLessThan(MOST_MS);
  });

  test("an error names the budget, and nothing in an expression can catch it", () => {
    const evaluate = (source: string) => () =>
      evaluateBoolean(source, {}, { functions: ARGO_FUNCTIONS, run: CLOCK });
    for (
      const source of [
        `sprig.regexMatch('(a|aa|aaa|b){300}$', ${A})`,
        "len(map(1..100000, sprig.regexMatch('a{' + string(#) + '}', 'a'))) > 0",
        `jsonpath('["' + ${A} + '"]', "$[?(@ =~ '(a|aa|aaa|b){300}$')]") == []`,
        "sprig.toJson(map(1..200000, #)) == ''",
      ]
    ) {
      expect(evaluate(source)).toThrow(/step budget exceeded: .*; shorten/);
    }
    expect(evaluate("len(1..1000000) > 1")).toThrow("memory budget exceeded");
    expect(evaluate(`sprig.regexMatch('(a|aa|aaa|b){500}$', ${A})`)).toThrow(
      /pattern budget exceeded: .*; make its repeats smaller/,
    );
  });

  test("a budget does not depend on what is in the caches", () => {
    const taken = (source: string) => {
      const context = new RunContext(CLOCK);
      evaluateBoolean(source, { x: "abc" }, { functions: ARGO_FUNCTIONS, run: context });
      return context.stepsTaken;
    };
    for (const source of ["x matches '(never|seen){2}'", "sprig.regexMatch('(not|seen){3}', x)"]) {
      expect([taken(source), taken(source)]).toEqual([taken(source), taken(source)]);
      expect(taken(source)).toBeGreaterThan(100);
    }
  });
});

describe("programs of regular expressions are bounded before they are compiled", () => {
  test.each([
    "(a|aa|aaa|b){1000}",
    "((a{30}){30}){30}",
    "(((a{0,9}){0,9}){0,9}){0,9}",
    "(\\pL{900}){9}",
    "(?:a|b|c|d|e|f){999}x",
  ])("%s", (pattern) => {
    expect(() => compileRegex(pattern, new RunContext())).toThrow(
      /pattern budget exceeded|invalid repeat count/,
    );
  });

  test("the estimate is never below the size", () => {
    const pieces = [
      "a",
      "[^b-d]",
      "\\pL",
      "(x|yz|)",
      "(?:ab)*",
      "c{2,7}",
      "d{3}",
      "(e?){4,}",
      "\\Qf(g\\E",
      "[[:alpha:]]",
      ".",
      "^",
      "\\b",
      "(?i)k",
    ];
    let seed = 1;
    const next = (n: number) => (seed = seed * 48271 % 2147483647) % n;
    for (let round = 0; round < 400; round++) {
      let pattern = "";
      for (let i = next(8) + 1; i > 0; i--) pattern += pieces[next(pieces.length)];
      if (next(3) === 0) pattern = `(${pattern}){${next(9) + 1}}`;
      let steps = 0;
      const context = new RunContext();
      compileRegex(pattern, context);
      steps = context.stepsTaken;
      const size = compileRegex(pattern, context).size;
      expect(regexSize(pattern).instructions, pattern).toBeGreaterThanOrEqual(size);
      expect(steps).toBeGreaterThan(0);
    }
    expect(regexSize(`a{${MAX_PATTERN_SIZE}}`).instructions).toBeGreaterThan(MAX_PATTERN_SIZE);
  });

  test("compiling any pattern ends in time", () => {
    const patterns = [
      "a".repeat(4_000),
      Array.from({ length: 900 }, (_, i) => `x${i}`).join("|").slice(0, 4_000),
      "(a|aa|aaa|b){450}$",
      "[^\\pL]".repeat(600),
      `(?i)${"[\\pL]".repeat(800)}`,
      `(?i)${"ab".repeat(2_000)}`,
      `(?i)${"[a-\u{10ffff}]".repeat(200)}`,
      `(?i)${"[!-ῼ]".repeat(200)}`,
      "[\\pL\\pN\\pP\\pS\\pZ\\pC]".repeat(170),
      "a*".repeat(2_000),
      "(".repeat(900) + ")".repeat(900),
      "(?:".repeat(900) + "a" + ")*".repeat(900),
      "(a?){1,1000}",
      "|".repeat(4_000),
      `^${"(a|b)".repeat(600)}$`,
      Array.from({ length: 400 }, (_, i) => `(?P<n${i}>a)`).join("").slice(0, 4_000),
    ];
    for (const pattern of patterns) {
      const ms = processorMs(withoutErrors(() => compileRegex(pattern, new RunContext())));
      expect(ms, pattern.slice(0, 40)).toBeLessThan(MOST_MS);
    }
  });
});

// ------------------------------------------------------------------------------------------------------ other languages

describe("all other languages share the budget", () => {
  const long = "a".repeat(100_000);
  test.each([
    `"${long}" =~ "(a|aa|aaa|b){500}$"`,
    `"${long}" =~ "((a{0,30}){0,30}){0,30}$"`,
    `"${long}" =~ "${"[a-z]*".repeat(500)}"`,
    Array.from({ length: 1_000 }, (_, i) => `"x" =~ "${i}(a|b){100}"`).join(" || "),
    Array.from({ length: 2_000 }, () => `"${"b".repeat(30)}" == "c"`).join(" || "),
    `x in (${"a,".repeat(2_400)}a)`,
    `${"(".repeat(190)}1 == 1${")".repeat(190)}`,
    `${"2024-01-31 ".repeat(50_000)}`,
    `"${"2024-01-31T00:00:00Z".repeat(3)}" == ${"'2024-01-31T00:00:00Z' == ".repeat(2_000)}1`,
    "a".repeat(16_000_000),
    "\\".repeat(1_000_000),
    `${"!".repeat(100_000)}true`,
  ])("when %#", (text) => {
    expect(processorMs(withoutErrors(() => evaluateWhen(text)))).toBeLessThan(MOST_MS);
    expect(processorMs(withoutErrors(() => evaluateCronWhen(text)))).toBeLessThan(MOST_MS);
  });

  test("when: the error names the budget, with a hint", () => {
    const run = () => evaluateWhen(`"${"a".repeat(20_000)}" =~ "(a|aa|aaa|b){300}$"`);
    expect(run).toThrow("step budget exceeded");
    try {
      run();
    } catch (error) {
      expect((error as WhenError).hint).toContain("Shorten");
    }
  });

  test("the tags of one call share one budget", () => {
    const scope = scopeOf({ x: "1", y: long });
    const tag = "{{=sprig.sha256sum(y) + x}}";
    const run = (text: unknown) => () =>
      substitute(text, scope, { missing: "keep", functions: ARGO_FUNCTIONS });
    const rows = [
      tag.repeat(10_000),
      Array.from({ length: 10_000 }, () => tag),
      Array.from({ length: 10_000 }, (_, i) => `{{=x + '${i}'}}`),
      Array.from({ length: 10_000 }, (_, i) => `{{=x matches '${i}(a|b)*'}}`),
      "{{x}}".repeat(400_000),
      Array.from({ length: 100_000 }, () => "{{x}}"),
    ];
    for (const row of rows) {
      // Each text of a tree adds a little to the budget.
      const texts = Array.isArray(row) ? row.length : 0;
      expect(processorMs(withoutErrors(run(row)))).toBeLessThan(MOST_MS + texts * 0.06);
    }
    expect(run(rows[0])).toThrow("step budget exceeded");
    expect(run(rows[1])).toThrow("step budget exceeded");
  });

  test("an ordinary template of many tags is within it", () => {
    const scope = scopeOf({ "inputs.parameters.n": "5" });
    const text = "{{inputs.parameters.n}}-{{=asInt(inputs.parameters.n) + 1}} ".repeat(300);
    const options = { missing: "error", functions: ARGO_FUNCTIONS } as const;
    expect(substituteText(text, scope, options)).toBe("5-6 ".repeat(300));
  });

  test.each([
    "$..*..*..*..*",
    "$..[?(@.a =~ '(a|aa|aaa){300}b')]",
    "$..a..a..a..b",
    "$[?(@ in $..*)]",
  ])(
    "JSONPath %s",
    (path) => {
      const document = fromJson(
        Array.from({ length: 3_000 }, (_, i) => ({ a: { a: [i, long.slice(0, 500)] } })),
      );
      const run = () => queryJson(document, path, new RunContext());
      expect(processorMs(withoutErrors(run))).toBeLessThan(MOST_MS);
    },
  );

  test("selectors are bounded in length and terms", () => {
    for (const parse of [parseLabelSelector, parseFieldSelector, parseWorkflowFieldSelector]) {
      expect(() => parse(`a=${long}`)).toThrow("longer than 8192 characters");
    }
    const terms = Array.from({ length: 65 }, (_, i) => `a${i}!=b`).join(",");
    expect(() => parseLabelSelector(terms)).toThrow("more than 64 terms");
    expect(() => parseFieldSelector(terms)).toThrow("more than 64 terms");
  });

  test("a selector of an event binding over a large payload", () => {
    const payload = {
      commits: Array.from({ length: 5_000 }, (_, i) => ({ id: `c${i}`, message: "feat: x" })),
    };
    const event = { namespace: "a", discriminator: "d", headers: [], payload };
    const env = eventEnvironment(event);
    expect(evaluateSelector("any(payload.commits, .id == 'c4999')", env)).toBe(true);
    expect(
      evaluateSelector("any(payload.commits, .message matches '^feat(\\\\(.*\\\\))?: x$')", env),
    ).toBe(true);
    expect(() => evaluateSelector("all(payload.commits, {all(payload.commits, true)})", env))
      .toThrow(ExpressionError);
  });
});
