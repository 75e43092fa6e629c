/** Sizes of the stored parts of a workflow, in characters. */
import type { Inputs } from "../spec/manifest.ts";
import type { NodeRecord } from "./records.ts";

/** Sizes of all parts, kept up to date part by part, so that a change needs no look at the other parts. */
export interface PartSizes {
  total: number;
  /** Parts of nodes, by id. */
  nodes: Map<string, NodePart>;
  /** Of the other parts, by key. */
  others: Map<string, number>;
}

/** The stored part of a node. Its key is kept, since to make it for each commit costs as much as all other work on it. */
export interface NodePart {
  key: string;
  size: number;
  /** Its text up to what changes while a node runs. Undefined: not known, or not needed any more. */
  head: string | undefined;
  /** The node and its inputs from which that text was made. */
  of: NodeRecord | undefined;
  inputs: Inputs | undefined;
}

/** What the keys of nodes' parts begin with; the id follows. */
export const NODE_PREFIX = "n:";

export function noSizes(): PartSizes {
  return { total: 0, nodes: new Map(), others: new Map() };
}

/** The part of a node; a new one if it has none. */
export function nodePart(sizes: PartSizes, id: string): NodePart {
  return sizes.nodes.get(id) ?? addPart(sizes, id, NODE_PREFIX + id);
}

/** Notes a part that was loaded. */
export function noteLoaded(sizes: PartSizes, id: string, key: string, size: number): void {
  noteNodeSize(sizes, addPart(sizes, id, key), size);
}

function addPart(sizes: PartSizes, id: string, key: string): NodePart {
  const part: NodePart = { key, size: 0, head: undefined, of: undefined, inputs: undefined };
  sizes.nodes.set(id, part);
  return part;
}

/** Notes the new size of a node's part. */
export function noteNodeSize(sizes: PartSizes, part: NodePart, size: number): void {
  sizes.total += size - part.size;
  part.size = size;
}

/** Notes that the part of a node is gone. @returns the key that it had */
export function dropNodeSize(sizes: PartSizes, id: string): string {
  const part = nodePart(sizes, id);
  noteNodeSize(sizes, part, 0);
  sizes.nodes.delete(id);
  return part.key;
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
