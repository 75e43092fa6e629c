/** Stand-ins, while a manifest is checked, for values that are known only at run time. */
import { PLACEHOLDER } from "../expr/templates/template.ts";

/** The stand-in with this number. */
export function placeholder(number: number): string {
  return `${PLACEHOLDER}${number}`;
}

/** Tells whether the text is one stand-in and nothing else. */
export function isPlaceholder(text: string): boolean {
  return text.startsWith(PLACEHOLDER);
}

/** Tells whether the text contains a stand-in. */
export function holdsPlaceholder(text: string): boolean {
  return text.includes(PLACEHOLDER);
}
