/** What must not start any more, because the workflow was stopped or is out of time. Exit handlers still start after a stop. */
import { change, end, type NodePatch } from "../change.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { type StopReason, stopReason } from "./stop_reason.ts";

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
  const reason = node.type === "Pod" ? refusal(turn, isExit) : undefined;
  if (reason === undefined) return false;
  change(turn, node, begun);
  end(turn, node, "Failed", reason.notStarted);
  return true;
}

/** Why pods do not start any more; undefined while they do. @param isExit part of an exit handler */
export function refusal(turn: Turn, isExit: boolean): StopReason | undefined {
  return isExit && turn.state.specs.spec.shutdown !== "Terminate" ? undefined : stopReason(turn);
}
