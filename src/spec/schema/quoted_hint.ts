/** What is said of a list or an object where a text must stand. */

/** Longest part of a value that an error shows. */
const MAX_SHOWN = 60;

/** How to write a list or an object where a text must stand. */
export function quotedHint(value: unknown): string {
  if (typeof value !== "object") return "";
  const text = JSON.stringify(value);
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return `; write it as a text, in quotes: '${shown}'`;
}
