/**
 * Numbers of a text that a value does not show. Items of loops keep the digits of their integers: a number holds integers exactly
 * only up to 2^53, and the reference those of 64 bits; one that would lose digits becomes a text, which a tag writes in the same
 * way. And whole numbers that are written like others, such as `1e1` or `1.0`, are told apart: the reference takes none for an
 * integer.
 */
import { isJsonObject } from "../base/json.ts";
import { WrittenNumber } from "./written_number.ts";

const LOOP = "withItems";

/** A whole number that may be beyond 2^53, of no more digits than 64 bits have. */
const LONG = /(?<![\d.eE+-])-?\d{16,19}(?![\d.eE])/g;
/** The same, or a number with a fraction or an exponent. */
const LONG_OR_WRITTEN =
  /(?<![\d.eE+-])-?(?:\d+(?:\.\d+)?[eE][+-]?\d+|\d+\.\d+|\d{16,19}(?![\d.eE]))/g;
/** A number with a fraction or an exponent, where a value may stand. In a text this may mean nothing. */
const WRITTEN = /[:[,]\s*-?\d+(?:\.\d|[eE])/;
/** No number has so many digits, and reading them exactly takes long. */
const TOO_LONG = /\d{400}/;

/** Begins the text that stands for such a number in a JSON text: of a plane that no writing uses. */
const MARK = "\u{F5A1C}";

/** Whether a text may hold an item whose digits a number would lose. */
export function mayLoseDigits(text: string): boolean {
  return text.includes(LOOP) && /\d{16}/.test(text) && !TOO_LONG.test(text);
}

/**
 * The value of a JSON text whose items keep their digits.
 * @param value as `JSON.parse` gives it
 */
export function withExactItems<T>(value: T, text: string): T {
  return mayLoseDigits(text) ? withMarked(value, text, LONG) : value;
}

/**
 * The value of the text of a body: as `withExactItems`, and with a `WrittenNumber` for each whole number outside of items that is
 * not written as one.
 */
export function withWrittenNumbers<T>(value: T, text: string): T {
  return WRITTEN.test(text) && !TOO_LONG.test(text)
    ? withMarked(value, text, LONG_OR_WRITTEN)
    : withExactItems(value, text);
}

function withMarked<T>(value: T, text: string, numbers: RegExp): T {
  if (text.includes(MARK)) return value;
  const marked = markNumbers(text, numbers);
  if (marked === text) return value;
  try {
    return settleIntegers(JSON.parse(marked));
  } catch {
    // More follows the value.
    return value;
  }
}

/** Puts numbers into quotes, behind a mark. A reviver would be asked for every member, and take a second for a million. */
function markNumbers(text: string, numbers: RegExp): string {
  const pieces: string[] = [];
  let from = 0;
  // The next string, and where the one before it ended.
  let open = text.indexOf('"');
  let outside = 0;
  numbers.lastIndex = 0;
  for (let found = numbers.exec(text); found !== null; found = numbers.exec(text)) {
    const { index, 0: digits } = found;
    while (open >= 0 && open < index) {
      outside = endOfString(text, open);
      open = text.indexOf('"', outside);
    }
    if (outside > index) {
      numbers.lastIndex = outside;
      continue;
    }
    pieces.push(text.slice(from, index), '"', MARK, digits, '"');
    from = index + digits.length;
  }
  return from === 0 ? text : pieces.join("") + text.slice(from);
}

/** Where the string that begins with a quote ends: after its last quote. */
function endOfString(text: string, open: number): number {
  for (let end = text.indexOf('"', open + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** Makes numbers of the long integers of a value, except of items that would lose digits by that. Changes it in place. */
export function settleIntegers<T>(value: T): T {
  return settled(value, false) as T;
}

function settled(value: unknown, isItem: boolean): unknown {
  if (typeof value === "bigint") return settledInteger(String(value), isItem);
  if (typeof value === "string") {
    return value.startsWith(MARK) ? settledNumber(value.slice(MARK.length), isItem) : value;
  }
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = settled(value[at], isItem);
  } else if (isJsonObject(value)) {
    const members = value as Record<string, unknown>;
    for (const key in members) {
      const next = settled(members[key], isItem || key === LOOP);
      if (next !== members[key]) members[key] = next;
    }
  }
  return value;
}

function settledNumber(text: string, isItem: boolean): unknown {
  if (!/[.eE]/.test(text)) return settledInteger(text, isItem);
  const number = Number(text);
  return isItem || !Number.isInteger(number) ? number : new WrittenNumber(number, text);
}

function settledInteger(digits: string, isItem: boolean): number | string {
  const number = Number(digits);
  return isItem && String(number) !== digits && hasInt64(digits) ? digits : number;
}

/** Largest and smallest integer of 64 bits. */
const [MAX, MIN] = ["9223372036854775807", "-9223372036854775808"];

function hasInt64(digits: string): boolean {
  const bound = digits.startsWith("-") ? MIN : MAX;
  return digits.length < bound.length || (digits.length === bound.length && digits <= bound);
}
