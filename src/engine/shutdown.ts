/** Ends what is active when the workflow is stopped, terminated or out of time. Exit handlers survive a Stop. */
import { cancelTask, end } from "./change.ts";
import { endContainersWith } from "./leaf.ts";
import { noteWork } from "./limits.ts";
import { latestAttempt } from "./retry_scope.ts";
import { wake } from "./runtime.ts";
import { hasEnded, type NodeRecord, type Turn } from "./state.ts";
import { type StopReason, stopReason } from "./stop_reason.ts";

/** Ends every active node that a stop reaches, as many as the turn allows. True when there was one. */
export function endActive(turn: Turn): boolean {
  const reason = stopReason(turn);
  if (reason === undefined) return false;
  let hasEndedAny = false;
  const { runtime, nodes } = turn.state;
  const active = [...runtime.active].map((id) => nodes.get(id)).filter((node) =>
    node !== undefined
  );
  for (const node of active.sort((a, b) => a.order - b.order)) {
    if (node.isExit === true && !reason.isHard) continue;
    if (turn.budget?.isOver === true) {
      turn.budget.isCut = true;
      break;
    }
    if (!endOne(turn, node, reason)) continue;
    hasEndedAny = true;
    noteWork(turn);
  }
  return hasEndedAny;
}

function endOne(turn: Turn, node: NodeRecord, reason: StopReason): boolean {
  if (hasEnded(node) || node.type === "Container") return false;
  if (node.daemoned === true) return false;
  const isWaiting = node.synchronizationStatus?.waiting !== undefined;
  if (node.type === "Retry" && !isWaiting) {
    const last = latestAttempt(turn, node);
    if (last === undefined || !hasEnded(last)) return false;
    if (reason.isDeadline) {
      // The node itself says that the deadline cut its retries short.
      wake(turn.state.runtime, node.id);
      return false;
    }
    end(turn, node, "Failed", reason.waiting);
    return true;
  }
  const isPod = node.type === "Pod" && !isWaiting;
  const text = isPod ? reason.running : reason.waiting;
  cancelTask(turn, node, text);
  end(turn, node, "Failed", text);
  endContainersWith(turn, node, text);
  return true;
}
