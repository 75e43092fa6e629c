/** Finds nodes by id and by name, and names their tasks. */
import { flatText } from "../base/flat_text.ts";
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

/**
 * Id of the present task of a node: each start after a failure is another task. It never changes, so that a task which is
 * started again is found as the one that runs.
 */
export function taskId(turn: Turn, node: NodeRecord): string {
  const { uid = "" } = turn.state.header.metadata;
  return flatText(uid, "/", node.id, "/", String(node.starts ?? 0));
}
