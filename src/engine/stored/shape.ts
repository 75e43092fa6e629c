/** Checks whether values that come out of a store are what their types say. The tables of stored things are made of them. */
import { isJsonObject } from "../../base/json.ts";
import { MAX_TIME } from "../../base/time_of.ts";
import { fits } from "../../spec/fits.ts";
import type { Schema } from "../../spec/schema/schema.ts";

/** Tells whether a value is of a type. */
export type Check = (value: unknown) => boolean;
/** What each member must be. */
export type Members<T> = { readonly [K in keyof Required<T>]: Check };

// Values come from JSON.parse.
export const isText: Check = (value) => typeof value === "string";
export const isTruth: Check = (value) => typeof value === "boolean";
export const isNumber: Check = (value) => Number.isFinite(value);
export const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
export const isTime: Check = (value) => isNumber(value) && Math.abs(value as number) <= MAX_TIME;
export const isAny: Check = () => true;
export const isList = (isItem: Check): Check => (value) =>
  Array.isArray(value) && value.every(isItem);
export const isMap = (isItem: Check): Check => (value) =>
  isJsonObject(value) && Object.values(value).every(isItem);
export const isOf = (schema: Schema): Check => (value) => fits(value, schema);

/** Passes objects whose present members pass, and which have all members that are needed. */
export function isRecord<T>(members: Members<T>, needed: readonly (keyof T & string)[]): Check {
  return (value) => {
    if (!isJsonObject(value)) return false;
    for (const name of needed) if (value[name] === undefined) return false;
    for (const name in value) {
      const check = Object.hasOwn(members, name) ? members[name as keyof T] : undefined;
      if (check !== undefined && !check(value[name])) return false;
    }
    return true;
  };
}
