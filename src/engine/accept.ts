/**
 * Takes in what the outside reports. Facts may come in any order, twice, or too late: one that no longer fits changes
 * nothing.
 */
import { defined } from "../base/defined.ts";
import type { Fact } from "./command.ts";
import { change, emit, holderOf, markIndex, releaseLocks, setTimer } from "./change.ts";
import type { EngineEnv } from "./engine.ts";
import { beginEvaluation } from "./scope/expressions.ts";
import { ManifestNeeded } from "./failure.ts";
import { needManifest } from "./stored_manifests.ts";
import { deletionTime, workflowHolder } from "./finish.ts";
import {
  findTaskNode,
  taskEnded,
  taskIsDue,
  taskPending,
  taskProgressed,
  taskStarted,
} from "./nodes/task.ts";
import { kindOf } from "./nodes/kinds.ts";
import { holderName } from "./locks/holder.ts";
import { failNode } from "./nodes/fail_node.ts";
import type { WorkflowState } from "./state.ts";
import type { NodeRecord } from "./records.ts";
import { wakeOpen } from "./runtime.ts";
import { DEADLINE_TIMER, nodeOfTimer, TTL_TIMER } from "./timers.ts";
import type { Turn } from "./turn.ts";
import { workflowDeadline } from "./shutdown/stop_reason.ts";

/**
 * Takes in a fact; `advance` then goes on. Never refuses.
 * @returns false when the fact needs a manifest that is missing. The changes list it, and the fact has had no effect: report
 *   it again once the manifest is there
 */
export function accept(state: WorkflowState, fact: Fact, env: EngineEnv): boolean {
  const turn: Turn = { state, env, budget: undefined };
  beginEvaluation(env);
  try {
    take(turn, fact);
    return true;
  } catch (error) {
    if (error instanceof ManifestNeeded) {
      needManifest(turn, error);
      return false;
    }
    // The manifest no longer fits the node: this node cannot go on, but the others can.
    const node = "task" in fact ? findTaskNode(turn, fact.task) : undefined;
    if (node === undefined || !(error instanceof Error)) throw error;
    failNode(turn, node, error.message);
    return true;
  }
}

function take(turn: Turn, fact: Fact): void {
  switch (fact.type) {
    case "task-started":
      return taskStarted(turn, fact);
    case "task-pending":
      return taskPending(turn, fact);
    case "task-progress":
      return taskProgressed(turn, fact);
    case "task-ended":
      return taskEnded(turn, fact);
    case "timer-fired":
      return timerFired(turn, fact.timer);
    case "locks-granted":
      return locksGranted(turn, fact.holder);
    case "locks-waiting":
      return locksWaiting(turn, fact);
  }
}

function timerFired(turn: Turn, timer: string): void {
  const { header, nodes } = turn.state;
  if (timer === TTL_TIMER) {
    const at = deletionTime(turn.state);
    if (at === undefined) return;
    if (turn.env.now < at) emit(turn, { type: "set-timer", id: timer, at });
    else emit(turn, { type: "delete-workflow", id: "delete-workflow" });
    return;
  }
  if (header.finishedAt !== undefined) return;
  if (timer === DEADLINE_TIMER) {
    const at = workflowDeadline(turn);
    if (at !== undefined && turn.env.now < at) emit(turn, { type: "set-timer", id: timer, at });
    else wakeOpen(turn.state.runtime, nodes);
    return;
  }
  const id = nodeOfTimer(timer);
  const node = id === undefined ? undefined : nodes.get(id);
  if (node?.dueAt === undefined) return;
  if (turn.env.now < node.dueAt) {
    emit(turn, { type: "set-timer", id: timer, at: node.dueAt });
    return;
  }
  if (node.synchronizationStatus?.waiting !== undefined) taskIsDue(turn, node);
  else kindOf(node).due(turn, node);
}

/** The node that made a lock request, if it still waits for the locks. */
function findWaitingNode(turn: Turn, holder: string): NodeRecord | undefined {
  const node = requesterOf(turn, holder);
  return node?.lock?.isHeld === false ? node : undefined;
}

/** The node that made a lock request. */
function requesterOf(turn: Turn, holder: string): NodeRecord | undefined {
  const node = turn.state.nodes.get(holderName(holder).split("/")[2] ?? "");
  return node !== undefined && holderOf(turn, node) === holder ? node : undefined;
}

/** A request may arrive again after its locks were given back; then they are given back once more. */
function locksGranted(turn: Turn, holder: string): void {
  const { header } = turn.state;
  if (header.lock !== undefined && holder === workflowHolder(turn)) {
    if (header.lock.isHeld || header.finishedAt !== undefined) return;
    const { waiting: _, holders: __, ...lock } = header.lock;
    header.lock = { ...lock, isHeld: true };
    markIndex(turn);
    return;
  }
  const node = findWaitingNode(turn, holder);
  if (node !== undefined) {
    // It begins when it is looked at, because parallelism may still hold it back.
    const { keys = [], waiting } = node.lock ?? {};
    change(turn, node, { lock: { isHeld: true, keys, ...defined({ waiting }) } });
    return;
  }
  if (requesterOf(turn, holder)?.lock === undefined) releaseLocks(turn, holder);
}

function locksWaiting(turn: Turn, fact: Extract<Fact, { type: "locks-waiting" }>): void {
  const { header } = turn.state;
  const { waiting, holders = {} } = fact;
  if (fact.holder === workflowHolder(turn)) {
    if (header.lock?.isHeld !== false || header.finishedAt !== undefined) return;
    header.lock = { ...header.lock, waiting, holders };
    header.message = fact.message;
    markIndex(turn);
    return;
  }
  const node = findWaitingNode(turn, fact.holder);
  if (node?.lock === undefined) return;
  if (node.lock.until !== undefined) setTimer(turn, node, node.lock.until);
  change(turn, node, {
    message: fact.message,
    synchronizationStatus: { waiting },
    lock: { ...node.lock, waiting, holders },
  });
}
