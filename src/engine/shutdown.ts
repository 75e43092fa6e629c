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
  const { runtime } = turn.state;
  let hasEndedAny = false;
  // What the last turn left comes first; after it, all that is active now.
  for (let isLeftOver = runtime.toEnd !== undefined;; isLeftOver = false) {
    runtime.toEnd ??= activeInOrder(turn).reverse();
    if (endThese(turn, runtime.toEnd, reason)) hasEndedAny = true;
    if (turn.budget?.isCut === true) return hasEndedAny;
    delete runtime.toEnd;
    if (!isLeftOver) return hasEndedAny;
  }
}

/** Ends nodes, the last of the list first, and takes them off it, as many as the turn allows. True when one had not ended. */
function endThese(turn: Turn, ids: string[], reason: StopReason): boolean {
  let hasEndedAny = false;
  for (let id = ids.at(-1); id !== undefined; id = ids.at(-1)) {
    const node = turn.state.nodes.get(id);
    const isSpared = node === undefined || (node.isExit === true && !reason.isHard);
    if (!isSpared && turn.budget?.isOver === true) {
      turn.budget.isCut = true;
      break;
    }
    ids.pop();
    if (isSpared || !endOne(turn, node, reason)) continue;
    hasEndedAny = true;
    noteWork(turn);
  }
  return hasEndedAny;
}

/** Ids of all that is active, in the order of creation. */
function activeInOrder({ state: { runtime, nodes } }: Turn): string[] {
  return [...runtime.active].map((id) => nodes.get(id)).filter((node) => node !== undefined)
    .sort((a, b) => a.order - b.order).map(({ id }) => id);
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
