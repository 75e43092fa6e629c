/** How a node ends that could not be carried out. */
import { getNode } from "./call.ts";
import { change, end } from "./change.ts";
import type { NodeRecord, Turn } from "./state.ts";

/**
 * Ends a node because the engine could not carry it out. In a DAG the task's name goes before the reason; elsewhere
 * those who wait for it say so.
 */
export function failNode(turn: Turn, node: NodeRecord, reason: string): void {
  const isTask = node.role === "member" && node.boundary !== undefined &&
    getNode(turn, node.boundary).type === "DAG";
  change(turn, node, { isErrored: true });
  end(turn, node, "Error", isTask ? `task '${node.name}' errored: ${reason}` : reason);
}
