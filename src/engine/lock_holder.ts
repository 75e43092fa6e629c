/**
 * Names of lock holders. A holder is one request of one life of a workflow: news about an older request, which may come
 * late or twice, can't be taken for news about the present one.
 */
import type { WorkflowState } from "./state.ts";

/** `<namespace>/<workflow>[/<node id>]#<uid>.<round>`; a round is a number that no other request of this workflow has. */
export function lockHolder(
  { header }: Pick<WorkflowState, "header">,
  round: number,
  nodeId?: string,
): string {
  const { namespace = "", name = "", uid = "" } = header.metadata;
  const node = nodeId === undefined ? "" : `/${nodeId}`;
  return `${namespace}/${name}${node}#${uid}.${round}`;
}

/** A holder as users see it: `<namespace>/<workflow>[/<node id>]`. */
export function holderName(holder: string): string {
  return holder.split("#", 1)[0] ?? "";
}

/** One life of a workflow, with all its nodes, as lock holders. */
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
