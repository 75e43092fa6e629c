/** Ids of tasks. An id never changes, so that a task which is started again is found as the one that runs. */
import { flatText } from "../base/flat_text.ts";
import type { NodeRecord } from "./records.ts";
import type { Turn } from "./turn.ts";

/** Id of the present task of a node: each start after a failure is another task. */
export function taskId(turn: Turn, node: NodeRecord): string {
  const { uid = "" } = turn.state.header.metadata;
  return flatText(uid, "/", node.id, "/", String(node.starts ?? 0));
}
