import { describe, expect, test } from "vitest";

import { BoundedCache } from "../../base/bounded_cache.ts";
import { compileExpr } from "./compile.ts";
import { ExprRuntimeError, fault } from "../values/error.ts";
import { ProgramCache } from "./program_cache.ts";
import { referencesOf } from "./references.ts";
import { ANY, INT, STRING } from "../values/types.ts";
import { type FunctionTable, GoFunction, type Value, type ValueMap } from "../values/values.ts";

const double = new GoFunction("double", ([n]) => typeof n === "bigint" ? n * 2n : fault("no int"), {
  params: [INT],
  result: INT,
});
const anything = new GoFunction("anything", (args) => [...args]);
const FUNCTIONS: FunctionTable = new Map<string, GoFunction | ValueMap>([
  ["double", double],
  ["tools", { list: anything }],
]);

function evaluate(source: string, env: ValueMap = {}): Value {
  return compileExpr(source, { env, functions: FUNCTIONS }).run(env);
}

describe("functions of the host", () => {
  test("are called with what is known checked before the run", () => {
    expect(evaluate("double(2) + 1")).toBe(5n);
    expect(evaluate("2 | double() | double()")).toBe(8n);
    expect(evaluate("tools.list(1, 'a')")).toEqual([1n, "a"]);
    expect(evaluate("'list' in tools and 'double' in $env")).toBe(true);
    expect(() => evaluate("double()")).toThrow("not enough arguments to call double");
    expect(() => evaluate("double('a')")).toThrow("cannot use string as argument (type int)");
    expect(() => evaluate("double(x.y)", { x: {} })).toThrow(ExprRuntimeError);
    expect(() => evaluate("tools.nope(1)")).toThrow("invalid operation: cannot call nil");
  });

  test("win over names of the environment and built-ins", () => {
    const functions: FunctionTable = new Map([[
      "len",
      new GoFunction("len", () => "mine", {
        params: [ANY],
        result: STRING,
      }),
    ]]);
    expect(compileExpr("len(1)", { env: {}, functions }).run({})).toBe("mine");
    expect(evaluate("double(1)", { double: "x" })).toBe(2n);
  });

  test("arguments of a function nothing is known of are not checked", () => {
    expect(evaluate("tools.list(unknown)")).toEqual([null]);
  });
});

describe("environments", () => {
  test("are read only where the expression asks", () => {
    const read: string[] = [];
    const env: ValueMap = Object.defineProperties({}, {
      used: { enumerable: true, get: () => (read.push("used"), { a: 1 }) },
      unused: { enumerable: true, get: () => (read.push("unused"), 2) },
    });
    expect(compileExpr("used.a", { env }).run(env)).toBe(1);
    expect(new Set(read)).toEqual(new Set(["used"]));
  });

  test("may differ from run to run", () => {
    const program = compileExpr("payload.n > 3", { env: { payload: {} } });
    expect(program.run({ payload: { n: 4 } })).toBe(true);
    expect(program.run({ payload: { n: 3n } })).toBe(false);
    expect(() => program.run({})).toThrow("cannot fetch n from <nil>");
  });

  test("prototypes stay out of sight", () => {
    for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      expect(() => evaluate(name)).toThrow(`unknown name ${name}`);
      expect(evaluate(`x.${name}`, { x: {} })).toBe(null);
      expect(evaluate(`x["${name}"] ?? 1`, { x: {} })).toBe(1n);
      expect(evaluate(`"${name}" in x`, { x: {} })).toBe(false);
      expect(evaluate(`{${name}: 1}.${name}`)).toBe(1n);
      expect(evaluate(`get($env, "${name}")`)).toBe(null);
    }
    expect(evaluate(`fromJSON('{"__proto__": {"x": 1}}').x`)).toBe(null);
  });
});

describe("referencesOf()", () => {
  const rows: readonly (readonly [source: string, want: readonly string[]])[] = [
    ["a", ["a"]],
    ["inputs.parameters['my-p'].x", ["inputs.parameters.my-p.x"]],
    ["a.b[c.d].e", ["a.b", "c.d"]],
    ["a?.b.c", ["a.b.c?"]],
    ["a.b ?? c", ["a.b?", "c"]],
    ["(a.b ?? c) + a.b", ["a.b?", "c", "a.b"]],
    ["let x = a; x.y + b", ["a", "x.y (local)", "b"]],
    ["map(list, .name + other)", ["list", "other"]],
    ["f(a).b + c.d(e)", ["f", "a", "c.d", "e"]],
    ["$env.a.b", ["a.b"]],
    ["1 + 2", []],
  ];
  test.each(rows)("%s reads %j", (source, want) => {
    const found = referencesOf(source).map(({ path, guarded, local }) =>
      path.join(".") + (guarded ? "?" : "") + (local ? " (local)" : "")
    );
    expect(found).toEqual(want);
  });

  test("tells where the names stand", () => {
    expect(referencesOf("1 + a.b").map(({ offset }) => offset)).toEqual([4]);
    expect(compileExpr("a", { env: { a: 1 } }).references).toMatchObject([{ path: ["a"] }]);
  });
});

describe("ProgramCache", () => {
  test("keeps programs by source and kinds of the names used", () => {
    const cache = new ProgramCache(10);
    const compile = (payload: Value) => cache.compile("payload ?? 1", { env: { payload } });
    const first = compile(1);
    expect(compile(2)).toBe(first);
    expect(compile({})).not.toBe(first);
    expect(compile(3)).toBe(first);
    expect(() => cache.compile("payload + nope", { env: { payload: 1 } })).toThrow(
      "unknown name nope",
    );
    expect(
      cache.compile("payload + nope", { env: { payload: 1, nope: 2 } }).run({
        payload: 1,
        nope: 2,
      }),
    )
      .toBe(3);
  });

  test("tells apart functions and hidden built-ins", () => {
    const cache = new ProgramCache(10);
    expect(cache.compile("len('ab')", { env: {} }).run({})).toBe(2n);
    expect(() => cache.compile("len('ab')", { env: { len: 1 } })).toThrow("not callable");
    expect(() => cache.compile("double(1)", { env: {} })).toThrow("unknown name double");
    expect(cache.compile("double(1)", { env: {}, functions: FUNCTIONS }).run({})).toBe(2n);
  });

  test("forgets what was used longest ago", () => {
    const cache = new ProgramCache(2);
    const kept = cache.compile("1", { env: {} });
    cache.compile("2", { env: {} });
    expect(cache.compile("1", { env: {} })).toBe(kept);
    cache.compile("3", { env: {} });
    expect(cache.size).toBe(2);
    expect(cache.compile("1", { env: {} })).toBe(kept);
  });
});

test("BoundedCache drops the least recently used", () => {
  const cache = new BoundedCache<string, number>(2);
  cache.set("a", 1);
  cache.set("b", 2);
  cache.get("a");
  cache.set("c", 3);
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([1, undefined, 3]);
  cache.set("a", 4);
  expect([cache.get("a"), cache.size]).toEqual([4, 2]);
});
