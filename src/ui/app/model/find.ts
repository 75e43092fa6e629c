/** Finds steps by what they are called and by what they got. */
import type { NodeStatus } from "../../../spec/manifest.ts";
import { titleOf, type TreeItem } from "./tree.ts";

/** Tells whether a step's name, its message or one of its inputs has a text in it, in large letters or small ones. */
export function holds(node: NodeStatus, text: string): boolean {
  const wanted = text.toLowerCase();
  const values = node.inputs?.parameters?.map(({ value = "" }) => String(value)) ?? [];
  return [titleOf(node), node.message ?? "", ...values]
    .some((one) => one.toLowerCase().includes(wanted));
}

/** The steps that hold a text, in the order of the tree. */
export function stepsWith(items: readonly TreeItem[], text: string): string[] {
  return items.flatMap(({ id, node, children }) => [
    ...(node !== undefined && holds(node, text) ? [id] : []),
    ...stepsWith(children, text),
  ]);
}
