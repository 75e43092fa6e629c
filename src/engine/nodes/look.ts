/**
 * Looks at the nodes that something has happened to, one after another. A node that begins a group is interrupted: the group
 * is looked at first, so that its members get places before its neighbours do. Interrupted nodes wait on a stack, not in a
 * recursion, so a turn can end between any two looks.
 */
import { isFailure, ManifestNeeded } from "../failure.ts";
import { hasEnded, isBoundaryAtWork, type NodeRecord } from "../records.ts";
import { boundaryOf, LIVE, ownerOf } from "../live.ts";
import { interrupt, type Interrupted, stackOpened, wake } from "../runtime.ts";
import type { GivenArguments } from "../scope/arguments.ts";
import type { Call } from "../scope/call.ts";
import { beginEvaluation } from "../scope/expressions.ts";
import { needManifest } from "../stored_manifests.ts";
import type { Turn } from "../turn.ts";
import { noteWork, TurnOver } from "../turn_budget.ts";
import { failNode } from "./fail_node.ts";
import { wakeIdle } from "./gate.ts";
import { kindOf } from "./kinds.ts";
import { lookAtMember } from "./member.ts";
import { beginLocked, startCall } from "./start.ts";

/** Looks at all nodes that were woken, for as long as the turn lasts. Interrupted nodes come first. */
export function lookAtWoken(turn: Turn): void {
  const { runtime } = turn.state;
  if (!resumeInterrupted(turn)) return;
  // Nodes that need a manifest that is not loaded. The next turn looks at them again.
  let left: NodeRecord[] | undefined;
  try {
    for (let node = runtime.queue.take(); node !== undefined; node = runtime.queue.take()) {
      // It may have been looked at as one that was interrupted.
      if (!node[LIVE].isQueued) continue;
      if (lookSafely(turn, node, "look")) (left ??= []).push(node);
      if (isOver(turn) || !resumeInterrupted(turn)) break;
    }
  } finally {
    for (const node of left ?? []) wake(runtime, node);
  }
}

/** The same as `startCall` for a call of the workflow itself; also begins everything inside that can begin now. */
export function startOutermost(
  turn: Turn,
  call: Call,
  given: GivenArguments,
  waiter: string,
): NodeRecord | undefined {
  const node = startCall(turn, call, given, waiter);
  resumeInterrupted(turn);
  return node;
}

/** Continues the interrupted nodes, innermost first. False when the turn is over. */
function resumeInterrupted(turn: Turn): boolean {
  const { runtime } = turn.state;
  stackOpened(runtime);
  for (let next = runtime.cut.pop(); next !== undefined; next = runtime.cut.pop()) {
    if (lookSafely(turn, next.node, next.rest)) wake(runtime, next.node);
    if (isOver(turn)) return false;
  }
  return true;
}

function isOver(turn: Turn): boolean {
  noteWork(turn);
  return turn.budget?.isOver === true;
}

/** Looks at a node. True when it must be looked at again because a manifest is not loaded. */
function lookSafely(turn: Turn, node: NodeRecord, rest: Interrupted["rest"]): boolean {
  if (rest === "look") node[LIVE].isQueued = false;
  try {
    look(turn, node, rest);
    return false;
  } catch (error) {
    return handle(turn, node, rest, error);
  }
}

/** Handles what was thrown while a node was looked at. Result as of {@link lookSafely}. */
function handle(
  turn: Turn,
  node: NodeRecord,
  rest: Interrupted["rest"],
  error: unknown,
): boolean {
  if (error instanceof TurnOver) {
    interrupt(turn.state.runtime, node, rest === "member" ? "member" : "look");
    return false;
  }
  if (error instanceof ManifestNeeded) {
    needManifest(turn, error);
    return true;
  }
  if (!isFailure(error) || hasEnded(node)) throw error;
  failNode(turn, node, error.message);
  return false;
}

/** Looks at one node: what it does next, and whether it is done for its owner. */
function look(turn: Turn, node: NodeRecord, rest: Interrupted["rest"]): void {
  const { runtime } = turn.state;
  beginEvaluation(turn.env);
  if (rest !== "member") {
    const kind = kindOf(node);
    if (rest === "calls") kind.beginMore?.(turn, node);
    else {
      if (node.lock !== undefined) beginLocked(turn, node);
      if (runtime.opened.length > 0) return interrupt(runtime, node, "look");
      kind.look(turn, node);
    }
    if (runtime.opened.length > 0 && kind.beginMore !== undefined) {
      return interrupt(runtime, node, "calls");
    }
  }
  if (hasEnded(node)) tellBoundary(turn, node);
  const isMember = isAwaited(turn, node);
  if (isMember && runtime.opened.length === 0) lookAtMember(turn, node);
  if (runtime.opened.length === 0) return;
  if (isMember) interrupt(runtime, node, "member");
  else stackOpened(runtime);
}

/** Under failFast, what waits for hooks or attempts of a child waits for nothing more when nothing is at work. */
function tellBoundary(turn: Turn, node: NodeRecord): void {
  const boundary = boundaryOf(turn.state.nodes, node);
  if (boundary !== undefined && isBoundaryAtWork(boundary)) wakeIdle(turn, boundary);
}

/** Tells whether a node is a step, task or loop for which its owner still waits. */
function isAwaited({ state }: Turn, node: NodeRecord): boolean {
  if (node.role !== "member" && node.role !== "loop") return false;
  const above = ownerOf(state.nodes, node);
  return above !== undefined && !hasEnded(above);
}
