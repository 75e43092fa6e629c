/** Built-in functions on strings. */

import type { Builtin, BuiltinTable } from "./builtin.ts";
import { fault } from "../values/error.ts";
import { goTypeName } from "../values/go_text.ts";
import { asString, toInt } from "../values/operators.ts";
import type { RunContext } from "../values/run_context.ts";
import {
  BOOL,
  INT,
  LIST,
  type Signature,
  sliceOf,
  type StaticType,
  STRING,
} from "../values/types.ts";
import { byteLength, payForBytes, utf8Bytes, utf8String } from "../values/utf8.ts";
import { elementType, nilList, typedList, type Value } from "../values/values.ts";
import { indexOfText, lastIndexOfText } from "../values/text_search.ts";

const TEXTS = sliceOf(STRING);
const MAX_REPEAT = 1_000_000n;

function signature(params: readonly StaticType[], result: StaticType): Signature {
  return { params, result };
}

/** Charges a run for searching a text, which is far cheaper than evaluating. */
function charge(context: RunContext, ...texts: readonly string[]): void {
  for (const text of texts) if (text.length > 64) context.step(text.length / 16);
}

/** A function of strings only. */
function ofTexts(
  count: number,
  result: StaticType,
  run: (...texts: string[]) => Value,
  stepsPerCharacter = 0,
): Builtin {
  return {
    check: [signature(Array.from({ length: count }, () => STRING), result)],
    run: (args, context) => {
      const texts = args.map(asString);
      charge(context, ...texts);
      for (const text of texts) context.step(text.length * stepsPerCharacter);
      const value = run(...texts);
      if (typeof value === "string") context.produce(value.length);
      return value;
    },
  };
}

/** Cuts white space, as Go defines it, from both ends. */
function trimSpace(text: string): string {
  return text.replace(
    /^[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/,
    "",
  ).replace(SPACES_AT_END, "");
}

// Anchored at a non-space, so that long runs of blanks in the middle cost no more than their length.
const SPACES_AT_END =
  /(?<![\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/;

/** Cuts the characters of a set from both ends. */
function trimSet(text: string, set: string): string {
  const cut = new Set(set);
  let from = 0;
  for (const char of text) {
    if (!cut.has(char)) break;
    from += char.length;
  }
  let to = text.length;
  while (to > from) {
    const isPair = /[\udc00-\udfff]/.test(text.charAt(to - 1)) &&
      /[\ud800-\udbff]/.test(text.charAt(to - 2));
    const start = isPair ? to - 2 : to - 1;
    if (!cut.has(text.slice(start, to))) break;
    to = start;
  }
  return text.slice(from, to);
}

/** Characters whose upper case in JavaScript is several characters. */
const MANY_UPPER =
  /[\u00df\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9a\u1f50-\u1f56\u1f80-\u1fff\ufb00-\ufb17]/;

/** Upper case, one character for one. */
export function toUpper(text: string): string {
  if (!MANY_UPPER.test(text)) return text.toUpperCase();
  return Array.from(text, upperRune).join("");
}

/** Title case of one character: a digraph has one of its own, and Georgian letters have none. */
export function toTitle(char: string): string {
  if (/[\u01c4-\u01cc]/.test(char)) {
    return "\u01c5\u01c8\u01cb".charAt((char.charCodeAt(0) - 0x1c4) / 3);
  }
  if (/[\u01f1-\u01f3]/.test(char)) return "\u01f2";
  return /[\u10d0-\u10fa\u10fd-\u10ff]/.test(char) ? char : toUpper(char);
}

/** Lower case, one character for one. */
export function toLower(text: string): string {
  if (!/[\u0130\u03a3]/.test(text)) return text.toLowerCase();
  return Array.from(text, (char) => {
    if (char === "\u0130") return "i";
    const lower = char.toLowerCase();
    return isOneRune(lower) ? lower : char;
  }).join("");
}

function isOneRune(text: string): boolean {
  return text.length === 1 || (text.length === 2 && (text.codePointAt(0) ?? 0) > 0xffff);
}

function upperRune(char: string): string {
  const upper = char.toUpperCase();
  if (isOneRune(upper)) return upper;
  // Greek letters with iota below have a one-character form, the title case.
  const code = char.codePointAt(0) ?? 0;
  if (code >= 0x1f80 && code <= 0x1faf) return String.fromCodePoint(code | 8);
  if (code === 0x1fb3 || code === 0x1fc3 || code === 0x1ff3) return String.fromCodePoint(code + 9);
  return char;
}

/**
 * Splits a text at a separator, an empty one between characters.
 * @param limit most parts; negative for all, 0 for a nil list
 * @param keep how much of the separator stays with the part before it: all or nothing
 */
function splitText(text: string, separator: string, limit: bigint, keep: boolean): Value[] {
  if (limit === 0n) return nilList("string");
  const most = limit < 0n ? Infinity : Number(limit);
  if (separator === "") return typedList(explode(text, most), "string");
  const parts: string[] = [];
  let from = 0;
  while (parts.length + 1 < most) {
    const at = indexOfText(text, separator, from);
    if (at < 0) break;
    parts.push(text.slice(from, keep ? at + separator.length : at));
    from = at + separator.length;
  }
  parts.push(text.slice(from));
  return typedList(parts, "string");
}

function explode(text: string, most: number): string[] {
  const chars = Array.from(text);
  if (chars.length <= most) return chars;
  return [...chars.slice(0, most - 1), chars.slice(most - 1).join("")];
}

/** Replaces the first occurrences; all, if the number is negative. An empty text occurs between characters. */
function replaceText(
  text: string,
  old: string,
  replacement: string,
  count: bigint,
  context: RunContext,
): string {
  const most = count < 0n ? Infinity : Number(count);
  const pieces: string[] = [];
  const add = (piece: string) => {
    context.produce(piece.length);
    context.step();
    pieces.push(piece);
  };
  if (old === "") {
    context.step(text.length);
    const chars = Array.from(text);
    for (let i = 0; i <= chars.length; i++) {
      if (i < most) add(replacement);
      if (i < chars.length) add(chars[i] ?? "");
    }
    return pieces.join("");
  }
  let from = 0;
  for (let done = 0; done < most; done++) {
    const at = indexOfText(text, old, from);
    if (at < 0) break;
    add(text.slice(from, at));
    add(replacement);
    from = at + old.length;
  }
  add(text.slice(from));
  return pieces.join("");
}

function splitter(keep: boolean): Builtin {
  return {
    check: [
      signature([STRING, STRING], TEXTS),
      signature([STRING, STRING, INT], TEXTS),
    ],
    run: ([text = null, separator = null, limit], context) => {
      const source = asString(text);
      charge(context, source);
      const parts = splitText(
        source,
        asString(separator),
        limit === undefined ? -1n : toInt(limit),
        keep,
      );
      context.spend(parts.length);
      context.step(parts.length);
      return parts;
    },
  };
}

function indexFinder(find: (text: string, part: string) => number): Builtin {
  return ofTexts(2, INT, (text = "", part = "") => {
    const at = find(text, part);
    return BigInt(at < 0 ? at : byteLength(text.slice(0, at)));
  });
}

/** Cuts one end; blanks if no characters are given. */
function affix(run: (text: string, part: string) => string): Builtin {
  return {
    check: [signature([STRING, STRING], STRING), signature([STRING], STRING)],
    run: ([text = null, part = " "], context) => {
      const source = asString(text);
      const cut = asString(part);
      charge(context, cut);
      return run(source, cut);
    },
  };
}

const repeat: Builtin = {
  check: [signature([STRING, INT], STRING)],
  run: ([text = null, count = null], context) => {
    const source = asString(text);
    const times = toInt(count);
    if (times < 0n) {
      fault(`invalid argument for repeat (expected positive integer, got ${times})`);
    }
    if (times > MAX_REPEAT) fault("memory budget exceeded");
    payForBytes(source, context);
    context.spend(byteLength(source) * Number(times));
    return source.repeat(Number(times));
  },
};

const join: Builtin = {
  check: [
    signature([LIST, STRING], STRING),
    signature([TEXTS, STRING], STRING),
    signature([LIST], STRING),
    signature([TEXTS], STRING),
  ],
  run: ([list = null, glue = ""], context) => {
    const between = asString(glue);
    if (!Array.isArray(list) || !["interface {}", "string"].includes(elementType(list))) {
      return fault(`invalid argument for join (type ${goTypeName(list)})`);
    }
    const parts = list.map((item) => {
      const part = asString(item);
      context.step(2);
      context.produce(part.length + between.length);
      return part;
    });
    const text = parts.join(between);
    payForBytes(text, context);
    return text.isWellFormed() ? text : utf8String(utf8Bytes(text));
  },
};

const trim: Builtin = {
  check: [signature([STRING], STRING), signature([STRING, STRING], STRING)],
  run: ([text = null, set], context) => {
    const source = asString(text);
    if (set === undefined) {
      context.step(1 + source.length / 16);
      return trimSpace(source);
    }
    const cut = asString(set);
    context.step(1 + source.length * 2 + cut.length * 3);
    return trimSet(source, cut);
  },
};

const replace: Builtin = {
  check: [
    signature([STRING, STRING, STRING], STRING),
    signature([STRING, STRING, STRING, INT], STRING),
  ],
  run: ([text = null, old = null, replacement = null, count], context) => {
    const source = asString(text);
    charge(context, source);
    const times = count === undefined ? -1n : toInt(count);
    return replaceText(source, asString(old), asString(replacement), times, context);
  },
};

/** Built-ins on strings by name. */
export const TEXT_BUILTINS: BuiltinTable = new Map<string, Builtin>([
  ["trim", trim],
  [
    "trimPrefix",
    affix((text, part) => text.startsWith(part) ? text.slice(part.length) : text),
  ],
  [
    "trimSuffix",
    affix((text, part) => text.endsWith(part) ? text.slice(0, text.length - part.length) : text),
  ],
  ["upper", ofTexts(1, STRING, (text = "") => toUpper(text), 2.5)],
  ["lower", ofTexts(1, STRING, (text = "") => toLower(text), 2.5)],
  ["split", splitter(false)],
  ["splitAfter", splitter(true)],
  ["replace", replace],
  ["repeat", repeat],
  ["join", join],
  ["indexOf", indexFinder((text, part) => indexOfText(text, part))],
  ["lastIndexOf", indexFinder(lastIndexOfText)],
  ["hasPrefix", ofTexts(2, BOOL, (text = "", part = "") => text.startsWith(part))],
  ["hasSuffix", ofTexts(2, BOOL, (text = "", part = "") => text.endsWith(part))],
]);
