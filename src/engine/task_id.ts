/** Ids of tasks. An id never changes, so that a task which is started again is found as the one that runs. */
import type { NodeRecord } from "./records.ts";
import type { Turn } from "./turn.ts";

/** Id of the present task of a node: each start after a failure is another task. */
export function taskId(turn: Turn, node: NodeRecord): string {
  return `${turn.state.header.metadata.uid ?? ""}/${node.id}/${node.starts ?? 0}`;
}
