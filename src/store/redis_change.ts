/**
 * Changes as the feed holds them: one line of JSON that says what follows, then the texts of the parts as they are. They
 * are JSON themselves, and quoting them once more would cost a fifth of the memory.
 */
import type { Change } from "./port.ts";

type Body = Pick<Change, "put" | "drop">;

/** Keys that were put, lengths of their texts in UTF-16 units, keys that were dropped. */
type Header = [keys: string[], lengths: number[], drop: string[]];

/** A change that carries nothing: a removal. */
export const NO_CHANGE: Body = { put: {}, drop: [] };

export function encodeChange({ put, drop }: Body): string {
  const keys = Object.keys(put);
  const texts = Object.values(put);
  const header: Header = [keys, texts.map((text) => text.length), drop];
  return `${JSON.stringify(header)}\n${texts.join("")}`;
}

export function decodeChange(text: string): Body {
  const end = text.indexOf("\n");
  const [keys, lengths, drop] = JSON.parse(text.slice(0, end)) as Header;
  const put: Record<string, string> = {};
  let at = end + 1;
  keys.forEach((key, index) => {
    const length = lengths[index] ?? 0;
    put[key] = text.slice(at, at + length);
    at += length;
  });
  return { put, drop };
}
