/** Which steps somebody chooses to run again, and how the API is told. */
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import { hasEnded, lookOfNode, lookOfWorkflow } from "./phases.ts";
import { isGroup, type TreeItem } from "./tree.ts";

/** Tells whether a retry of this workflow can take chosen steps. */
export function takesChoice(workflow: Workflow): boolean {
  return hasEnded(lookOfWorkflow(workflow));
}

/** Tells whether a step can be chosen: one that has run. Of a retry strategy that is the step as a whole, not one attempt. */
export function isChoosable(node: NodeStatus): boolean {
  const look = lookOfNode(node);
  return (look === "Succeeded" || look === "Failed" || look === "Error") &&
    !isGroup(node) && node.nodeFlag?.retried !== true;
}

/** What is chosen with an entry of the tree: the step itself, or all items of a loop. */
export function idsOf({ node, children }: Pick<TreeItem, "node" | "children">): string[] {
  if (node === undefined) return children.flatMap(idsOf);
  return isChoosable(node) ? [node.id] : [];
}

/** Chooses all of these, or, if they are chosen already, none of them. */
export function turned(chosen: ReadonlySet<string>, ids: readonly string[]): Set<string> {
  const others = new Set(ids);
  return ids.every((id) => chosen.has(id))
    ? new Set([...chosen].filter((id) => !others.has(id)))
    : new Set([...chosen, ...ids]);
}

/** The node field selector for these nodes; there is at least one. */
export function selectorOf(ids: ReadonlySet<string>): string {
  const values = [...ids].map((id) => id.replace(/[\\,)]/g, "\\$&"));
  return `id in (${values.join(",")})`;
}
