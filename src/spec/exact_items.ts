/**
 * Items of loops keep the digits of their integers. A number holds integers exactly only up to 2^53, and the reference those of
 * 64 bits; a larger one becomes a text, which a tag writes in the same way.
 */
import { isJsonObject } from "../base/json.ts";

const LOOP = "withItems";

/** Whether a text may hold an item whose digits a number would lose. */
export function mayLoseDigits(text: string): boolean {
  return text.includes(LOOP) && /\d{16}/.test(text);
}

/**
 * The value of a JSON text whose items keep their digits.
 * @param value as `JSON.parse` gives it
 */
export function withExactItems<T>(value: T, text: string): T {
  if (!mayLoseDigits(text)) return value;
  try {
    return settleIntegers(JSON.parse(text, keepInteger as (key: string, one: unknown) => unknown));
  } catch {
    // More follows the value.
    return value;
  }
}

function keepInteger(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source ?? "";
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? BigInt(source)
    : value;
}

/** Makes numbers of the big integers of a value, except of items that would lose digits by that. Changes it in place. */
export function settleIntegers<T>(value: T): T {
  return settled(value, false) as T;
}

function settled(value: unknown, isItem: boolean): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    const isKept = isItem && !Number.isSafeInteger(number) && BigInt.asIntN(64, value) === value;
    return isKept ? String(value) : number;
  }
  if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) value[index] = settled(one, isItem);
  } else if (isJsonObject(value)) {
    const members = value as Record<string, unknown>;
    for (const key of Object.keys(members)) {
      const next = settled(members[key], isItem || key === LOOP);
      if (next !== members[key]) members[key] = next;
    }
  }
  return value;
}
