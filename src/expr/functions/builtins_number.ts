/** Built-in functions on numbers. */

import {
  argumentText,
  type Builtin,
  type BuiltinTable,
  type CheckResult,
  INTEGER_KINDS,
  LIST_KINDS,
  oneOf,
} from "./builtin.ts";
import { byteValue } from "../values/access.ts";
import { fault } from "../values/error.ts";
import { goTypeName } from "../values/go_text.ts";
import { compare, wrap } from "../values/operators.ts";
import type { RunContext } from "../values/run_context.ts";
import { ANY, FLOAT, INT, type StaticType } from "../values/types.ts";
import { GoDuration, int64, isPlainInt, NamedInt, type Value } from "../values/values.ts";

const NUMBER_KINDS: readonly StaticType["kind"][] = [...INTEGER_KINDS, "float"];

function invalid(name: string, value: Value): never {
  return fault(`invalid argument for ${name} (type ${goTypeName(value)})`);
}

/** Rounds half away from zero. */
function roundHalfAway(value: number): number {
  const whole = Math.trunc(value);
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole;
}

function rounding(name: string, run: (value: number) => number): [string, Builtin] {
  return [name, {
    check: oneOf(
      NUMBER_KINDS,
      () => FLOAT,
      (type) => `invalid argument for ${name} (type ${type})`,
    ),
    run: ([value = null]) => {
      if (typeof value === "number") return run(value);
      if (typeof value === "bigint") return Number(value);
      return isPlainInt(value) ? Number(value.value) : invalid(name, value);
    },
  }];
}

const abs: Builtin = {
  check: oneOf(NUMBER_KINDS, (arg) => arg, (type) => `invalid argument for abs (type ${type})`),
  run: ([value = null]) => {
    // Not Math.abs: Go keeps the sign of a negative zero.
    if (typeof value === "number") return value < 0 ? -value : value;
    if (typeof value === "bigint") return wrap(value < 0n ? -value : value);
    if (!isPlainInt(value)) return invalid("abs", value);
    // Only an int64 may be negative.
    return value.value < 0n ? int64(-value.value) : value;
  },
};

/** A check for functions that take any number of numbers and lists of them. */
function aggregateCheck(name: string): (args: readonly StaticType[]) => CheckResult {
  return (args) => {
    const [first] = args;
    if (first === undefined) return { error: `not enough arguments to call ${name}` };
    for (const arg of args) {
      if (arg.kind === "any" || arg.kind === "unknown" || LIST_KINDS.includes(arg.kind)) return ANY;
      if (!NUMBER_KINDS.includes(arg.kind)) {
        return { error: `invalid argument for ${name} (type ${argumentText(arg)})` };
      }
    }
    return first;
  };
}

/** Elements of a list, including bytes; undefined for everything else. */
function elementsOf(value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value;
  return value instanceof Uint8Array ? Array.from(value, byteValue) : undefined;
}

/** Tells whether Go's reflection counts a value as a number. */
function isNumeric(value: Value): boolean {
  return typeof value === "number" || typeof value === "bigint" || value instanceof NamedInt ||
    value instanceof GoDuration;
}

function extreme(
  name: string,
  isBetter: (best: Value, candidate: Value, context: RunContext) => boolean,
): [string, Builtin] {
  const search = (args: readonly Value[], context: RunContext): Value => {
    let best: Value = null;
    for (const arg of args) {
      context.step(2);
      const elements = elementsOf(arg);
      if (elements === undefined) {
        if (!isNumeric(arg)) return args.length === 1 ? arg : invalid(name, arg);
        if (best === null || isBetter(best, arg, context)) best = arg;
        continue;
      }
      for (const element of elements) {
        const candidate = search([element], context);
        // Lists without numbers count for nothing.
        if (candidate === null && element !== null) continue;
        const isPlain = typeof candidate === "number" || typeof candidate === "bigint" ||
          isPlainInt(candidate);
        if (!isPlain) invalid(name, candidate);
        if (best === null || isBetter(best, candidate, context)) best = candidate;
      }
    }
    return best;
  };
  return [name, { check: aggregateCheck(name), run: search }];
}

/** All numbers of nested lists, as floats. */
function collect(name: string, args: readonly Value[], context: RunContext): number[] {
  const out: number[] = [];
  const visit = (value: Value): void => {
    context.step(2);
    const elements = elementsOf(value);
    if (elements !== undefined) elements.forEach(visit);
    else if (typeof value === "number") out.push(value);
    else if (typeof value === "bigint") out.push(Number(value));
    else if (value instanceof NamedInt) out.push(Number(value.value));
    else if (value instanceof GoDuration) out.push(Number(value.ns));
    else invalid(name, value);
  };
  args.forEach(visit);
  return out;
}

function statistic(name: string, run: (numbers: number[]) => number): [string, Builtin] {
  return [name, {
    check: aggregateCheck(name),
    run: (args, context) => {
      const numbers = collect(name, args, context);
      return numbers.length === 0 ? 0 : run(numbers);
    },
  }];
}

function median(numbers: number[]): number {
  numbers.sort((a, b) => a - b);
  const middle = numbers.length >> 1;
  const upper = numbers[middle] ?? 0;
  return numbers.length % 2 === 1 ? upper : ((numbers[middle - 1] ?? 0) + upper) / 2;
}

/** An argument that must be an int. */
function intArgument(name: string, value: Value | undefined): bigint {
  if (typeof value === "bigint") return value;
  if (value !== undefined && isPlainInt(value)) return value.value;
  return fault(`cannot use ${goTypeName(value ?? null)} as argument (type int) to call ${name}`);
}

function bits(name: string, run: (a: bigint, b: bigint) => bigint): [string, Builtin] {
  return [name, {
    check: [{ params: [INT, INT], result: INT }],
    run: ([a, b]) => wrap(run(intArgument(name, a), intArgument(name, b))),
  }];
}

function shift(name: string, run: (value: bigint, by: bigint) => bigint): [string, Builtin] {
  return bits(name, (value, by) => {
    if (by < 0n) fault(`invalid operation: negative shift count ${by} (type int)`);
    // More than 64 has the effect of 64, but would need a huge intermediate number.
    return run(value, by > 64n ? 64n : by);
  });
}

/** Built-ins on numbers by name. */
export const NUMBER_BUILTINS: BuiltinTable = new Map<string, Builtin>([
  ["abs", abs],
  rounding("ceil", Math.ceil),
  rounding("floor", Math.floor),
  rounding("round", roundHalfAway),
  extreme("max", (best, candidate, context) => compare("<", best, candidate, context) < 0),
  extreme("min", (best, candidate, context) => compare(">", best, candidate, context) > 0),
  statistic("mean", (numbers) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length),
  statistic("median", median),
  bits("bitand", (a, b) => a & b),
  bits("bitor", (a, b) => a | b),
  bits("bitxor", (a, b) => a ^ b),
  bits("bitnand", (a, b) => a & ~b),
  shift("bitshl", (value, by) => value << by),
  shift("bitshr", (value, by) => value >> by),
  shift("bitushr", (value, by) => BigInt.asUintN(64, value) >> by),
  ["bitnot", {
    check: [{ params: [INT], result: INT }],
    run: ([value]) => ~intArgument("bitnot", value),
  }],
]);
