/**
 * JSON as the program sees it. Values that come from outside are parsed with limits, so that no body can exhaust the
 * stack or plant a prototype.
 */

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/** A copy of a JSON value. Frozen parts are shared; undefined members are left out. */
export function cloneJson<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) return value.map(cloneJson) as T;
  const copy: Record<string, unknown> = {};
  // No list of the entries: this is called for each node.
  for (const key in value) {
    const member: unknown = value[key];
    if (member === undefined) continue;
    setMember(copy, key, cloneJson(member));
  }
  return copy as T;
}

/** Sets a member of an object, even `__proto__`. */
export function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  } else object[key] = value;
}

/** Tells whether a value is a plain JSON object (not null, not a list). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
