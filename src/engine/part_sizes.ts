/** Sizes of the stored parts of a workflow, in characters. */
import type { Live } from "./live.ts";

/** Sizes of all parts, kept up to date part by part, so that a change needs no look at the other parts. */
export interface PartSizes {
  total: number;
  /** Of the parts that are no nodes', by key. */
  others: Map<string, number>;
}

/** What the keys of nodes' parts begin with; the id follows. */
export const NODE_PREFIX = "n:";

/** The sizes of a workflow of which nothing is stored. */
export function noSizes(): PartSizes {
  return { total: 0, others: new Map() };
}

/** Notes the new size of a node's part; 0 when it was dropped. */
export function noteNodeSize(sizes: PartSizes, live: Live, size: number): void {
  sizes.total += size - live.size;
  live.size = size;
}

/** Notes the new size of any other part; 0 when it was dropped. */
export function notePartSize(sizes: PartSizes, key: string, size: number): void {
  sizes.total += size - (sizes.others.get(key) ?? 0);
  if (size === 0) sizes.others.delete(key);
  else sizes.others.set(key, size);
}

/** Number of characters of all texts in a JSON tree. */
export function textSize(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let size = 0;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) size += textSize(value[at]);
    return size;
  }
  for (const key in value) size += textSize((value as Record<string, unknown>)[key]);
  return size;
}
