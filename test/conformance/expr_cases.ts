/** Runs the cases of `language.jsonl` and `sprig.jsonl`: an expression, an environment, a value or a kind of error. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { compileExpr } from "../../src/expr/language/compile.ts";
import { ExprCompileError, ExprRuntimeError } from "../../src/expr/values/error.ts";
import { durationText } from "../../src/expr/values/go_duration.ts";
import { base64Encode, floatText, goString, toJsonText } from "../../src/expr/values/go_text.ts";
import {
  AnyMap,
  type FunctionTable,
  GoDuration,
  GoFunction,
  GoTime,
  GoZone,
  isNilList,
  NamedInt,
  type Value,
  type ValueMap,
} from "../../src/expr/values/values.ts";
import type { ConformanceResult } from "./result.ts";

/** One line of a case file. */
interface ExprCase {
  readonly expr: string;
  readonly env: string;
  readonly helpers?: boolean;
  readonly want?: unknown;
  readonly type?: string;
  readonly error?: "compile" | "runtime";
  readonly msg?: string;
}

/** Reads a file with one JSON object per line; returns none if the file does not exist. */
export function readLines<T>(file: string): T[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) =>
    JSON.parse(line) as T
  );
}

/** Runs the cases of one file in a folder. */
export function runCases(dir: string, file: string, helpers: FunctionTable): ConformanceResult {
  const envs = new Map<string, ValueMap>();
  const envOf = (name: string): ValueMap => {
    const known = envs.get(name) ??
      JSON.parse(readFileSync(join(dir, "env", `${name.replace(/\.json$/, "")}.json`), "utf8"));
    envs.set(name, known);
    return known;
  };
  const cases = readLines<ExprCase>(join(dir, file));
  const lines: string[] = [];
  for (const [index, item] of cases.entries()) {
    const functions: FunctionTable = item.helpers === true ? helpers : new Map();
    // A function may change its data, so such cases need their own copy.
    const env = item.helpers === true ? structuredClone(envOf(item.env)) : envOf(item.env);
    const got = outcomeOf(item.expr, env, functions);
    const difference = differenceOf(item, got);
    if (difference !== undefined) {
      lines.push(`${file}:${index + 1}: ${shorten(item.expr)}\n  ${difference}`);
    }
  }
  return { passed: cases.length - lines.length, total: cases.length, lines };
}

type Outcome =
  | { readonly type: string; readonly plain: unknown }
  | { readonly error: string; readonly text: string };

function outcomeOf(source: string, env: ValueMap, functions: FunctionTable): Outcome {
  try {
    const program = compileExpr(source, { env, functions });
    const value = program.run(env, { now: () => 1_700_000_000_000, random: () => 0.5 });
    return { type: typeOf(value), plain: describe(value) };
  } catch (error) {
    if (error instanceof ExprCompileError) return { error: "compile", text: error.message };
    if (error instanceof ExprRuntimeError) return { error: "runtime", text: error.message };
    return { error: "defect", text: String(error instanceof Error ? error.stack : error) };
  }
}

function differenceOf(item: ExprCase, got: Outcome): string | undefined {
  const wanted = item.error === undefined
    ? `want ${item.type} ${shorten(JSON.stringify(item.want))}`
    : `want ${item.error} error: ${item.msg?.split("\n")[0]}`;
  if ("error" in got) {
    return got.error === item.error
      ? undefined
      : `${wanted}\n  got ${got.error} error: ${got.text}`;
  }
  const { type, plain } = got;
  if (item.error === undefined && type === item.type && isSame(item.want, plain)) return undefined;
  return `${wanted}\n  got ${type} ${shorten(JSON.stringify(plain))}`;
}

function typeOf(value: Value): string {
  switch (typeof value) {
    case "string":
      return "string";
    case "number":
      return "float";
    case "bigint":
      return "int";
    case "boolean":
      return "bool";
  }
  if (value === null) return "nil";
  if (Array.isArray(value)) return "array";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof GoTime) return "time";
  if (value instanceof GoDuration) return "duration";
  if (value instanceof GoZone) return "timezone";
  if (value instanceof GoFunction) return "func";
  if (value instanceof NamedInt) return value.kind.startsWith("uint") ? "uint" : "int";
  return "map";
}

/** A value in the notation of the case files. */
function describe(value: Value): unknown {
  switch (typeof value) {
    case "string":
      return value.toWellFormed();
    case "number":
      return Number.isFinite(value) ? value : { $float: floatText(value) };
    case "bigint":
      return Number.isSafeInteger(Number(value)) ? Number(value) : { $int: String(value) };
    case "boolean":
      return value;
  }
  if (value === null || isNilList(value)) return null;
  if (Array.isArray(value)) return value.map(describe);
  if (value instanceof Uint8Array) return { $bytes: base64Encode(value) };
  if (value instanceof GoTime) return { $time: JSON.parse(toJsonText(value)) };
  if (value instanceof GoDuration) return { $duration: durationText(value.ns) };
  if (value instanceof GoZone) return { $timezone: value.name };
  if (value instanceof GoFunction) return { $func: true };
  if (value instanceof NamedInt) return describe(value.value);
  const entries: [string, Value][] = value instanceof AnyMap
    ? [...value.entries].map(([key, item]) => [goString(key), item])
    : Object.entries(value);
  return Object.fromEntries(entries.map(([key, item]) => [key.toWellFormed(), describe(item)]));
}

/** Equality with a relative tolerance of 1e-12 for numbers. */
function isSame(want: unknown, got: unknown): boolean {
  if (typeof want === "number") {
    if (isIntText(got)) return isSame(want, Number(got.$int));
    return typeof got === "number" &&
      (want === got || Math.abs(want - got) <= 1e-12 * Math.max(Math.abs(want), Math.abs(got)));
  }
  if (Array.isArray(want)) {
    return Array.isArray(got) && want.length === got.length &&
      want.every((item, i) => isSame(item, got[i]));
  }
  if (typeof want !== "object" || want === null) return want === got;
  if (typeof got !== "object" || got === null || Array.isArray(got)) return false;
  const keys = Object.keys(want);
  return keys.length === Object.keys(got).length &&
    keys.every((key) =>
      Object.hasOwn(got, key) &&
      isSame((want as Record<string, unknown>)[key], (got as Record<string, unknown>)[key])
    );
}

function isIntText(value: unknown): value is { $int: string } {
  return typeof value === "object" && value !== null && "$int" in value;
}

function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
