/**
 * Kubernetes field selectors (`path=value`, `==`, `!=`, joined with commas). The first operator splits a term; the value is
 * everything after it up to the next comma. In a value, `\,` stands for a comma, `\=` for `=` and `\\` for a backslash. Any
 * other backslash and any further `=` stand for themselves, so that ids such as base64 text need no escapes. Blanks count.
 */
import { invalid } from "../../base/problem.ts";
import { checkSelectorLength, checkTermCount } from "./limits.ts";

/** One term of a field selector; `==` is read as `=`. */
export interface FieldTerm {
  field: string;
  operator: "=" | "!=";
  value: string;
}

/**
 * Reads a field selector; empty terms are skipped, so empty text selects everything.
 * @throws {Problem} InvalidArgument when a term has no operator
 */
export function parseFieldSelector(text: string): FieldTerm[] {
  checkSelectorLength("field selector", text);
  const terms: FieldTerm[] = [];
  // Sorted, as in Kubernetes: the order decides which of several mistakes is reported.
  for (const part of splitTerms(text).sort()) {
    if (part === "") continue;
    const at = part.indexOf("=");
    if (at < 0) {
      throw invalid(
        `invalid selector: '${text}'; can't understand '${part}'; write FIELD=VALUE or FIELD!=VALUE, and \\, for a comma in a value`,
      );
    }
    const isNot = part[at - 1] === "!";
    terms.push({
      field: part.slice(0, isNot ? at - 1 : at),
      operator: isNot ? "!=" : "=",
      value: unescapeValue(part.slice(!isNot && part[at + 1] === "=" ? at + 2 : at + 1)),
    });
  }
  checkTermCount("field selector", terms.length);
  return terms;
}

/** Tells whether an object is selected: every term holds. `read` gives a field's text; undefined counts as empty. */
export function matchesFields(
  terms: readonly FieldTerm[],
  read: (field: string) => string | undefined,
): boolean {
  return terms.every((term) => holds(term, read(term.field)));
}

/** Tells whether a term holds for the text of its field; undefined counts as empty. */
export function holds({ operator, value }: FieldTerm, text: string | undefined): boolean {
  return ((text ?? "") === value) === (operator === "=");
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  for (let at = 0; at <= text.length;) {
    const end = termEnd(text, at);
    terms.push(text.slice(at, end));
    at = end + 1;
  }
  return terms;
}

/** Where the part that begins at a position ends: at the next `mark` without a backslash before it, else with the text. */
export function termEnd(text: string, from: number, mark = ","): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === mark) return at;
  }
  return text.length;
}

function unescapeValue(text: string): string {
  return text.includes("\\") ? text.replace(/\\([\\,=])/g, "$1") : text;
}
