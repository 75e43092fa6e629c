/**
 * Texts in one piece. The runtime keeps `a + b` and a part of a text as references to others for a while, and writes an object
 * that holds one of those as JSON in half the speed.
 */

/** The same as to add the pieces up. */
export function flatText(...pieces: readonly string[]): string {
  return pieces.join("");
}

/** Shorter texts are always in one piece. */
const SHORT = 13;

/** The same text. */
export function inOnePiece(text: string): string {
  return text.length < SHORT ? text : flatText(text.slice(0, 1), text.slice(1));
}
