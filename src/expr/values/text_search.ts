/**
 * Searches in texts that take time in proportion to their lengths. Those of the runtime compare again at every position: where
 * a long part nearly occurs everywhere, half a megabyte takes ten seconds.
 */

/** Up to this length of the part the runtime's own search is fast enough at its worst. */
const SHORT = 16;
/** And so it is up to this product of the lengths, where it takes less than to prepare a search does. */
const FEW = 1_024;

function isQuick(text: string, part: string): boolean {
  return part.length <= SHORT || part.length * text.length <= FEW;
}

/** The same as `text.indexOf(part, from)`. */
export function indexOfText(text: string, part: string, from = 0): number {
  if (isQuick(text, part)) return text.indexOf(part, from);
  // The beginning is looked for by the runtime, which is by far the fastest, until too much of what follows was compared.
  const head = part.slice(0, SHORT);
  let left = text.length;
  for (let at = text.indexOf(head, from); at >= 0; at = text.indexOf(head, at + 1)) {
    let same = SHORT;
    while (same < part.length && text.charCodeAt(at + same) === part.charCodeAt(same)) same++;
    if (same === part.length) return at;
    left -= same;
    if (left < 0) return occurrences(text, part, at + 1).next().value ?? -1;
  }
  return -1;
}

/** The same as `text.lastIndexOf(part)`. */
export function lastIndexOfText(text: string, part: string): number {
  if (isQuick(text, part)) return text.lastIndexOf(part);
  let last = -1;
  for (const at of occurrences(text, part, 0)) last = at;
  return last;
}

/** The same as `text.split(separator)`. */
export function splitText(text: string, separator: string): string[] {
  if (isQuick(text, separator)) return text.split(separator);
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; (at = indexOfText(text, separator, from)) >= 0; from = at + separator.length) {
    parts.push(text.slice(from, at));
  }
  parts.push(text.slice(from));
  return parts;
}

/** All places where the part occurs, also where these overlap (Knuth, Morris and Pratt). */
function* occurrences(text: string, part: string, from: number): Generator<number, undefined> {
  const borders = bordersOf(part);
  let same = 0;
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    while (same > 0 && (same === part.length || part.charCodeAt(same) !== unit)) {
      same = borders[same - 1] ?? 0;
    }
    if (part.charCodeAt(same) === unit) same++;
    if (same === part.length) yield at + 1 - same;
  }
  return undefined;
}

/** For each beginning of a text the length of the longest shorter beginning that is also its end. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length);
  let same = 0;
  for (let at = 1; at < part.length; at++) {
    const unit = part.charCodeAt(at);
    while (same > 0 && part.charCodeAt(same) !== unit) same = borders[same - 1] ?? 0;
    if (part.charCodeAt(same) === unit) same++;
    borders[at] = same;
  }
  return borders;
}
