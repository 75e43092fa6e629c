/** What must not start any more, because the workflow was stopped or is out of time. Exit handlers still start after a stop. */
import { change, end, type NodePatch } from "../change.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { stopReason } from "./stop_reason.ts";

/**
 * Fails a node whose pod must not be started. Other nodes end with what is active.
 * @param begun what the node shows from its beginning on
 * @returns true when it failed the node
 */
export function refuseStart(
  turn: Turn,
  node: NodeRecord,
  begun: NodePatch,
  isExit: boolean,
): boolean {
  if (node.type !== "Pod") return false;
  if (isExit && turn.state.specs.spec.shutdown !== "Terminate") return false;
  const reason = stopReason(turn);
  if (reason === undefined) return false;
  change(turn, node, begun);
  end(turn, node, "Failed", reason.notStarted);
  return true;
}
