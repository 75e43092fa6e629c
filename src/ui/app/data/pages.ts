/** Reads several pages of a list as one. */
import type { List } from "../../../client/answer.ts";

/** Rows of a page. */
export const PAGE = 100;
/** Rows that a list shows at most; filters lead to the others. */
export const MOST_ROWS = 2_000;

export interface Rows<Item> {
  items: Item[];
  hasMore: boolean;
}

/**
 * Reads pages until there are so many rows, or no more.
 * @param read the page that begins at a token; undefined: the first
 */
export async function readRows<Item>(
  rows: number,
  read: (start: string | undefined) => Promise<Pick<List<Item>, "metadata" | "items">>,
): Promise<Rows<Item>> {
  const all: Item[] = [];
  let next: string | undefined;
  do {
    const { metadata, items } = await read(next);
    all.push(...items ?? []);
    next = metadata.continue || undefined;
  } while (next !== undefined && all.length < rows);
  return { items: all, hasMore: next !== undefined };
}
