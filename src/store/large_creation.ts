/**
 * New actors that are too large for one step. Their nodes are written ahead, some at a time, where nobody reads them, and are not
 * in the change feed: they would leave no room for other changes, and block who reads it.
 */
import type { PartText } from "../base/part_text.ts";
import { type ActorChange, NODE_PART_PREFIX } from "./port.ts";

/** Most parts of a new actor that are written in one step. */
const MAX_PARTS = 10_000;
/** Most characters of its nodes. */
const MAX_SIZE = 4 << 20;

/** Whether a change creates such an actor. */
export function isLargeCreation({ create, put }: Pick<ActorChange, "create" | "put">): boolean {
  if (create !== true) return false;
  return put.length > MAX_PARTS || sizeOfNodes(put) > MAX_SIZE;
}

/** Characters of the nodes among some parts. */
export function sizeOfNodes(put: readonly PartText[]): number {
  return put.reduce((size, part) => isNode(part) ? size + part.text.length : size, 0);
}

export function isNode({ key }: PartText): boolean {
  return key.startsWith(NODE_PART_PREFIX);
}
