/** What is wrong with a text that is not JSON, in the words of Go's parser: messages of workflows and expressions show them. */
import { goQuote } from "./go_quote.ts";

const END = "unexpected end of JSON input";

/** What may come next: between values, `after` is what ends a member or element. */
type Place = "value" | "value or ]" | "key" | "key or }" | "colon" | "after";

/**
 * The first mistake of a text that JSON.parse refuses.
 * @param text nests no deeper than what is read
 */
export function goJsonFault(text: string): string {
  const open: string[] = [];
  let place: Place = "value";
  let at = 0;
  for (;;) {
    while (" \t\r\n".includes(text[at] ?? "none")) at++;
    const char = String.fromCodePoint(text.codePointAt(at) ?? 0x20);
    if (at === text.length) return END;
    const next = nextPlace(place, char, open);
    if (next === undefined) return unexpected(char, contextOf(place, open.at(-1)));
    if (next === "scalar" || next === "colon") {
      const end = char === '"' ? stringEnd(text, at) : scalarEnd(text, at);
      if (typeof end === "string") return end;
      at = end;
      place = next === "scalar" ? "after" : next;
    } else {
      at++;
      place = next;
    }
  }
}

/** The place after a character; "scalar" or "colon" after the text, number or word that it begins; undefined for a mistake. */
function nextPlace(place: Place, char: string, open: string[]): Place | "scalar" | undefined {
  const around = open.at(-1);
  switch (place) {
    case "value or ]":
    case "value":
      if (char === "]" && place === "value or ]") return close(open);
      if (char === "[" || char === "{") {
        open.push(char);
        return char === "[" ? "value or ]" : "key or }";
      }
      return /[-"0-9tfn]/.test(char) ? "scalar" : undefined;
    case "key or }":
    case "key":
      if (char === "}" && place === "key or }") return close(open);
      return char === '"' ? "colon" : undefined;
    case "colon":
      return char === ":" ? "value" : undefined;
    case "after":
      if (around === undefined) return undefined;
      if (char === ",") return around === "[" ? "value" : "key";
      return char === (around === "[" ? "]" : "}") ? close(open) : undefined;
  }
}

function close(open: string[]): Place {
  open.pop();
  return "after";
}

function contextOf(place: Place, around: string | undefined): string {
  switch (place) {
    case "key or }":
    case "key":
      return "looking for beginning of object key string";
    case "colon":
      return "after object key";
    case "after":
      if (around === undefined) return "after top-level value";
      return around === "[" ? "after array element" : "after object key:value pair";
    default:
      return "looking for beginning of value";
  }
}

/** Where a string ends, or what is wrong with it. By character codes: it may be long. */
function stringEnd(text: string, start: number): number | string {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at + 1;
    if (code < 0x20) return unexpected(text.charAt(at), "in string literal");
    if (code !== 0x5c) continue;
    at++;
    if (text.charAt(at) === "u") {
      for (const last = at + 4; at < last;) {
        at++;
        if (!/[0-9a-fA-F]/.test(text.charAt(at))) {
          return unexpectedAt(text, at, "in \\u hexadecimal character escape");
        }
      }
    } else if (!/[bfnrt\\/"]/.test(text.charAt(at))) {
      return unexpectedAt(text, at, "in string escape code");
    }
  }
  return END;
}

/** Where a number or word ends, or what is wrong with it. */
function scalarEnd(text: string, start: number): number | string {
  for (const word of ["true", "false", "null"]) {
    if (text.charAt(start) !== word.charAt(0)) continue;
    for (let at = 1; at < word.length; at++) {
      if (text.charAt(start + at) === word.charAt(at)) continue;
      return unexpectedAt(text, start + at, `in literal ${word} (expecting '${word.charAt(at)}')`);
    }
    return start + word.length;
  }
  const at = text.charAt(start) === "-" ? start + 1 : start;
  const whole = text.charAt(at) === "0" ? at + 1 : afterDigits(text, at);
  if (whole === at) return unexpectedAt(text, at, "in numeric literal");
  let end = whole;
  if (text.charAt(end) === ".") {
    end = afterDigits(text, whole + 1);
    if (end === whole + 1) {
      return unexpectedAt(text, end, "after decimal point in numeric literal");
    }
  }
  if (!/[eE]/.test(text.charAt(end))) return end;
  const exponent = /[-+]/.test(text.charAt(end + 1)) ? end + 2 : end + 1;
  end = afterDigits(text, exponent);
  return end === exponent ? unexpectedAt(text, end, "in exponent of numeric literal") : end;
}

function afterDigits(text: string, start: number): number {
  let at = start;
  while (/\d/.test(text.charAt(at))) at++;
  return at;
}

/** Within a number, a word or an escape, Go takes the end for a blank. */
function unexpectedAt(text: string, at: number, context: string): string {
  return unexpected(String.fromCodePoint(text.codePointAt(at) ?? 0x20), context);
}

/** Go looks at bytes: of a character that has several, it shows the first one as a character of its own. */
function unexpected(char: string, context: string): string {
  if (char === "'") return `invalid character '\\'' ${context}`;
  const [byte = 0] = new TextEncoder().encode(char);
  const shown = char === '"' ? char : goQuote(String.fromCharCode(byte)).slice(1, -1);
  return `invalid character '${shown}' ${context}`;
}
