/**
 * Short forms of stored texts (layout 3). Most of a header or node follows from its kind: each phrase of `phrases.ts`, and the
 * name of the actor, is one or two characters. No JSON has control characters, so they can stand for the phrases. What a text
 * becomes again is exactly what it was, whatever it is.
 */
import { Buffer } from "node:buffer";
import { NODE_PART_PREFIX } from "../../port.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import { newTable } from "../../../base/table.ts";
import { COMMON_KEY } from "../keys.ts";
import { NAME_CODE, PHRASES } from "./phrases.ts";

/** The first layout whose texts are short. */
export const SHORT_SINCE = 3;
/** What a text begins with that has control characters itself. The rest is stored as it is. */
const AS_IT_IS = "\x01";
/** Codes of one character: from this one on, up to the one before `SECOND`. */
const FIRST_CODE = 3;
/** Begins a code of two characters. The second one is printable. */
const SECOND = "\x1f";
const FIRST_PRINTABLE = 0x30;
/** The first character that is no code. */
const FIRST_PLAIN = 0x20;
/** A shorter name would be found where it is not meant, and saves nothing. */
const MIN_NAME = 3;

const ONE_CHARACTER = SECOND.charCodeAt(0) - FIRST_CODE;

function codeAt(at: number): string {
  return at < ONE_CHARACTER
    ? String.fromCharCode(FIRST_CODE + at)
    : SECOND + String.fromCharCode(FIRST_PRINTABLE + at - ONE_CHARACTER);
}

/** A phrase as it stands in a text. */
interface Phrase {
  /** What comes before the name; all of it if the name is not in it. */
  readonly head: string;
  /** What comes after the name. */
  readonly tail: string | undefined;
  /** The characters of its code, the second one in the upper byte. */
  readonly code: number;
}

const phrases: readonly Phrase[] = PHRASES.map((phrase, at) => {
  const [head = "", tail] = phrase.split(NAME_CODE);
  const [first = 0, second = 0] = Buffer.from(codeAt(at));
  return { head, tail, code: second << 8 | first };
});

/** Characters up to here fit into a byte. */
const LATIN = 256;
/** By first character: where another one tells most phrases apart, and these by that one, longest first. */
const beginnings = Array.from({ length: LATIN }, (_, code) => {
  const all = phrases.filter(({ head }) => head.charCodeAt(0) === code)
    .sort((a, b) => lengthOf(b) - lengthOf(a));
  if (all.length === 0) return undefined;
  const shortest = Math.min(...all.map(({ head }) => head.length));
  const ways = (at: number) => new Set(all.map(({ head }) => head[at])).size;
  let offset = 0;
  for (let at = 1; at < shortest; at++) if (ways(at) > ways(offset)) offset = at;
  const by = Map.groupBy(all, ({ head }) => head.charCodeAt(offset));
  return { offset, phrases: Array.from({ length: LATIN }, (_, other) => by.get(other) ?? []) };
});
/** Here short texts are put together: one that grows piece by piece costs twice as much. */
const ROOM = Buffer.alloc(65_536);

function lengthOf({ head, tail = "" }: Phrase): number {
  return head.length + tail.length;
}

// deno-lint-ignore no-control-regex -- these are the codes
const control = /[\x00-\x1f]/;

/** What codes in texts of an actor stand for. */
export interface Shortening {
  /** "" for none. */
  name: string;
}

/** The texts of no actor in particular. */
export const NAMELESS: Shortening = { name: "" };

/** How the texts of an actor `<kind>/<namespace>/<name>` are stored; undefined: as they are. */
export function shorteningOf(layout: number, id: string): Shortening | undefined {
  if (layout < SHORT_SINCE) return undefined;
  const name = id.slice(id.indexOf("/", id.indexOf("/") + 1) + 1);
  return { name: name.length < MIN_NAME || control.test(name) ? "" : name };
}

/** The short form of a stored text. */
export function shortText(text: string, { name }: Shortening): string {
  const first = name === "" ? NaN : name.charCodeAt(0);
  // A short text is never longer than the whole one.
  const room = text.length > ROOM.length ? Buffer.alloc(text.length) : ROOM;
  let short = "";
  let [at, to] = [0, 0];
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code < FIRST_PLAIN || code >= LATIN) {
      const end = text.indexOf('"', at);
      const rest = text.slice(at, end < 0 ? text.length : end);
      if (control.test(rest)) return AS_IT_IS + text;
      short += room.toString("latin1", 0, to) + rest;
      at += rest.length;
      to = 0;
      continue;
    }
    const beginning = beginnings[code];
    const found = beginning === undefined ? undefined : phraseAt(beginning, text, at, name);
    if (found !== undefined) {
      at += found.head.length + (found.tail === undefined ? 0 : name.length + found.tail.length);
      room[to++] = found.code;
      if (found.code >= LATIN) room[to++] = found.code >> 8;
    } else if (code === first && text.startsWith(name, at)) {
      room[to++] = NAME_CODE.charCodeAt(0);
      at += name.length;
    } else {
      room[to++] = code;
      at++;
    }
  }
  return short + room.toString("latin1", 0, to);
}

function phraseAt(
  { offset, phrases }: { offset: number; phrases: Phrase[][] },
  text: string,
  at: number,
  name: string,
): Phrase | undefined {
  for (const phrase of phrases[text.charCodeAt(at + offset)] ?? []) {
    const { head, tail } = phrase;
    // Faster than `startsWith`, whatever the length.
    const end = at + head.length;
    if (text.slice(at, end) !== head) continue;
    if (tail === undefined) return phrase;
    const next = end + name.length;
    if (name === "" || text.slice(end, next) !== name) continue;
    if (text.startsWith(tail, next)) return phrase;
  }
  return undefined;
}

/** The text of a short form. */
export function wholeText(text: string, { name }: Shortening): string {
  if (text.startsWith(AS_IT_IS)) return text.slice(AS_IT_IS.length);
  let whole = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= FIRST_PLAIN) continue;
    whole += text.slice(from, at);
    from = at + 1;
    if (code < FIRST_CODE) {
      whole += name;
      continue;
    }
    let number = code - FIRST_CODE;
    if (number === ONE_CHARACTER) {
      number += text.charCodeAt(++at) - FIRST_PRINTABLE;
      from++;
    }
    const { head = "", tail } = phrases[number] ?? {};
    whole += head;
    if (tail !== undefined) whole += name + tail;
  }
  return from === 0 ? text : whole + text.slice(from);
}

/** The key of a part. Ids of nodes begin with the name. */
export function shortKey(key: string, { name }: Shortening): string {
  if (!key.startsWith(NODE_PART_PREFIX)) return key;
  const id = key.slice(NODE_PART_PREFIX.length);
  if (name !== "" && id.startsWith(name)) {
    return NODE_PART_PREFIX + NAME_CODE + id.slice(name.length);
  }
  const isUnclear = id.startsWith(NAME_CODE) || id.startsWith(AS_IT_IS);
  return isUnclear ? NODE_PART_PREFIX + AS_IT_IS + id : key;
}

/** The key of a part whose key was shortened. */
export function wholeKey(key: string, { name }: Shortening): string {
  if (!key.startsWith(NODE_PART_PREFIX)) return key;
  const id = key.slice(NODE_PART_PREFIX.length);
  if (id.startsWith(NAME_CODE)) return NODE_PART_PREFIX + name + id.slice(NAME_CODE.length);
  return id.startsWith(AS_IT_IS) ? NODE_PART_PREFIX + id.slice(AS_IT_IS.length) : key;
}

/** Parts by key. The part that many have in common is stored otherwise. */
export function shortParts(parts: Record<string, string>, how: Shortening): Record<string, string> {
  const short = newTable<string>();
  for (const key in parts) {
    const text = parts[key] ?? "";
    short[shortKey(key, how)] = key === COMMON_KEY ? text : shortText(text, how);
  }
  return short;
}

/** Parts of an actor, by their keys, as they were before they were shortened; a little at a time, because there may be many. */
export function* wholePartsSteps(
  parts: Record<string, string>,
  how: Shortening,
): Steps<Record<string, string>> {
  const whole: Record<string, string> = {};
  yield* eachInSteps(Object.keys(parts), (key) => {
    const text = parts[key] ?? "";
    whole[wholeKey(key, how)] = key === COMMON_KEY ? text : wholeText(text, how);
  });
  return whole;
}

function luaText(text: string): string {
  return `"${text.replace(/\W/g, (one) => `\\${String(one.charCodeAt(0)).padStart(3, "0")}`)}"`;
}

const LUA_PHRASES = PHRASES.map((phrase, at) => `[${luaText(codeAt(at))}]=${luaText(phrase)}`)
  .join();

/** Lua: `whole_text(text, name)`, for what is rarely read there. */
export const WHOLE_TEXT = `
local phrases
local function whole_text(text, name)
  if string.sub(text, 1, 1) == ${luaText(AS_IT_IS)} then return string.sub(text, 2) end
  phrases = phrases or {${LUA_PHRASES}}
  text = string.gsub(text, '\\031.', phrases)
  text = string.gsub(text, '[\\003-\\030]', phrases)
  return (string.gsub(text, '\\002', function() return name end))
end
`;
