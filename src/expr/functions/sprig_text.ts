/** Text functions of sprig. Positions and widths count UTF-8 bytes, as in the reference. */
import { fault } from "../values/error.ts";
import { goFunction, variadicFunction } from "./go_call.ts";
import { goString } from "../values/go_text.ts";
import type { RunContext } from "../values/run_context.ts";
import {
  elementType,
  type GoFunction,
  isNilList,
  newMap,
  setOwn,
  typedList,
  typedMap,
  type Value,
  type ValueMap,
} from "../values/values.ts";
import { byteLength, byteSlice, compareStrings, utf8Bytes, utf8String } from "../values/utf8.ts";
import { goQuote } from "../values/go_quote.ts";
import { toLower, toTitle, toUpper } from "./builtins_text.ts";
import { camelWords, pascalCase } from "./sprig_case.ts";
import { indexOfText, splitText } from "../values/text_search.ts";

/** A value as text: strings and bytes as they are, others as Go prints them. */
export function textOf(context: RunContext, value: Value): string {
  if (typeof value === "string") return value;
  if (!(value instanceof Uint8Array)) return goString(value, context);
  context.step(value.length / 2);
  return utf8String(value);
}

/** The elements of a list as text, without nils; any other value is a list of itself, and nil an empty one. */
function textsOf(context: RunContext, value: Value): string[] {
  if (!Array.isArray(value)) return value === null ? [] : [textOf(context, value)];
  return value.filter((item) => item !== null).map((item) => textOf(context, item));
}

/** Takes the length of a produced text from the budget. */
export function produced(context: RunContext, text: string): string {
  context.produce(text.length);
  return text;
}

/** White space as Go's `unicode.IsSpace` defines it. */
function isSpace(char: string): boolean {
  return /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/.test(char);
}

function strings(list: string[]): Value[] {
  return typedList(list, "string");
}

function trimSpace(text: string): string {
  const chars = [...text];
  let start = 0;
  let end = chars.length;
  while (start < end && isSpace(chars[start] as string)) start++;
  while (end > start && isSpace(chars[end - 1] as string)) end--;
  return chars.slice(start, end).join("");
}

function trimSet(set: string, text: string): string {
  const unwanted = new Set(set);
  const chars = [...text];
  let start = 0;
  let end = chars.length;
  while (start < end && unwanted.has(chars[start] as string)) start++;
  while (end > start && unwanted.has(chars[end - 1] as string)) end--;
  return chars.slice(start, end).join("");
}

/** A part of a text by byte offsets; fails with Go's panic if they are wrong. */
function cut(text: string, from: number, to: number): string {
  const length = byteLength(text);
  if (to < 0) fault(`runtime error: slice bounds out of range [:${to}]`);
  if (to > length) {
    fault(`runtime error: slice bounds out of range [:${to}] with length ${length}`);
  }
  if (from > to || from < 0) fault(`runtime error: slice bounds out of range [${from}:${to}]`);
  return byteSlice(text, from, to);
}

function substring(start: number, end: number, text: string): string {
  if (start < 0) return cut(text, 0, end);
  const length = byteLength(text);
  return end < 0 || end > length ? cut(text, start, length) : cut(text, start, end);
}

function truncate(count: number, text: string): string {
  const length = byteLength(text);
  if (count < 0 && length + count > 0) return byteSlice(text, length + count, length);
  return count >= 0 && length > count ? byteSlice(text, 0, count) : text;
}

function abbreviate(text: string, offset: number, width: number): string {
  const length = byteLength(text);
  if (length <= width) return text;
  let from = Math.min(offset, length);
  if (length - from < width - 3) from = length - (width - 3);
  if (from <= 4) return byteSlice(text, 0, width - 3) + "...";
  if (width < 7) return "";
  if (from + width - 3 < length) {
    return `...${from < 0 ? "" : abbreviate(byteSlice(text, from, length), 0, width - 3)}`;
  }
  return `...${byteSlice(text, length - (width - 3), length)}`;
}

function title(text: string): string {
  let before = " ";
  let result = "";
  for (const char of text) {
    result += isSeparator(before) ? toTitle(char) : char;
    before = char;
  }
  return result;
}

function isSeparator(char: string): boolean {
  if (char < "\x80") return !/^[0-9A-Za-z_]$/.test(char);
  return !/^[\p{L}\p{Nd}]$/u.test(char) && isSpace(char);
}

function untitle(text: string): string {
  let isFirst = true;
  let result = "";
  for (const char of text) {
    if (isSpace(char)) {
      isFirst = true;
      result += char;
    } else {
      result += isFirst ? toLower(char) : char;
      isFirst = false;
    }
  }
  return result;
}

function swapCase(text: string): string {
  let before = " ";
  let result = "";
  for (const char of text) {
    if (/^[\p{Lu}\p{Lt}]$/u.test(char)) result += toLower(char);
    else if (!/^\p{Ll}$/u.test(char)) result += char;
    else result += isSpace(before) ? toTitle(char) : toUpper(char);
    before = char;
  }
  return result;
}

/** The first byte of each word; the reference reads bytes as Latin-1 here. */
function initials(text: string): string {
  let result = "";
  let isStart = true;
  for (const byte of utf8Bytes(text)) {
    const char = String.fromCharCode(byte);
    if (isSpace(char)) isStart = true;
    else if (isStart) {
      result += char;
      isStart = false;
    }
  }
  return result;
}

/**
 * Breaks a text at blanks into lines of at most `width` bytes; longer words stay whole, unless they are to be broken.
 */
function wrap(text: string, width: number, separator: string, breakWords: boolean): string {
  const newLine = separator === "" ? "\n" : separator;
  const size = Math.max(width, 1);
  const bytes = utf8Bytes(text);
  const slice = (from: number, to: number) => utf8String(bytes.subarray(from, to));
  const parts: string[] = [];
  let at = 0;
  while (bytes.length - at > size) {
    if (bytes[at] === 0x20) {
      at++;
      continue;
    }
    let blank = at + size;
    while (blank >= at && bytes[blank] !== 0x20) blank--;
    if (blank >= at) {
      parts.push(slice(at, blank), newLine);
      at = blank + 1;
    } else if (breakWords) {
      parts.push(slice(at, at + size), newLine);
      at += size;
    } else {
      const next = bytes.indexOf(0x20, at + size);
      if (next < 0) break;
      parts.push(slice(at, next), newLine);
      at = next + 1;
    }
  }
  parts.push(slice(at, bytes.length));
  return parts.join("");
}

function indent(context: RunContext, spaces: number, text: string): string {
  if (spaces < 0) fault("strings: negative Repeat count");
  const lines = text.split("\n");
  context.produce(text.length + spaces * lines.length);
  const pad = " ".repeat(spaces);
  return pad + lines.join(`\n${pad}`);
}

function split(separator: string, text: string, limit = -1): string[] {
  if (limit === 0) return [];
  const parts = separator === "" ? [...text] : splitText(text, separator);
  if (limit < 0 || parts.length <= limit) return parts;
  return [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(separator)];
}

function numbered(context: RunContext, parts: string[]): ValueMap {
  context.step(parts.length * 8);
  const map = newMap();
  parts.forEach((part, index) => setOwn(map, `_${index}`, part));
  return typedMap(map, "string");
}

/** Each character by itself. */
function quoted(context: RunContext, text: string): string {
  context.step(text.length * 3);
  return goQuote(text);
}

function cat(context: RunContext, values: Value[]): string {
  return values.filter((value) => value !== null).map((value) => goString(value, context))
    .join(" ");
}

function sortAlpha(context: RunContext, value: Value): Value[] {
  if (value instanceof Uint8Array) {
    context.step(value.length * 5);
    return strings(Array.from(value, String).sort());
  }
  if (!Array.isArray(value)) return strings([textOf(context, value)]);
  if (isNilList(value)) return elementType(value) === "string" ? value : strings([]);
  return strings(
    textsOf(context, value).sort((a, b) => {
      context.step(2 + Math.min(a.length, b.length) / 16);
      return compareStrings(a, b);
    }),
  );
}

function shuffle(context: RunContext, text: string): string {
  const chars = [...text];
  for (let i = chars.length - 1; i > 0; i--) {
    const j = Math.floor(context.random() * (i + 1));
    [chars[i], chars[j]] = [chars[j] as string, chars[i] as string];
  }
  return chars.join("");
}

/** The text functions, by name. */
export const TEXT_FUNCTIONS: readonly GoFunction[] = [
  goFunction("hello", [], () => "Hello!"),
  goFunction(
    "abbrev",
    ["int", "string"],
    (_, width, text) => width < 4 ? text : abbreviate(text, 0, width),
  ),
  goFunction(
    "abbrevboth",
    ["int", "int", "string"],
    (_, left, right, text) =>
      right < 4 || (left > 0 && right < 7) ? text : abbreviate(text, left, right),
  ),
  goFunction("trunc", ["int", "string"], (_, count, text) => truncate(count, text)),
  goFunction("trim", ["string"], (_, text) => trimSpace(text)),
  goFunction("upper", ["string"], (_, text) => toUpper(text)),
  goFunction("lower", ["string"], (_, text) => toLower(text)),
  goFunction("title", ["string"], (_, text) => title(text)),
  goFunction("untitle", ["string"], (_, text) => untitle(text)),
  goFunction(
    "substr",
    ["int", "int", "string"],
    (_, start, end, text) => substring(start, end, text),
  ),
  goFunction("repeat", ["int", "string"], (context, count, text) => {
    if (count < 0) fault("strings: negative Repeat count");
    context.produce(count * text.length);
    return text.repeat(count);
  }),
  ...["trimall", "trimAll"].map((name) =>
    goFunction(name, ["string", "string"], (_, set, text) => trimSet(set, text))
  ),
  goFunction(
    "trimSuffix",
    ["string", "string"],
    (_, suffix, text) => text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text,
  ),
  goFunction(
    "trimPrefix",
    ["string", "string"],
    (_, prefix, text) => text.startsWith(prefix) ? text.slice(prefix.length) : text,
  ),
  goFunction(
    "nospace",
    ["string"],
    (_, text) => [...text].filter((char) => !isSpace(char)).join(""),
  ),
  goFunction("initials", ["string"], (_, text) => initials(text)),
  goFunction("swapcase", ["string"], (_, text) => swapCase(text)),
  goFunction("shuffle", ["string"], shuffle),
  goFunction("snakecase", ["string"], (_, text) => camelWords(text, "_")),
  goFunction("kebabcase", ["string"], (_, text) => camelWords(text, "-")),
  goFunction("camelcase", ["string"], (_, text) => pascalCase(text)),
  goFunction(
    "wrap",
    ["int", "string"],
    (context, width, text) => produced(context, wrap(text, width, "", false)),
  ),
  goFunction("wrapWith", ["int", "string", "string"], (context, width, separator, text) => {
    context.produce(text.length * (1 + separator.length / Math.max(width, 1)));
    return wrap(text, width, separator, true);
  }),
  goFunction("contains", ["string", "string"], (_, part, text) => indexOfText(text, part) >= 0),
  goFunction("hasPrefix", ["string", "string"], (_, prefix, text) => text.startsWith(prefix)),
  goFunction("hasSuffix", ["string", "string"], (_, suffix, text) => text.endsWith(suffix)),
  variadicFunction(
    "quote",
    [],
    "any",
    (context, values) =>
      produced(
        context,
        values.filter((value) => value !== null)
          .map((value) => quoted(context, textOf(context, value))).join(" "),
      ),
  ),
  variadicFunction(
    "squote",
    [],
    "any",
    (context, values) =>
      produced(
        context,
        values.filter((value) => value !== null).map((value) => `'${goString(value, context)}'`)
          .join(" "),
      ),
  ),
  variadicFunction("cat", [], "any", (context, values) => produced(context, cat(context, values))),
  goFunction("indent", ["int", "string"], indent),
  goFunction(
    "nindent",
    ["int", "string"],
    (context, spaces, text) => `\n${indent(context, spaces, text)}`,
  ),
  goFunction("replace", ["string", "string", "string"], (context, old, fresh, text) => {
    const parts = old === "" ? ["", ...text, ""] : splitText(text, old);
    context.produce(text.length + (parts.length - 1) * fresh.length);
    return parts.join(fresh);
  }),
  goFunction(
    "plural",
    ["string", "string", "int"],
    (_, one, many, count) => count === 1 ? one : many,
  ),
  goFunction("toString", ["any"], (context, value) => textOf(context, value)),
  goFunction("toStrings", ["any"], (context, value) => {
    // A list of texts is passed on as it is, also nil.
    const isTexts = Array.isArray(value) && elementType(value) === "string";
    return isTexts ? value : strings(textsOf(context, value));
  }),
  goFunction("join", ["string", "any"], (context, separator, value) => {
    const parts = textsOf(context, value);
    context.produce(parts.reduce((sum, part) => sum + part.length + separator.length, 0));
    return parts.join(separator);
  }),
  goFunction("sortAlpha", ["any"], sortAlpha),
  goFunction("split", ["string", "string"], (context, separator, text) => {
    context.spend(text.length);
    return numbered(context, split(separator, text));
  }),
  goFunction("splitn", ["string", "int", "string"], (context, separator, limit, text) => {
    context.spend(text.length);
    return numbered(context, split(separator, text, limit));
  }),
  goFunction("splitList", ["string", "string"], (context, separator, text) => {
    context.spend(text.length);
    return strings(split(separator, text));
  }),
];
