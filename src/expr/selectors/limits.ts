/** How large a selector may be: it is evaluated for each of very many objects. */
import { invalid } from "../../base/problem.ts";

/** Longest selector, in UTF-16 units. */
export const MAX_SELECTOR_LENGTH = 8_192;
/** Most terms of a selector. */
export const MAX_SELECTOR_TERMS = 64;

/** @throws {Problem} InvalidArgument */
export function checkSelectorLength(what: string, text: string): void {
  if (text.length <= MAX_SELECTOR_LENGTH) return;
  throw invalid(
    `the ${what} is longer than ${MAX_SELECTOR_LENGTH} characters; ask for less at once`,
  );
}

/** @throws {Problem} InvalidArgument */
export function checkTermCount(what: string, count: number): void {
  if (count <= MAX_SELECTOR_TERMS) return;
  throw invalid(`the ${what} has more than ${MAX_SELECTOR_TERMS} terms; ask for less at once`);
}
