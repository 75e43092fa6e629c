/** Whole numbers of manifests, and how errors name what is none. */
import { WrittenNumber } from "../written_number.ts";
import type { Schema } from "./schema.ts";

/** Smallest and largest number of each kind. */
export const INT_LIMITS = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63],
  uint64: [0, 2 ** 64],
} as const;

/** Kinds that take whole numbers only, as they are written. */
export const WHOLE: ReadonlySet<Schema["kind"]> = new Set([
  "int32",
  "int64",
  "uint64",
  "intOrString",
]);

/** @returns what was found instead of a whole number within the limits */
export function unfitInt(value: unknown, kind: keyof typeof INT_LIMITS): string | undefined {
  if (value instanceof WrittenNumber) return `number ${value.text}`;
  if (typeof value !== "number") return typeName(value);
  const [least, most] = INT_LIMITS[kind];
  if (Number.isInteger(value) && value >= least && value <= most) return undefined;
  return `number ${decimalText(value)}`;
}

export function typeName(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value;
}

/** A number as plain decimal digits, never with an exponent. */
export function decimalText(value: number): string {
  const [, sign = "", whole = "", fraction = "", exponent] =
    /^(-?)(\d+)(?:\.(\d+))?e([-+]\d+)$/.exec(String(value)) ?? [];
  if (exponent === undefined) return String(value);
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  return sign + (point <= 0 ? `0.${"0".repeat(-point)}${digits}` : digits.padEnd(point, "0"));
}
