/**
 * What the outside reports. Facts may come in any order, repeated, or too late: those that no longer fit change nothing.
 */
import type { Fact } from "./command.ts";
import { cancelTask, change, emit, end, holderOf, markIndex, releaseLocks } from "./change.ts";
import type { EngineEnv } from "./engine.ts";
import { beginEvaluation } from "./expressions.ts";
import { ManifestNeeded } from "./failure.ts";
import { ttlSeconds, workflowHolder } from "./finish.ts";
import {
  endContainersWith,
  findTaskNode,
  taskEnded,
  taskPending,
  taskProgressed,
  taskStarted,
} from "./leaf.ts";
import { holderName } from "./lock_holder.ts";
import { wake } from "./runtime.ts";
import { failNode } from "./fail_node.ts";
import { isCompleted, type NodeRecord, type Turn, type WorkflowState } from "./state.ts";
import { workflowDeadline } from "./stop_reason.ts";

/**
 * Takes in a fact; `advance` then goes on. Never refuses. When a manifest is missing that the fact needs, it is listed
 * in the changes and the fact has no effect: report it again once the manifest is there.
 */
export function accept(state: WorkflowState, fact: Fact, env: EngineEnv): void {
  const turn: Turn = { state, env };
  beginEvaluation(env);
  try {
    take(turn, fact);
  } catch (error) {
    if (error instanceof ManifestNeeded) {
      const { ref } = error;
      state.pending.needs.set(`${ref.kind}/${ref.namespace}/${ref.name}`, ref);
      return;
    }
    // The manifest does not fit the node any more; the node can't go on, but the others can.
    const node = "task" in fact ? findTaskNode(turn, fact.task) : undefined;
    if (node === undefined || !(error instanceof Error)) throw error;
    failNode(turn, node, error.message);
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
    case "locks-failed":
      return locksFailed(turn, fact.holder, fact.message);
    case "wake":
      for (const id of turn.state.nodes.keys()) wake(turn.state.runtime, id);
  }
}

function timerFired(turn: Turn, timer: string): void {
  const { header, nodes } = turn.state;
  if (timer === "ttl") {
    if (header.finishedAt === undefined || !isCompleted(header.phase)) return;
    const seconds = ttlSeconds(turn, header.phase);
    if (seconds === undefined) return;
    const at = header.finishedAt + seconds * 1000;
    if (turn.env.now < at) emit(turn, { type: "set-timer", id: "ttl", at });
    else emit(turn, { type: "delete-workflow", id: "delete-workflow" });
    return;
  }
  if (header.finishedAt !== undefined) return;
  if (timer === "workflow-deadline") {
    const at = workflowDeadline(turn);
    if (at !== undefined && turn.env.now < at) emit(turn, { type: "set-timer", id: timer, at });
    return;
  }
  const node = timer.startsWith("node/") ? nodes.get(timer.slice("node/".length)) : undefined;
  if (node?.dueAt === undefined) return;
  if (turn.env.now < node.dueAt) {
    emit(turn, { type: "set-timer", id: timer, at: node.dueAt });
    return;
  }
  nodeIsDue(turn, node);
}

function nodeIsDue(turn: Turn, node: NodeRecord): void {
  switch (node.type) {
    case "Suspend":
      // It goes on when it is looked at, which a suspended workflow does not do.
      wake(turn.state.runtime, node.id);
      return;
    case "Pod":
    case "HTTP":
    case "Plugin":
      change(turn, node, { dueAt: undefined });
      if (node.phase !== "Pending") return;
      cancelTask(turn, node, "timeout");
      change(turn, node, { isTimedOut: true });
      end(turn, node, "Failed", "timeout");
      endContainersWith(turn, node, "timeout");
      return;
    case "Retry":
      // The wait is over: the node looks at the time itself.
      change(turn, node, { dueAt: undefined });
      return;
    case "Steps":
    case "StepGroup":
    case "DAG":
    case "TaskGroup":
    case "Container":
    case "Skipped":
      return;
  }
}

/** The node behind a holder that still waits for its locks. */
function findWaiting(turn: Turn, holder: string): NodeRecord | undefined {
  const node = nodeBehind(turn, holder);
  return node?.lock?.isHeld === false ? node : undefined;
}

/** The node that made this very request. */
function nodeBehind(turn: Turn, holder: string): NodeRecord | undefined {
  const node = turn.state.nodes.get(holderName(holder).split("/")[2] ?? "");
  return node !== undefined && holderOf(turn, node) === holder ? node : undefined;
}

/** A request may arrive again after its locks were given back: what nobody wants any more is given back again. */
function locksGranted(turn: Turn, holder: string): void {
  const { header } = turn.state;
  if (header.lock !== undefined && holder === workflowHolder(turn)) {
    if (header.lock.isHeld || header.finishedAt !== undefined) return;
    const { waiting: _, holders: __, ...lock } = header.lock;
    header.lock = { ...lock, isHeld: true };
    markIndex(turn);
    return;
  }
  const node = findWaiting(turn, holder);
  if (node !== undefined) {
    // It begins when it is looked at: parallelism may still hold it back.
    change(turn, node, { lock: { isHeld: true, keys: node.lock?.keys ?? [] } });
    return;
  }
  if (nodeBehind(turn, holder)?.lock === undefined) releaseLocks(turn, holder);
}

function locksWaiting(turn: Turn, fact: Extract<Fact, { type: "locks-waiting" }>): void {
  const { header } = turn.state;
  const holders = fact.holders?.[fact.waiting] ?? [];
  if (fact.holder === workflowHolder(turn)) {
    if (header.lock?.isHeld !== false || header.finishedAt !== undefined) return;
    header.lock = { ...header.lock, waiting: fact.waiting, holders };
    header.message = fact.message;
    markIndex(turn);
    return;
  }
  const node = findWaiting(turn, fact.holder);
  if (node?.lock === undefined) return;
  change(turn, node, {
    message: fact.message,
    synchronizationStatus: { waiting: fact.waiting },
    lock: { ...node.lock, waiting: fact.waiting, holders },
  });
}

function locksFailed(turn: Turn, holder: string, message: string): void {
  const node = findWaiting(turn, holder);
  if (node !== undefined) {
    failNode(turn, node, message);
    return;
  }
  const { header } = turn.state;
  if (holder !== workflowHolder(turn) || header.lock?.isHeld !== false) return;
  header.message = `Failed to acquire the synchronization lock. ${message}`;
  markIndex(turn);
}
