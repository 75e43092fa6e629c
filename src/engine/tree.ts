/** Finds nodes by id and by name, and names their tasks. */
import { flatText } from "../base/flat_text.ts";
import { boundaryOf, ownerOf } from "./live.ts";
import type { NodeRecord } from "./records.ts";
import { nodeId } from "./scope/names.ts";
import { workflowName } from "./state.ts";
import type { Turn } from "./turn.ts";

/** The owner of a node that must have one. */
export function getOwner({ state: { nodes } }: Turn, node: NodeRecord): NodeRecord {
  return ownerOf(nodes, node) ?? fail(node.owner);
}

/** The boundary of a node that must have one. */
export function getBoundary({ state: { nodes } }: Turn, node: NodeRecord): NodeRecord {
  return boundaryOf(nodes, node) ?? fail(node.boundary);
}

function fail(id = ""): never {
  throw new Error(`Node ${id} does not exist`);
}

/** A node by its full name. */
export function nodeByName(turn: Turn, name: string): NodeRecord | undefined {
  const { state } = turn;
  const renamed = state.runtime.renamed?.get(name);
  if (renamed !== undefined) return renamed;
  const node = state.nodes.get(nodeId(workflowName(state), name));
  // The name of another node may have the same hash.
  return node?.name === name ? node : undefined;
}

/**
 * Id of the present task of a node: each start after a failure is another task. It never changes, so that a task which is
 * started again is found as the one that runs.
 */
export function taskId(turn: Turn, node: NodeRecord): string {
  const { uid = "" } = turn.state.header.metadata;
  return flatText(uid, "/", node.id, "/", String(node.starts ?? 0));
}
