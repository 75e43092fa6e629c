/**
 * New actors that are too large for one step. Their nodes are written ahead, some at a time, where nobody reads them, and are not
 * in the change feed: they would leave no room for other changes, and block who reads it.
 */
import type { PartText } from "../base/part_text.ts";
import { NODE_PART_PREFIX } from "./port.ts";

/** Most nodes of a new actor that are written in one step. */
const MAX_NODES = 10_000;
/** Most characters of them. */
const MAX_SIZE = 4 << 20;

/** Whether a new actor with these parts is that large. */
export function isLargeCreation(put: readonly PartText[]): boolean {
  let [nodes, size] = [0, 0];
  for (const part of put) {
    if (!isNode(part)) continue;
    nodes++;
    size += part.text.length;
  }
  return nodes > MAX_NODES || size > MAX_SIZE;
}

export function isNode({ key }: PartText): boolean {
  return key.startsWith(NODE_PART_PREFIX);
}
