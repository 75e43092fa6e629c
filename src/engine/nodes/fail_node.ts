/** Ends nodes that could not be carried out. */
import { getBoundary } from "../tree.ts";
import { change, end } from "../change.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";

/**
 * Ends a node that the engine could not carry out. In a DAG the message names the task; elsewhere the nodes that wait for it
 * do that.
 */
export function failNode(turn: Turn, node: NodeRecord, reason: string): void {
  const isTask = node.role === "member" && node.boundary !== undefined &&
    getBoundary(turn, node).type === "DAG";
  change(turn, node, { isErrored: true });
  end(turn, node, "Error", isTask ? `task '${node.name}' errored: ${reason}` : reason);
}
