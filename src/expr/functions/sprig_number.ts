/**
 * Number functions of sprig. They accept any value: text is read as a number, and what can't be read counts as 0. Whole
 * numbers have 64 bits (`int64`) and wrap around.
 */
import { fault } from "../values/error.ts";
import { goFunction, variadicFunction } from "./go_call.ts";
import { floatText, goString } from "../values/go_text.ts";
import { goPower } from "../values/go_power.ts";
import { parseGoFloat, parseGoInt } from "../values/go_number.ts";
import { floatToInt } from "../values/operators.ts";
import type { RunContext } from "../values/run_context.ts";
import {
  GoDuration,
  type GoFunction,
  int64,
  NamedInt,
  typedList,
  type Value,
} from "../values/values.ts";

/** Any value as a 64-bit integer; 0 if it is not a number. Fractions are cut off; text may be hexadecimal or octal. */
export function toInt64(value: Value): bigint {
  switch (typeof value) {
    case "bigint":
      return value;
    case "boolean":
      return value ? 1n : 0n;
    case "number":
      return floatToInt(value);
    case "string":
      return parseGoInt(withoutFraction(value), 0) ?? 0n;
  }
  return namedInteger(value) ?? 0n;
}

/** Decimal text without its fraction (`-1.5` is `-1`, `.5` is `0`); other text as it is. */
function withoutFraction(text: string): string {
  const [, whole] = /^([+-]?\d*)\.\d*$/.exec(text) ?? [];
  return whole === undefined ? text : /\d$/.test(whole) ? whole : "0";
}

/** A value that is an integer of another type: a byte, a month, a length of time in nanoseconds. */
function namedInteger(value: Value): bigint | undefined {
  if (value instanceof GoDuration) return value.ns;
  return value instanceof NamedInt ? BigInt.asIntN(64, value.value) : undefined;
}

/** Any value as a float; 0 if it is not a number. */
function toFloat64(value: Value): number {
  switch (typeof value) {
    case "bigint":
      return Number(value);
    case "boolean":
      return value ? 1 : 0;
    case "number":
      return value;
    case "string":
      return parseGoFloat(value) ?? 0;
  }
  return Number(namedInteger(value) ?? 0n);
}

/** A decimal integer; 0 for other text, and the nearest 64-bit integer if it does not fit. */
function decimalInteger(text: string): bigint {
  const value = parseGoInt(text, 10);
  if (value !== undefined || !/^[+-]?\d+$/.test(text)) return value ?? 0n;
  return text.startsWith("-") ? -(2n ** 63n) : 2n ** 63n - 1n;
}

function divide(a: bigint, b: bigint): bigint {
  return b === 0n ? fault("runtime error: integer divide by zero") : a / b;
}

function modulo(a: bigint, b: bigint): bigint {
  return b === 0n ? fault("runtime error: integer divide by zero") : a % b;
}

function best<T>(values: T[], isBetter: (a: T, b: T) => boolean): T {
  return values.reduce((found, value) => isBetter(value, found) ? value : found);
}

function round(value: number, places: number, roundOn: number): number {
  const power = goPower(10, places);
  const digit = power * value;
  return (digit - Math.trunc(digit) >= roundOn ? Math.ceil(digit) : Math.floor(digit)) / power;
}

/** Integers from start to stop, excluding stop. */
function steps(context: RunContext, start: number, stop: number, step: number): number[] {
  const list: number[] = [];
  if (step === 0 || (stop < start) !== (step < 0)) return list;
  for (let i = start; step > 0 ? i < stop : i > stop; i += step) {
    context.spend(1);
    context.step();
    list.push(i);
  }
  return list;
}

function intList(list: number[]): Value[] {
  return typedList(list.map(BigInt), "int");
}

function sequence(context: RunContext, params: number[]): string {
  const [first = 0, second = 0, third = 0] = params;
  const text = (start: number, end: number, step: number, increment: number) =>
    steps(context, start, end + increment, step).join(" ");
  switch (params.length) {
    case 1: {
      const increment = first < 1 ? -1 : 1;
      return text(1, first, increment, increment);
    }
    case 2: {
      const step = second < first ? -1 : 1;
      return text(first, second, step, step);
    }
    case 3:
      if (third < first && second > 0) return "";
      return text(first, third, second, third < first ? -1 : 1);
    default:
      return "";
  }
}

/** A decimal number: digits times ten to the exponent. */
interface Decimal {
  digits: bigint;
  exponent: number;
}

const DIVISION_PLACES = 16;

function decimalOf(value: number): Decimal {
  if (!Number.isFinite(value)) fault(`Cannot create a Decimal from ${floatText(value)}`);
  const [mantissa = "", exponent = "0"] = value.toExponential().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

function alignedDigits(a: Decimal, b: Decimal): [bigint, bigint, number] {
  const exponent = Math.min(a.exponent, b.exponent);
  const scale = ({ digits, exponent: from }: Decimal) => digits * 10n ** BigInt(from - exponent);
  return [scale(a), scale(b), exponent];
}

type DecimalOperation = (a: Decimal, b: Decimal) => Decimal;

const addDecimals: DecimalOperation = (a, b) => {
  const [left, right, exponent] = alignedDigits(a, b);
  return { digits: left + right, exponent };
};
const subtractDecimals: DecimalOperation = (a, b) => {
  const [left, right, exponent] = alignedDigits(a, b);
  return { digits: left - right, exponent };
};
const multiplyDecimals: DecimalOperation = (a, b) => ({
  digits: a.digits * b.digits,
  exponent: a.exponent + b.exponent,
});
/** Division to 16 places, half away from zero. */
const divideDecimals: DecimalOperation = (a, b) => {
  if (b.digits === 0n) fault("decimal division by 0");
  const [left, right] = alignedDigits(a, b);
  const scaled = left * 10n ** BigInt(DIVISION_PLACES);
  const size = (n: bigint) => n < 0n ? -n : n;
  let digits = size(scaled) / size(right);
  if (2n * (size(scaled) % size(right)) >= size(right)) digits++;
  return { digits: (scaled < 0n) === (right < 0n) ? digits : -digits, exponent: -DIVISION_PLACES };
};

/** Applies an operation over values as decimals, so that 0.1 + 0.2 is 0.3. */
function decimals(
  context: RunContext,
  first: Value,
  more: readonly Value[],
  operation: DecimalOperation,
): number {
  let result = decimalOf(toFloat64(first));
  context.step(20);
  for (const [index, value] of more.entries()) {
    // Products get more and more digits.
    context.step(20 + index / 4);
    result = operation(result, decimalOf(toFloat64(value)));
    if (result.digits === 0n) result = { digits: 0n, exponent: 0 };
    if (result.exponent < -2000 || result.exponent > 2000) fault("decimal exponent out of range");
  }
  return Number(`${result.digits}e${result.exponent}`);
}

const max64 = (values: bigint[]) => int64(best(values, (a, b) => a > b));

/** The number functions, by name. */
export const NUMBER_FUNCTIONS: readonly GoFunction[] = [
  goFunction("int", ["any"], (_, value) => toInt64(value)),
  goFunction("int64", ["any"], (_, value) => int64(toInt64(value))),
  goFunction("float64", ["any"], (_, value) => toFloat64(value)),
  goFunction("atoi", ["string"], (_, text) => decimalInteger(text)),
  goFunction(
    "toDecimal",
    ["any"],
    (context, value) => int64(parseGoInt(goString(value, context), 8) ?? 0n),
  ),
  variadicFunction(
    "add",
    [],
    "any",
    (_, values) => int64(values.reduce((sum: bigint, v) => sum + toInt64(v), 0n)),
  ),
  goFunction("add1", ["any"], (_, value) => int64(toInt64(value) + 1n)),
  goFunction("sub", ["any", "any"], (_, a, b) => int64(toInt64(a) - toInt64(b))),
  goFunction("div", ["any", "any"], (_, a, b) => int64(divide(toInt64(a), toInt64(b)))),
  goFunction("mod", ["any", "any"], (_, a, b) => int64(modulo(toInt64(a), toInt64(b)))),
  variadicFunction(
    "mul",
    ["any"],
    "any",
    (_, first, more) =>
      int64(
        more.reduce(
          (product: bigint, v) => BigInt.asIntN(64, product * toInt64(v)),
          toInt64(first),
        ),
      ),
  ),
  ...["max", "biggest"].map((name) =>
    variadicFunction(name, ["any"], "any", (_, first, more) => max64([first, ...more].map(toInt64)))
  ),
  variadicFunction(
    "min",
    ["any"],
    "any",
    (_, first, more) => int64(best([first, ...more].map(toInt64), (a, b) => a < b)),
  ),
  variadicFunction(
    "maxf",
    ["any"],
    "any",
    (_, first, more) => Math.max(...[first, ...more].map(toFloat64)),
  ),
  variadicFunction(
    "minf",
    ["any"],
    "any",
    (_, first, more) => Math.min(...[first, ...more].map(toFloat64)),
  ),
  goFunction("floor", ["any"], (_, value) => Math.floor(toFloat64(value))),
  goFunction("ceil", ["any"], (_, value) => Math.ceil(toFloat64(value))),
  variadicFunction(
    "round",
    ["any", "int"],
    "float64",
    (_, value, places, [roundOn = 0.5]) => round(toFloat64(value), places, roundOn),
  ),
  variadicFunction(
    "addf",
    [],
    "any",
    (context, values) => decimals(context, 0, values, addDecimals),
  ),
  goFunction("add1f", ["any"], (context, value) => decimals(context, value, [1], addDecimals)),
  variadicFunction(
    "subf",
    ["any"],
    "any",
    (context, first, more) => decimals(context, first, more, subtractDecimals),
  ),
  variadicFunction(
    "divf",
    ["any"],
    "any",
    (context, first, more) => decimals(context, first, more, divideDecimals),
  ),
  variadicFunction(
    "mulf",
    ["any"],
    "any",
    (context, first, more) => decimals(context, first, more, multiplyDecimals),
  ),
  goFunction(
    "until",
    ["int"],
    (context, count) => intList(steps(context, 0, count, count < 0 ? -1 : 1)),
  ),
  goFunction(
    "untilStep",
    ["int", "int", "int"],
    (context, start, stop, step) => intList(steps(context, start, stop, step)),
  ),
  variadicFunction("seq", [], "int", (context, params) => sequence(context, params)),
  goFunction("randInt", ["int", "int"], (context, min, max) => {
    if (max <= min) fault("invalid argument to Intn");
    return BigInt(min + Math.floor(context.random() * (max - min)));
  }),
];
