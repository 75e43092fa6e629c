/** Stand-ins for values that are known only at run time, while a manifest is checked. */

const PREFIX = "placeholder-";

/** A stand-in that has not been used before, by its number. */
export function placeholder(number: number): string {
  return `${PREFIX}${number}`;
}

/** The text is one stand-in and nothing else. */
export function isPlaceholder(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** The text has a stand-in somewhere in it. */
export function holdsPlaceholder(text: string): boolean {
  return text.includes(PREFIX);
}
