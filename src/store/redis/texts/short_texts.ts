/**
 * Short forms of stored texts (layout 3). Most of a header or node follows from its kind: each phrase of `phrases.ts`, and the
 * name of the actor, is one or two characters. No JSON has control characters, so they can stand for the phrases. What a text
 * becomes again is exactly what it was, whatever it is.
 */
import { NODE_PART_PREFIX } from "../../port.ts";
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
/** A shorter name would be found where it is not meant, and saves nothing. */
const MIN_NAME = 3;

const ONE_CHARACTER = SECOND.charCodeAt(0) - FIRST_CODE;

function codeAt(at: number): string {
  return at < ONE_CHARACTER
    ? String.fromCharCode(FIRST_CODE + at)
    : SECOND + String.fromCharCode(FIRST_PRINTABLE + at - ONE_CHARACTER);
}

const codes = new Map(PHRASES.map((phrase, at) => [phrase, codeAt(at)]));
const phrases = new Map(PHRASES.map((phrase, at) => [codeAt(at), phrase]));
const anyPhrase = new RegExp(
  PHRASES.toSorted((a, b) => b.length - a.length)
    .map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"),
  "g",
);
// deno-lint-ignore no-control-regex -- these are the codes
const anyCode = /\x1f.|[\x03-\x1e]/g;
// deno-lint-ignore no-control-regex -- as above
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

export function shortText(text: string, { name }: Shortening): string {
  if (control.test(text)) return AS_IT_IS + text;
  const named = name === "" ? text : text.replaceAll(name, NAME_CODE);
  return named.replace(anyPhrase, (phrase) => codes.get(phrase) ?? phrase);
}

export function wholeText(text: string, { name }: Shortening): string {
  if (!control.test(text)) return text;
  if (text.startsWith(AS_IT_IS)) return text.slice(AS_IT_IS.length);
  return text.replace(anyCode, (code) => phrases.get(code) ?? code).replaceAll(
    NAME_CODE,
    () => name,
  );
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

export function wholeParts(parts: Record<string, string>, how: Shortening): Record<string, string> {
  const whole: Record<string, string> = {};
  for (const key in parts) {
    const text = parts[key] ?? "";
    whole[wholeKey(key, how)] = key === COMMON_KEY ? text : wholeText(text, how);
  }
  return whole;
}

function luaText(text: string): string {
  return `"${text.replace(/\W/g, (one) => `\\${String(one.charCodeAt(0)).padStart(3, "0")}`)}"`;
}

const LUA_PHRASES = [...phrases].map((pair) => `[${luaText(pair[0])}]=${luaText(pair[1])}`).join();

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
