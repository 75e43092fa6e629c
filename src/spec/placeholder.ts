/** Stand-ins for values that are known only at run time, while a manifest is checked. */
import { PLACEHOLDER } from "../expr/template.ts";

/** A stand-in that has not been used before, by its number. */
export function placeholder(number: number): string {
  return `${PLACEHOLDER}${number}`;
}

/** The text is one stand-in and nothing else. */
export function isPlaceholder(text: string): boolean {
  return text.startsWith(PLACEHOLDER);
}

/** The text has a stand-in somewhere in it. */
export function holdsPlaceholder(text: string): boolean {
  return text.includes(PLACEHOLDER);
}
