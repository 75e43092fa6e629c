/** JSON merge patches (RFC 7396): only what differs is sent, so that what we don't know of an object stays as it is. */
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";

/** What turns `before` into `after`; undefined when they are equal. Lists are replaced as a whole. */
export function mergePatch(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const patch: JsonObject = {};
  for (const key of Object.keys(before)) if (after[key] === undefined) patch[key] = null;
  for (const [key, value] of Object.entries(after)) {
    const old = before[key];
    if (value === undefined || isEqual(old, value)) continue;
    if (isJsonObject(old) && isJsonObject(value)) {
      const inner = mergePatch(old, value);
      if (inner !== undefined) patch[key] = inner;
    } else patch[key] = value;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Tells whether two values are the same; the order of members doesn't count. */
function isEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  }
  if (isJsonObject(a) && isJsonObject(b)) {
    const keys = Object.keys(a).filter((key) => a[key] !== undefined);
    return keys.length === Object.keys(b).filter((key) => b[key] !== undefined).length &&
      keys.every((key) => isEqual(a[key], b[key]));
  }
  return a === b;
}
