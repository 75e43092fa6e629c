/** Ends what is active when the workflow is stopped, terminated or out of time. Exit handlers survive a stop. */
import { cancelTask, end } from "../change.ts";
import { endContainersWith } from "../nodes/task.ts";
import { LIVE } from "../live.ts";
import { noteReplaced } from "../turn_budget.ts";
import { latestAttempt } from "../scope/attempts.ts";
import { wake } from "../runtime.ts";
import { byOrder, hasEnded, isUntouched, type NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { type StopReason, stopReason } from "./stop_reason.ts";

/** Ends the active nodes that a shutdown reaches, as many as the turn allows. True when it ended any. */
export function endActive(turn: Turn): boolean {
  const reason = stopReason(turn);
  if (reason === undefined) return false;
  const { runtime } = turn.state;
  let hasEndedAny = false;
  // First what the last turn left, then everything that is active now.
  for (let isLeftOver = runtime.toEnd !== undefined;; isLeftOver = false) {
    runtime.toEnd ??= activeInOrder(turn).reverse();
    if (endThese(turn, runtime.toEnd, reason)) hasEndedAny = true;
    if (turn.budget?.isCut === true) return hasEndedAny;
    runtime.toEnd = undefined;
    if (!isLeftOver) return hasEndedAny;
  }
}

/** Ends nodes from the end of the list and removes them from it, as many as the turn allows. True when it ended any. */
function endThese(turn: Turn, ids: string[], reason: StopReason): boolean {
  let hasEndedAny = false;
  for (let id = ids.at(-1); id !== undefined; id = ids.at(-1)) {
    const node = turn.state.nodes.get(id);
    // A copy that has not begun is not active. Whoever begins it sees that it may no longer run, unless it is an exit handler.
    const isSpared = node === undefined || isUntouched(node) ||
      (node.isExit === true && !reason.isHard);
    if (!isSpared && turn.budget?.isOver === true) {
      turn.budget.isCut = true;
      break;
    }
    ids.pop();
    if (isSpared || !endOne(turn, node, reason)) continue;
    hasEndedAny = true;
    noteReplaced(turn, node[LIVE].size);
  }
  return hasEndedAny;
}

/** Ids of all active nodes, in the order of creation. */
function activeInOrder({ state: { runtime, nodes } }: Turn): string[] {
  return [...runtime.active].map((id) => nodes.get(id)).filter((node) => node !== undefined)
    .sort(byOrder).map(({ id }) => id);
}

function endOne(turn: Turn, node: NodeRecord, reason: StopReason): boolean {
  if (hasEnded(node) || node.type === "Container") return false;
  const isDaemon = node.daemoned === true;
  if (isDaemon && node.type !== "Retry") return false;
  const isWaiting = node.synchronizationStatus?.waiting !== undefined;
  if (node.type === "Retry" && !isWaiting) {
    const last = latestAttempt(node);
    if (last === undefined || !hasEnded(last)) return false;
    if (reason.isDeadline || isDaemon) {
      // Its own message says that the deadline cut its retries short; and others have to hear that a daemon is lost.
      wake(turn.state.runtime, node);
      return false;
    }
    end(turn, node, "Failed", reason.waiting);
    return true;
  }
  const text = node.type === "Pod" ? textOfPod(turn, node, reason) : reason.waiting;
  cancelTask(turn, node, text);
  end(turn, node, "Failed", text);
  endContainersWith(turn, node, text);
  return true;
}

/**
 * A pod that waits for what this workflow itself has gets its lock as the holder ends, and is refused then. One that waits for
 * others is stopped where it waits.
 */
function textOfPod({ state: { header } }: Turn, node: NodeRecord, reason: StopReason): string {
  const waiting = node.synchronizationStatus?.waiting;
  if (waiting === undefined) return reason.running;
  const { namespace = "", name = "" } = header.metadata;
  const noted = node.lock?.holders ?? {};
  const holders = Array.isArray(noted) ? noted : noted[waiting] ?? [];
  const isOwn = holders.some((holder) => holder.startsWith(`${namespace}/${name}/`));
  return isOwn ? reason.notStarted : reason.waiting;
}
