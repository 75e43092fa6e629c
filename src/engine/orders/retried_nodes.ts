/** What a manual retry asks about single nodes: whether they are to run again, and what their success says. */
import type { NodeType } from "../../spec/manifest.ts";
import { membersOf } from "../live.ts";
import type { WorkflowState } from "../state.ts";
import { isFailedOrError, type NodeRecord } from "../records.ts";
import { latestAttempt } from "../scope/attempts.ts";

/** Nodes of these types run nothing themselves, and may wait for a lock. */
const LOCKED: ReadonlySet<NodeType> = new Set<NodeType>(["Steps", "DAG", "Retry"]);

/** What is inside a node, without its hooks. */
function insideOnly(node: NodeRecord): NodeRecord[] {
  return membersOf(node).filter(({ role }) => role !== "hook");
}

/** Tells whether nothing has begun inside a node: it ended while it waited for a lock. */
export function isUnbegun(node: NodeRecord): boolean {
  return LOCKED.has(node.type) && insideOnly(node).length === 0;
}

/** Tells whether a DAG was cut off by a stop while exit handlers or daemons ran: nothing in it has failed. */
export function isCutOff({ nodes }: WorkflowState, node: NodeRecord): boolean {
  if (node.type !== "DAG" || node.phase !== "Failed" || isFollowed(nodes, node)) return false;
  const members = insideOnly(node);
  return members.length > 0 && !members.some(isFailedOrError);
}

/** Tells whether a node is the pod of a daemon, the retry node around it, or a container in it. */
export function isOfDaemon({ nodes }: WorkflowState, node: NodeRecord): boolean {
  return node.isDaemon === true || nodes.get(node.boundary ?? "")?.isDaemon === true ||
    (node.type === "Retry" && membersOf(node).some(({ isDaemon }) => isDaemon === true));
}

export function isInFailed({ nodes }: WorkflowState, { boundary }: NodeRecord): boolean {
  const around = nodes.get(boundary ?? "");
  return around !== undefined && isFailedOrError(around);
}

/**
 * Makes a function that tells whether a node is inside a Steps or DAG node that was an attempt and was followed by another one.
 * Only the last attempt goes on: if all did, every step would be carried out once for each of them.
 */
export function supersededIn({ nodes }: WorkflowState): (node: NodeRecord) => boolean {
  return insideOf(nodes, (around) => isFollowed(nodes, around));
}

/** Makes a function that tells whether a node is a hook or an exit handler, or inside one. */
export function hooksIn({ nodes }: WorkflowState): (node: NodeRecord) => boolean {
  const isHook = ({ nodeFlag }: NodeRecord) => nodeFlag?.hooked === true;
  const isInside = insideOf(nodes, isHook);
  return (node) => isHook(node) || isInside(node);
}

/** Makes a function that tells whether a node is inside one of a kind. */
function insideOf(
  nodes: WorkflowState["nodes"],
  isOfKind: (around: NodeRecord) => boolean,
): (node: NodeRecord) => boolean {
  const known = new Map<string, boolean>();
  return ({ boundary }) => {
    const passed: string[] = [];
    let result = false;
    for (let id = boundary; id !== undefined;) {
      const before = known.get(id);
      const around: NodeRecord | undefined = nodes.get(id);
      passed.push(id);
      result = before ?? (around !== undefined && isOfKind(around));
      if (before !== undefined || result) break;
      id = around?.boundary;
    }
    for (const id of passed) known.set(id, result);
    return result;
  };
}

/** Tells whether a node is an attempt that another one has followed. */
function isFollowed(nodes: WorkflowState["nodes"], node: NodeRecord): boolean {
  if (node.role !== "attempt" || node.owner === undefined) return false;
  const owner = nodes.get(node.owner);
  return owner === undefined || latestAttempt(owner) !== node;
}
