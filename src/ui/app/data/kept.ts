/** Texts that the browser keeps. It may have no room for one, or not be allowed to keep any: the pages do without then. */

/** `always`, or until the visitor closes the page. */
type Term = "always" | "visit";

function storeOf(term: Term): Storage {
  return term === "always" ? localStorage : sessionStorage;
}

export function keptText(term: Term, key: string): string | undefined {
  try {
    return storeOf(term).getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** @param text undefined forgets it */
export function keepText(term: Term, key: string, text: string | undefined): void {
  try {
    if (text === undefined) storeOf(term).removeItem(key);
    else storeOf(term).setItem(key, text);
  } catch {
    // See above.
  }
}
