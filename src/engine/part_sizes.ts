/** Sizes of the stored parts of a workflow, in characters. */
import type { Inputs } from "../spec/manifest.ts";

/** Sizes of all parts, kept up to date part by part, so that a change needs no look at the other parts. */
export interface PartSizes {
  total: number;
  /** Of the parts that are no nodes', by key. */
  others: Map<string, number>;
}

/** The stored part of a node. Its key is kept, since to make it for each commit costs as much as all other work on it. */
export interface NodePart {
  key: string;
  size: number;
  /** It was loaded, and may have members that are not known here. */
  isLoaded: boolean;
  /** Its text up to what changes while a node runs. Undefined: not known, or not needed any more. */
  head: string | undefined;
  /** The inputs from which that text was made. */
  inputs: Inputs | undefined;
}

/** What the keys of nodes' parts begin with; the id follows. */
export const NODE_PREFIX = "n:";

export function noSizes(): PartSizes {
  return { total: 0, others: new Map() };
}

/** A part of which only the size may be known. */
export function newPart(key: string, size: number, isLoaded: boolean): NodePart {
  return { key, size, isLoaded, head: undefined, inputs: undefined };
}

/** Notes the new size of a node's part; 0 when it was dropped. */
export function noteNodeSize(sizes: PartSizes, part: NodePart, size: number): void {
  sizes.total += size - part.size;
  part.size = size;
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
