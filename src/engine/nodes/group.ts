/** What Steps and DAG nodes have in common: they begin several calls, and end when all of them are done. */
import type { StepLike } from "../../spec/manifest.ts";
import { addNode, cancelTask, change, end } from "../change.ts";
import { isFailure, NodeFailure } from "../failure.ts";
import { hasEnded, isFailedOrError, isUntouched, type NodeRecord } from "../records.ts";
import {
  type ExpandedCall,
  type Frame,
  type GroupMemory,
  LIVE,
  membersOf,
  memoryOf,
} from "../live.ts";
import { noteFailure, releaseCalls } from "../runtime.ts";
import { findExpandedCall, type Links, memberCall, workOutCalls } from "../scope/call.ts";
import { loopOutputs } from "../scope/loop_outputs.ts";
import { stepReferences } from "../scope/references.ts";
import { getOwner, nodeByName } from "../tree.ts";
import type { Turn } from "../turn.ts";
import { checkTurn, noteWork } from "../turn_budget.ts";
import { failNode } from "./fail_node.ts";
import { FAIL_FAST_TEXT, isAnyAtWork, isShut } from "./gate.ts";
import { publishGlobals } from "./global_outputs.ts";
import { saveMemo } from "./memo.ts";
import { newNode } from "./new_node.ts";
import { collectOutputs } from "./outputs.ts";
import { beginIfUntouched, startCall } from "./start.ts";

/** Calls to pass over between two looks at the clock. */
const STRIDE = 256;

/**
 * When the template asks for it, ends a Steps or DAG node after the failure of a child. True while nothing new may begin.
 * As in the reference, an attempt that is done with its steps ends as it does without failFast.
 * @param group the step group that is open
 * @param isLeft a task of the DAG is ready that may no longer begin
 */
export function failFast(
  turn: Turn,
  node: NodeRecord,
  group: NodeRecord | undefined,
  isLeft = false,
): boolean {
  if (!isShut(turn, node)) return false;
  memoryOf(node).isToldIdle = false;
  if (node.role === "attempt" && group !== undefined && endsByItself(group)) return false;
  if (!isAnyAtWork(turn, node)) {
    if (!isLeft && isDoneByFailure(node, group ?? node)) return false;
    if (group !== undefined) end(turn, group, "Failed", FAIL_FAST_TEXT);
    end(turn, node, "Failed", FAIL_FAST_TEXT);
    change(turn, node, { outbound: [] });
    endInside(turn, node);
  }
  return true;
}

/** Tells whether a step of a group has failed, and all that has begun is done, with its hooks. */
function endsByItself(group: NodeRecord): boolean {
  return memoryOf(group).firstFailed !== undefined && areMembersDone(group);
}

/**
 * Tells whether all that has begun is done, and the last thing that happened is that a Steps or DAG node failed. The node then
 * ends as it does without failFast, as in the reference: nothing is at work that this would have had to wait for.
 * @param group the step group, or the DAG node itself
 */
function isDoneByFailure(node: NodeRecord, group: NodeRecord): boolean {
  const { firstFailed, members = [] } = memoryOf(group);
  // One that has ended without a run is done as soon as somebody looks at it.
  const areDone = members.every((member) =>
    member[LIVE].isDone || member.role === "hook" || (member[LIVE].isQueued && hasEnded(member))
  );
  if (firstFailed === undefined || !areDone) return false;
  let failures = 0;
  let failedAt = Infinity;
  let lastAt = 0;
  const look = (owner: NodeRecord): void => {
    for (const member of membersOf(owner)) {
      if (member.boundary !== node.id) continue;
      look(member);
      if (member.type === "TaskGroup") continue;
      const { role, type, finishedAt = Infinity } = member;
      lastAt = Math.max(lastAt, finishedAt);
      if (role !== "member" || (type !== "Steps" && type !== "DAG")) continue;
      if (!isFailedOrError(member)) continue;
      failures++;
      failedAt = Math.min(failedAt, finishedAt);
    }
  };
  look(group);
  return failures === memoryOf(node).unsuccessful && lastAt <= failedAt;
}

/** Ends what still waits inside a node that has ended: nobody would look at it again, and it may hold locks. */
function endInside(turn: Turn, node: NodeRecord): void {
  for (const member of membersOf(node)) {
    endInside(turn, member);
    if (hasEnded(member)) continue;
    cancelTask(turn, member, FAIL_FAST_TEXT);
    end(turn, member, "Failed", FAIL_FAST_TEXT);
  }
}

/**
 * Begins the calls of a group in order, until the gate closes, or until one of them is itself a group, which is then looked at
 * first. In a step group also until one of them cannot be carried out: the group then ends.
 */
export function startCalls(turn: Turn, boundary: NodeRecord, group: NodeRecord): void {
  const memory = memoryOf(group);
  const calls = memory.calls ?? [];
  const { opened } = turn.state.runtime;
  let links: Links | undefined;
  while (memory.cursor < calls.length) {
    const call = calls[memory.cursor];
    if (call === undefined) return;
    // Each call before this one has its node. If there are no others, this one has none.
    const existing = memory.memberCount > memory.cursor ? nodeByName(turn, call.name) : undefined;
    if (existing === undefined) {
      if (group.type === "StepGroup" && isBroken(memory)) return;
      links ??= { parents: [group.id] };
      const started = createWithoutRun(turn, boundary, group, call, links) ??
        startMember(turn, boundary, group, call, links);
      if (started === undefined) return;
      if (started.isErrored === true) noteFailure(memory, started);
      // The node has its inputs now; a long loop should not keep them twice.
      call.arguments = undefined;
    } else {
      if (existing.type === "Skipped") createWithoutRun(turn, boundary, group, call);
      if (!beginIfUntouched(turn, existing, group.id)) return;
      if (existing.isErrored === true) noteFailure(memory, existing);
      if (memory.cursor % STRIDE === STRIDE - 1) {
        noteWork(turn);
        checkTurn(turn);
      }
    }
    memory.cursor++;
    if (opened.length > 0) return;
  }
  releaseCalls(turn.state.runtime, memory);
}

/** Tells whether a member or a hook of one could not be carried out. */
function isBroken({ firstFailed, brokenHook }: GroupMemory): boolean {
  return firstFailed?.isErrored === true || brokenHook !== undefined;
}

/**
 * The node of a group that may go on, once the calls of the group are worked out; undefined while it may not. When they
 * cannot be worked out, the group ends.
 */
export function openBoundary(turn: Turn, group: NodeRecord): NodeRecord | undefined {
  if (hasEnded(group) || isUntouched(group)) return undefined;
  const node = getOwner(turn, group);
  if (hasEnded(node)) return undefined;
  const memory = memoryOf(group);
  if (memory.unmade !== undefined) return node;
  try {
    if (memory.calls === undefined) workOutCalls(turn, node, group);
    memory.unmade = 0;
    endUncalled(turn, group);
    return node;
  } catch (error) {
    if (!isFailure(error)) throw error;
    end(turn, group, "Error", reasonOf(group, error));
    return undefined;
  }
}

/** The message of a step group says so when references cannot be resolved. Other messages are clear by themselves. */
function reasonOf({ type }: NodeRecord, error: Error): string {
  return type !== "StepGroup" || error instanceof NodeFailure
    ? error.message
    : `failed to resolve references: ${error.message}`;
}

/** Ends what was copied from another workflow, whose loop had other items. */
function endUncalled(turn: Turn, group: NodeRecord): void {
  for (const member of membersOf(group)) {
    if (member.role !== "member" || !isUntouched(member)) continue;
    if (findExpandedCall(turn, member) !== undefined) continue;
    change(turn, member, { type: "Skipped" });
    end(turn, member, "Skipped", "the loop has no such item any more");
  }
}

/** Begins a step, a task or an element of a loop. Undefined when the gate is closed. */
export function startMember(
  turn: Turn,
  boundary: NodeRecord,
  owner: NodeRecord,
  expanded: ExpandedCall,
  links: Links,
): NodeRecord | undefined {
  const call = memberCall(turn, boundary, owner, expanded, links);
  return startCall(turn, call, expanded.arguments ?? {}, owner.id);
}

/** The node of a call that does not run, because it is skipped or its `when` is wrong. Undefined for a call that runs. */
export function createWithoutRun(
  turn: Turn,
  boundary: NodeRecord,
  owner: NodeRecord,
  call: ExpandedCall,
  links?: Links,
): NodeRecord | undefined {
  if (call.error === undefined && call.skip === undefined) return undefined;
  const existing = nodeByName(turn, call.name);
  if (existing !== undefined) {
    if (existing.type === "Skipped" && isUntouched(existing)) leaveOut(turn, existing, call);
    return existing;
  }
  const whole = memberCall(turn, boundary, owner, call, links ?? { parents: [owner.id] });
  const node = newNode(turn, whole, "Skipped", "Running");
  node.nodeFlag = {};
  leaveOut(turn, addNode(turn, node), call);
  return node;
}

function leaveOut(turn: Turn, node: NodeRecord, { error, skip }: ExpandedCall): void {
  // Of a DAG, the loop goes on.
  const isFault = error !== undefined && getOwner(turn, node).type === "StepGroup";
  if (isFault) change(turn, node, { isErrored: true });
  end(turn, node, error === undefined ? "Skipped" : "Error", error ?? skip);
}

/** Tells whether every member of a group is done. */
export function areMembersDone(group: NodeRecord): boolean {
  const { doneCount, memberCount } = memoryOf(group);
  return doneCount >= memberCount;
}

/** The same for those that have begun: in a copied tree there may be others. */
export function areBegunDone(group: NodeRecord): boolean {
  return membersOf(group).every((member) =>
    member[LIVE].isDone || member.role === "hook" || isUntouched(member)
  );
}

/** What is wrong with the results of a loop that has ended; undefined when nothing is. @param node the group of the loop */
export function loopFault(node: NodeRecord, step: StepLike): string | undefined {
  try {
    loopOutputs({ node, step });
    return undefined;
  } catch (error) {
    if (!isFailure(error)) throw error;
    return error.message;
  }
}

/** Ends a Steps or DAG node that has succeeded, with the outputs that it takes from its steps. */
export function succeed(turn: Turn, node: NodeRecord, frame: Frame): void {
  try {
    const { template } = frame;
    // Most have none.
    const outputs = template.outputs === undefined
      ? undefined
      : collectOutputs(turn, template, stepReferences(turn, node, frame, () => true));
    if (outputs !== undefined) change(turn, node, { outputs });
    end(turn, node, "Succeeded");
    if (outputs !== undefined) publishGlobals(turn, node, outputs);
    if (node.memoizationStatus?.hit === false) saveMemo(turn, node);
  } catch (error) {
    if (!isFailure(error)) throw error;
    failNode(turn, node, error.message);
  }
}
