/** Finds nodes by id and by name. */
import type { NodeRecord } from "./records.ts";
import { nodeId } from "./scope/names.ts";
import { workflowName } from "./state.ts";
import type { Turn } from "./turn.ts";

/** A node that must exist. */
export function getNode(turn: Turn, id: string | undefined): NodeRecord {
  const node = id === undefined ? undefined : turn.state.nodes.get(id);
  if (node === undefined) throw new Error(`Node ${id ?? ""} does not exist`);
  return node;
}

/** A node by its full name. */
export function nodeByName(turn: Turn, name: string): NodeRecord | undefined {
  return turn.state.nodes.get(nodeId(workflowName(turn.state), name));
}
