/**
 * Names of lock holders. Each request of each life of a workflow is a holder of its own, so that late or repeated news of an
 * older request cannot be taken for news of the present one.
 */
import type { WorkflowState } from "../state.ts";

/** `<namespace>/<workflow>[/<node id>]#<uid>.<round>`. No two requests of a workflow have the same round. */
export function lockHolder(
  { header }: Pick<WorkflowState, "header">,
  round: number,
  nodeId?: string,
): string {
  const { namespace = "", name = "", uid = "" } = header.metadata;
  const node = nodeId === undefined ? "" : `/${nodeId}`;
  return `${namespace}/${name}${node}#${uid}.${round}`;
}

/** The name that users see: `<namespace>/<workflow>[/<node id>]`. */
export function holderName(holder: string): string {
  return holder.split("#", 1)[0] ?? "";
}

/** `<namespace>/<workflow>#<uid>` of a node's request; undefined for that of a workflow as a whole. */
export function workflowOfNode(holder: string): string | undefined {
  const [namespace, workflow, node] = holder.split("/", 3);
  if (node === undefined) return undefined;
  const uid = holder.slice(holder.indexOf("#"), holder.lastIndexOf("."));
  return `${namespace}/${workflow}${uid}`;
}

/** All holders of one life of a workflow: itself and its nodes. */
export interface WorkflowHolders {
  namespace: string;
  workflow: string;
  uid: string;
}

/** Tells whether a holder is this workflow or one of its nodes. */
export function isHolderOf({ namespace, workflow, uid }: WorkflowHolders, holder: string): boolean {
  const [path = "", round = ""] = holder.split("#", 2);
  const own = `${namespace}/${workflow}`;
  return (path === own || path.startsWith(`${own}/`)) && round.startsWith(`${uid}.`);
}
