/** Regular expressions in RE2 syntax, in linear time. Compiled ones are kept, up to a bound. */

import { RE2JS } from "re2js";

import { BoundedCache } from "../base/bounded_cache.ts";
import { fault } from "./error.ts";
import { wellFormed } from "./utf8.ts";

/** Longest pattern, in UTF-16 units. */
export const MAX_PATTERN_LENGTH = 4_096;

// A memo of a pure function: what it holds never changes a result.
const compiled = new BoundedCache<string, RE2JS>(256);

/**
 * Compiles a pattern.
 * @throws {Fault} `error parsing regexp: …` when it is not valid
 */
export function compileRegex(pattern: string): RE2JS {
  return compiled.get(pattern) ?? compiled.set(pattern, compileFresh(pattern));
}

function compileFresh(pattern: string): RE2JS {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    fault(`error parsing regexp: pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
  }
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RangeError) fault("error parsing regexp: expression nests too deeply");
    return fault(error instanceof Error ? error.message : String(error));
  }
}

/** Tells whether a pattern matches anywhere in a text. */
export function matchesRegex(regex: RE2JS, text: string): boolean {
  return regex.matcher(wellFormed(text)).find();
}
