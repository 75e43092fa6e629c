/** Sizes of the stored parts of a workflow, in characters. */

/** Sizes of all parts, kept up to date part by part, so that a change needs no look at the other parts. */
export interface PartSizes {
  total: number;
  /** By id. */
  nodes: Map<string, number>;
  /** Of the other parts, by key. */
  others: Map<string, number>;
}

export function noSizes(): PartSizes {
  return { total: 0, nodes: new Map(), others: new Map() };
}

/** Notes the new size of a node's part; 0 when it was dropped. */
export function noteNodeSize(sizes: PartSizes, id: string, size: number): void {
  noteSize(sizes, sizes.nodes, id, size);
}

/** The same for any other part. */
export function notePartSize(sizes: PartSizes, key: string, size: number): void {
  noteSize(sizes, sizes.others, key, size);
}

function noteSize(sizes: PartSizes, parts: Map<string, number>, key: string, size: number): void {
  sizes.total += size - (parts.get(key) ?? 0);
  if (size === 0) parts.delete(key);
  else parts.set(key, size);
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
