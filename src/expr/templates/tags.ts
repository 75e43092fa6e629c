/** Finds template tags: in a text, and in all texts of a JSON tree. */
import { isShared } from "../../base/shared_json.ts";

/**
 * A tag in a text; offsets are in UTF-16 units, and `end` is exclusive. `outerStart` is where the tag around it begins.
 */
export type Tag =
  | { type: "name"; name: string; start: number; end: number; outerStart?: number }
  | { type: "expression"; source: string; start: number; end: number };

export const OPEN = "{{";
export const CLOSE = "}}";

/** The tags of a text, left to right. */
export function tagsOf(text: string): Tag[] {
  const tags: Tag[] = [];
  for (let tag = tagAfter(text, 0); tag !== undefined; tag = tagAfter(text, tag.end)) {
    tags.push(tag);
  }
  return tags;
}

/**
 * The next tag of a text from an offset on. Of nested tags, only the inner one counts. A tag without an end is text. Whoever
 * has a budget asks for one tag at a time.
 */
export function tagAfter(text: string, at: number): Tag | undefined {
  const start = text.indexOf(OPEN, at);
  if (start < 0) return undefined;
  const close = text.indexOf(CLOSE, start + OPEN.length);
  if (close < 0) return undefined;
  const end = close + CLOSE.length;
  const body = text.slice(start + OPEN.length, close);
  if (body.startsWith("=")) return { type: "expression", source: body.slice(1), start, end };
  const inner = body.lastIndexOf(OPEN);
  if (inner <= 0) return { type: "name", name: body.trim(), start, end };
  return {
    type: "name",
    name: body.slice(inner + OPEN.length),
    start: start + OPEN.length + inner,
    end,
    outerStart: start,
  };
}

/** Tells whether any string in a JSON tree, including keys of objects, may contain a tag. */
export function mayHoldTag(value: unknown): boolean {
  if (typeof value === "string") return value.includes(OPEN);
  if (typeof value !== "object" || value === null) return false;
  if (isShared(value)) return tagPlaces(value).places.length > 0;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (mayHoldTag(value[at])) return true;
    return false;
  }
  for (const key in value) {
    if (key.includes(OPEN) || mayHoldTag((value as Record<string, unknown>)[key])) return true;
  }
  return false;
}

/** Where the tags of a list or object are. */
export interface TagPlaces {
  /** Members that contain a tag, or have one somewhere below them. */
  places: readonly TagPlace[];
  /** One of the keys themselves contains a tag. */
  areKeysTagged: boolean;
}

interface TagPlace {
  key: string;
  /** Of a list or object. */
  inner: TagPlaces | undefined;
  /** Of a text. */
  tags: readonly Tag[];
}

// A memo of a pure function, by shared values.
const tagged = new WeakMap<object, TagPlaces>();

/** Where the tags of a value are. It is kept for the value, which must not change any more. */
export function tagPlaces(value: object): TagPlaces {
  const known = tagged.get(value);
  if (known !== undefined) return known;
  const places: TagPlace[] = [];
  let areKeysTagged = false;
  for (const [key, member] of Object.entries(value)) {
    const isKeyTagged = key.includes(OPEN);
    if (isKeyTagged) areKeysTagged = true;
    const inner = typeof member === "object" && member !== null ? tagPlaces(member) : undefined;
    const tags = typeof member === "string" ? tagsOf(member) : [];
    const isTagged = inner === undefined ? mayHoldTag(member) : inner.places.length > 0;
    if (isKeyTagged || isTagged) places.push({ key, inner, tags });
  }
  const found = { places, areKeysTagged };
  tagged.set(value, found);
  return found;
}
