/** Steps nodes and their groups. Groups run one after another, the steps of a group side by side. */
import { inOnePiece } from "../../base/flat_text.ts";
import { isLoop } from "../../spec/loops.ts";
import { addNode, change, end } from "../change.ts";
import { blankNode, hasEnded, isBoundaryAtWork, isUntouched, type NodeRecord } from "../records.ts";
import { type ExpandedCall, type Frame, type GroupMemory, memoryOf } from "../live.ts";
import { findExpandedCall, frameOf } from "../scope/call.ts";
import { groupName, nodeId } from "../scope/names.ts";
import { workflowName } from "../state.ts";
import { getOwner, nodeByName } from "../tree.ts";
import type { Turn } from "../turn.ts";
import { failNode } from "./fail_node.ts";
import {
  areMembersDone,
  createWithoutRun,
  failFast,
  loopFault,
  openBoundary,
  startCalls,
  succeed,
} from "./group.ts";
import { isShut } from "./gate.ts";
import { isTolerated } from "./member.ts";
import { beginIfUntouched } from "./start.ts";

/** Continues a Steps node: with its next group, or with its end. */
export function evaluateSteps(turn: Turn, node: NodeRecord): void {
  if (!isBoundaryAtWork(node)) return;
  const frame = frameOf(turn, node);
  const memory = memoryOf(node);
  const { steps = [] } = frame.template;
  for (; memory.cursor < steps.length; memory.cursor++) {
    const member = memory.members?.[memory.cursor];
    const group = member?.role === "group" && member.index === memory.cursor
      ? member
      : nodeByName(turn, groupName(node.name, memory.cursor));
    // After a restart this begins with the first group again.
    const isPassed = group?.phase === "Succeeded";
    if (!isPassed && failFast(turn, node, group ?? memory.group)) return;
    if (group === undefined) break;
    const before = memory.group;
    memory.group = group;
    // A copy may come after steps that were left out, and have begun again since.
    if (isUntouched(group) && before !== undefined && before !== group) {
      change(turn, group, { parents: undefined, after: [before.id] });
    }
    beginIfUntouched(turn, group, node.id);
    if (!hasEnded(group)) return;
    if (group.phase !== "Succeeded") {
      end(turn, node, "Failed", group.message);
      return;
    }
    const fault = loopsFault(frame, group);
    if (fault !== undefined) {
      failNode(turn, node, fault);
      change(turn, node, { outbound: [] });
      return;
    }
  }
  const lost = lostDaemon(turn, node);
  if (lost !== undefined) {
    end(turn, node, "Failed", `child '${lost.id}' failed`);
    return;
  }
  if (memory.cursor < steps.length) addGroup(turn, node, memory);
  else succeed(turn, node, frame);
}

/** A daemon that ended by itself, unless its step tolerates that. */
function lostDaemon(turn: Turn, node: NodeRecord): NodeRecord | undefined {
  const { lostDaemons } = turn.state.runtime;
  if (lostDaemons === undefined) return undefined;
  for (const id of lostDaemons.get(node.id) ?? []) {
    const daemon = turn.state.nodes.get(id);
    if (daemon?.role === "member" && !isTolerated(turn, daemon)) return daemon;
  }
  return undefined;
}

/** What is wrong with the results of a loop in the group that has just ended. */
function loopsFault(frame: Frame, group: NodeRecord): string | undefined {
  for (const step of frame.template.steps?.[group.index ?? 0] ?? []) {
    const fault = isLoop(step) ? loopFault(group, step) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function addGroup(
  turn: Turn,
  node: NodeRecord,
  { cursor, group: previous }: GroupMemory,
): void {
  const name = groupName(node.name, cursor);
  const id = nodeId(workflowName(turn.state), name);
  const shown = inOnePiece(name.slice(node.name.length));
  const group = blankNode(id, name, shown, "group", "StepGroup", "Running");
  group.owner = node.id;
  group.boundary = node.id;
  group.index = cursor;
  if (previous === undefined) group.parents = [node.id];
  else group.after = [previous.id];
  group.templateScope = frameOf(turn, node).context.text;
  group.startedAt = turn.env.now;
  group.nodeFlag = {};
  if (node.isExit === true) group.isExit = true;
  addNode(turn, group);
  turn.state.runtime.opened.push(group);
}

/** Continues a step group: works out its calls, creates the steps that do not run, and begins the others. */
export function evaluateGroup(turn: Turn, group: NodeRecord): void {
  const node = openBoundary(turn, group);
  if (node === undefined) return;
  const memory = memoryOf(group);
  const calls = memory.calls ?? [];
  while (memory.unmade !== undefined && memory.unmade < calls.length) {
    const call = calls[memory.unmade] as ExpandedCall;
    // Nothing begins after a step whose `when` is wrong.
    if (call.error !== undefined) break;
    createWithoutRun(turn, node, group, call);
    memory.unmade++;
  }
  if (!failFast(turn, node, group)) startSteps(turn, group);
}

/** Begins the steps that may begin, and ends the group when all of them are done. */
export function startSteps(turn: Turn, group: NodeRecord): void {
  const node = getOwner(turn, group);
  if (hasEnded(group) || hasEnded(node)) return;
  startCalls(turn, node, group);
  if (turn.state.runtime.opened.length > 0) return;
  if (failFast(turn, node, group) || !areMembersDone(group)) return;
  const { firstFailed: failed, brokenHook, cursor, calls = [] } = memoryOf(group);
  if (brokenHook !== undefined) {
    end(turn, group, "Error", brokenHook.message);
  } else if (failed?.isErrored === true) {
    const text = failed.message ?? "";
    const isOfWhen = findExpandedCall(turn, failed)?.error !== undefined;
    const reason = `step group deemed errored due to child ${failed.name} error: ${text}`;
    end(turn, group, "Error", isOfWhen ? text : reason);
  } else if (cursor < calls.length && !isShut(turn, node)) return;
  else if (failed === undefined) end(turn, group, "Succeeded");
  else if (failed.isTimedOut === true) end(turn, group, "Failed", failed.message);
  else end(turn, group, "Failed", `child '${failed.id}' failed`);
}
