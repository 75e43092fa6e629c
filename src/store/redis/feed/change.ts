/**
 * Changes as the feed holds them: one line of JSON that says what follows, then the texts of the parts, unquoted. The
 * texts are JSON themselves, and quoting them again would cost a fifth of the memory.
 */
import type { Change } from "../../port.ts";

type Body = Pick<Change, "put" | "drop" | "mustLoad" | "nodesSize">;

/** Keys that were put, lengths of their texts in UTF-16 units, keys that were dropped; characters of nodes that are not in it. */
type Header = readonly [
  keys: readonly string[],
  lengths: readonly number[],
  drop: readonly string[],
  nodesSize?: number,
];

/**
 * A change as a text of the feed; the commit script encodes changes of few parts in the same way.
 * @param texts in the order of the keys that were put
 * @param nodesSize characters of nodes that were put and are not among them
 */
export function encodeChange(
  keys: readonly string[],
  texts: readonly string[],
  drop: readonly string[],
  nodesSize?: number,
): string {
  const lengths = texts.map((text) => text.length);
  const header: Header = nodesSize === undefined
    ? [keys, lengths, drop]
    : [keys, lengths, drop, nodesSize];
  return `${JSON.stringify(header)}\n${texts.join("")}`;
}

/** The change that a text of the feed holds. @throws {Error} when it is damaged */
export function decodeChange(text: string): Body {
  const end = text.indexOf("\n");
  const header = JSON.parse(text.slice(0, end)) as Header;
  if (!Array.isArray(header) || !header.slice(0, 3).every(Array.isArray)) {
    throw new Error("A change does not begin as changes do");
  }
  const [keys, lengths, drop, nodesSize] = header;
  const put: Record<string, string> = {};
  let at = end + 1;
  keys.forEach((key, index) => {
    const length = lengths[index] ?? 0;
    put[key] = text.slice(at, at + length);
    at += length;
  });
  const lacks = nodesSize === undefined ? undefined : { mustLoad: true, nodesSize } as const;
  return { put, drop: [...drop], ...lacks };
}

/**
 * The texts of a change's parts before the change, as the commit script writes them: their lengths in bytes, `-` for a
 * part that did not exist, then the texts. Undefined when none of them existed.
 */
export function decodeBefore({ put, drop }: Body, text: string): Change["before"] {
  const end = text.indexOf("\n");
  if (end < 0) return undefined;
  const lengths = text.slice(0, end).split(" ").map(Number);
  const total = lengths.reduce((sum, length) => sum + (length || 0), 0);
  const isAscii = total === text.length - end - 1;
  const bytes = isAscii ? undefined : Buffer.from(text.slice(end + 1));
  const before: Record<string, string> = {};
  let at = 0;
  [...Object.keys(put), ...drop].forEach((key, index) => {
    const length = lengths[index] ?? NaN;
    if (Number.isNaN(length)) return;
    before[key] = bytes?.toString("utf8", at, at + length) ??
      text.slice(end + 1 + at, end + 1 + at + length);
    at += length;
  });
  return before;
}
