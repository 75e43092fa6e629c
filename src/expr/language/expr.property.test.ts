import fc from "fast-check";
import process from "node:process";
import { describe, expect, test } from "vitest";

import type { Node } from "./ast.ts";
import { compileExpr } from "./compile.ts";
import { ExprCompileError, ExprRuntimeError } from "../values/error.ts";
import { parseExpr } from "./parse.ts";
import { printExpr } from "./print.ts";
import { compareStrings } from "../values/utf8.ts";
import type { ValueMap } from "../values/values.ts";
import { leastProcessorMs } from "../../../test/support/processor_time.ts";

/** How many random inputs each property tries; more for a thorough run. */
const RUNS = Number(process.env["SLUICE_PROPERTY_RUNS"] ?? 3_000);
/** Longest processor time for one input; not clock time, since the machine may be busy. */
const LIMIT_MS = 50;

const ENV: ValueMap = {
  namespace: "argo",
  discriminator: "push",
  metadata: { "x-event": ["push"] },
  payload: {
    action: "opened",
    n: 42,
    ok: true,
    nothing: null,
    tags: ["ci", "release", "ci"],
    users: [{ name: "zoe", age: 31, roles: ["dev"] }, { name: "adam", age: 25, roles: [] }],
    when: "2024-02-29T12:30:45Z",
    text: "Grüße, 世界 👋",
  },
};

/** Valid expressions that together use the whole language. */
const SEEDS: readonly string[] = [
  'payload.action == "opened" && metadata["x-event"] == ["push"] && payload.n > 3',
  "1 + 2 * 3 ** -2 - 7 % 5 / 2",
  '(payload.nothing?.x)?.y?.["z"] == payload?.users[0].x?.["a"]?.b',
  "0x1F + 1_000 + 0b11 - 1.5e3",
  "payload.nothing?.x.y ?? payload.tags[0] ?? nil",
  'filter(payload.users, .age > 26 and "dev" in .roles) | map({{n: .name, i: 1}})',
  "map(payload.tags, {let t = #; t + string(#index)}) | join(',')",
  "reduce(payload.tags, #acc + len(#), 0) in 1..10",
  'groupBy(payload.tags, #)["ci"]',
  'sortBy(payload.users, .name, "desc")[0].name',
  "sum([payload.n, 2, 3.5]) > max(1, [2, 3]) ? 'a' : 'b'",
  "if payload.ok { 1; 2 } else if false { 3 } else { 4 }",
  "let x = payload.n; let y = x + 1; (x; y) * 2",
  "payload.text[1:-2] + payload.text[:3]",
  "payload.action matches '^o.*d$' or payload.action not contains \"x\"",
  'split(payload.text, "")[1:3] == ["r", \'ü\']',
  "1 < payload.n <= 100 and not (2 == 3.0)",
  'date(payload.when).Format("Mon Jan _2 15:04:05.000 MST 2006")',
  'date(payload.when) - duration("1h30m") > date("2024-01-01")',
  'date("2024-07-01 10:00", "2006-01-02 15:04", "Europe/Berlin").In(timezone("Asia/Tokyo"))',
  'toJSON({a: [1, nil, {(payload.action): b"\\x00a"}], "b c": true,})',
  'fromJSON(\'{"a": [1, {"b": null}]}\').a[1]?.b',
  'string(payload) + upper(lower(trim("  x "))) + repeat("ab", 3)',
  '::len(payload.tags) == count(payload.tags, # == "ci") + 1',
  '`raw ``text``` + "esc \\u00e9 \\x41 \\n"',
  '$env["payload"]?.["action"] == get($env, "namespace")',
  'flatten([1, [2, [3]], uniq(concat(1..3, 2..4))]) | sort("desc") | first()',
  "bitand(int(payload.n), 0xff) | bitshl(3) | bitnot()",
  "/* note */ findIndex(payload.tags, # == 'release') // end",
  'any(payload.users, {any(.roles, # == "dev")}) or all(payload.tags, # != "")',
  "payload.ok ?: payload.users[-1].age",
];

const WORDS: readonly string[] = [
  ...["payload", "metadata", ".action", "?.x", "[0]", "[1:2]", "[", "]", "(", ")", "{", "}", "#"],
  ...["#acc", "#index", "==", "!=", "<", ">=", "in", "not", "and", "or", "&&", "||", "!", "+", "-"],
  ...["*", "/", "%", "**", "^", "..", "??", "?", ":", "?:", "|", ";", ",", "let x =", "if", "else"],
  ...["true", "nil", "1", "2.5", "1e308", "999999", "-1", '"a"', "'", "`", "\\", "//", "/*", "::"],
  ...["len(", "map(", "filter(", "string(", "date(", "matches", "contains", "x", "$env", "\n", "é"],
];

const seed = fc.constantFrom(...SEEDS);

/** A valid expression with some pieces removed, doubled, swapped or inserted. */
const mutated = fc.tuple(
  seed,
  fc.array(
    fc.record({
      kind: fc.constantFrom("cut", "word", "seed", "char", "double"),
      at: fc.nat(200),
      size: fc.nat(6),
      word: fc.constantFrom(...WORDS),
      other: seed,
      char: fc.string({ minLength: 1, maxLength: 1, unit: "grapheme" }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
).map(([source, changes]) =>
  changes.reduce((text, { kind, at, size, word, other, char }) => {
    const from = at % (text.length + 1);
    const [head, middle, tail] = [
      text.slice(0, from),
      text.slice(from, from + size),
      text.slice(from + size),
    ];
    switch (kind) {
      case "cut":
        return head + tail;
      case "double":
        return head + middle + middle + tail;
      case "word":
        return `${head} ${word} ${middle}${tail}`;
      case "seed":
        return `${head}(${other})${tail}`;
      default:
        return head + char + middle + tail;
    }
  }, source)
);

const soup = fc.array(fc.constantFrom(...WORDS), { maxLength: 25 }).map((words) => words.join(" "));
const anything = fc.oneof(
  fc.string({ maxLength: 200 }),
  fc.string({ unit: "binary", maxLength: 100 }),
  soup,
  { weight: 3, arbitrary: mutated },
);

/** Evaluates an expression; throws any error except our two. */
function evaluate(source: string): void {
  try {
    compileExpr(source, { env: ENV }).run(ENV, { now: () => 1_700_000_000_000 });
  } catch (error) {
    if (!(error instanceof ExprCompileError || error instanceof ExprRuntimeError)) throw error;
    if (error.reason.startsWith("internal error")) throw error;
  }
}

/** A tree without offsets and types. */
function shape(node: Node): unknown {
  return JSON.parse(JSON.stringify(node, (key, value) => {
    if (key === "at" || key === "type") return undefined;
    if (typeof value === "bigint") return `${value}n`;
    return typeof value === "number" && Number.isInteger(value) ? `${value}.0` : value;
  }));
}

describe("any text", () => {
  test("gives a value or one of the two errors, in time", () => {
    fc.assert(
      fc.property(anything, (source) => {
        expect(leastProcessorMs(() => evaluate(source), LIMIT_MS, 3)).toBeLessThan(LIMIT_MS);
      }),
      { numRuns: RUNS },
    );
  }, 600_000);

  test("that is valid can be printed and parsed again to the same tree", () => {
    fc.assert(
      fc.property(fc.oneof(seed, mutated), (source) => {
        const tree = parsed(source);
        if (tree === undefined) return;
        const printed = printExpr(tree);
        expect(shape(parseExpr(printed))).toEqual(shape(tree));
        expect(printExpr(parseExpr(printed))).toBe(printed);
      }),
      { numRuns: RUNS },
    );
  }, 600_000);
});

function parsed(source: string): Node | undefined {
  try {
    return parseExpr(source);
  } catch (error) {
    if (error instanceof ExprCompileError) return undefined;
    throw error;
  }
}

test.each(SEEDS)("%s is valid", (source) => {
  expect(() => compileExpr(source, { env: ENV }).run(ENV)).not.toThrow();
});

describe("arithmetic of ints", () => {
  const int = fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n });

  test("wraps at 64 bits", () => {
    fc.assert(
      fc.property(int, int, (a, b) => {
        const env = {};
        const value = (operator: string) =>
          compileExpr(`(${a}) ${operator} (${b})`.replaceAll("(-", "(0 -"), { env }).run(env);
        expect(value("+")).toBe(BigInt.asIntN(64, a + b));
        expect(value("-")).toBe(BigInt.asIntN(64, a - b));
        expect(value("*")).toBe(BigInt.asIntN(64, a * b));
      }),
      { numRuns: 200 },
    );
  });

  test("string() and int() are inverse", () => {
    fc.assert(
      fc.property(int, (a) => {
        const env = { text: String(a) };
        expect(compileExpr("string(int(text)) == text", { env }).run(env)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test("JSON comes back as it went", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const env = { value: value as never };
        const back = compileExpr("fromJSON(toJSON(value))", { env }).run(env);
        expect(JSON.stringify(back)).toBe(JSON.stringify(sortKeys(value)));
      }),
      { numRuns: 300 },
    );
  });
});

/** Keys in the order of our JSON. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => compareStrings(a, b));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item)]));
}
