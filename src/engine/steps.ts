/** Steps nodes and their groups: groups one after the other, the steps of a group side by side. */
import { frameOf, getNode, known, memberCall, nodeByName } from "./call.ts";
import { addNode, change, end } from "./change.ts";
import { publishGlobals } from "./global_outputs.ts";
import { saveMemo } from "./memo.ts";
import { isTolerated } from "./member.ts";
import { collectOutputs } from "./outputs.ts";
import { keepCalls } from "./expansion.ts";
import { checkTurn, noteWork } from "./limits.ts";
import { displayNameOf, nodeId } from "./names.ts";
import { boundaryCount, type ExpandedCall, releaseCalls, unitOf } from "./runtime.ts";
import { isLoop, loopOutputs } from "./scope.ts";
import { beginIfUntouched, identity, isUntouched, startCall } from "./start.ts";
import { failNode } from "./fail_node.ts";
import { isFailure } from "./failure.ts";
import { groupBases, groupCalls } from "./steps_calls.ts";
import { hasEnded, type NodeRecord, type Turn, workflowName } from "./state.ts";
import { scopeText } from "./templates.ts";

/** Calls that are passed over between two looks at what the turn may still do. */
const STRIDE = 256;

const FAIL_FAST_TEXT = "template has failed or errored children and failFast enabled";

/** Goes on with a Steps node: next group, or its end. */
export function evaluateSteps(turn: Turn, node: NodeRecord): void {
  if (node.phase !== "Running" && !isUntouched(node)) return;
  const frame = frameOf(turn, node);
  const unit = unitOf(turn.state.runtime, node.id);
  const groupAt = (index: number) => nodeByName(turn, `${node.name}[${index}]`);
  let group = groupAt(unit.cursor);
  if (failFast(turn, node, group ?? groupAt(unit.cursor - 1))) return;
  for (; group !== undefined; group = groupAt(++unit.cursor)) {
    beginIfUntouched(turn, group);
    if (!hasEnded(group)) return;
    if (group.phase !== "Succeeded") {
      end(turn, node, "Failed", group.message);
      return;
    }
    const aggregateError = checkLoops(turn, node, group);
    if (aggregateError !== undefined) {
      failNode(turn, node, aggregateError);
      return;
    }
  }
  const lost = lostDaemon(turn, node);
  if (lost !== undefined) {
    end(turn, node, "Failed", `child '${lost.id}' failed`);
    return;
  }
  if (unit.cursor < (frame.template.steps?.length ?? 0)) {
    addGroup(turn, node, unit.cursor, groupAt(unit.cursor - 1));
    return;
  }
  try {
    const outputs = collectOutputs(turn, frame.template, known(turn, node, frame, () => true));
    if (outputs !== undefined) change(turn, node, { outputs });
    end(turn, node, "Succeeded");
    if (outputs !== undefined) publishGlobals(turn, node, outputs);
    if (node.memoizationStatus?.hit === false) saveMemo(turn, node);
  } catch (error) {
    if (!isFailure(error)) throw error;
    failNode(turn, node, error.message);
  }
}

/** A daemon of the node that left by itself, unless its step tolerates that. */
function lostDaemon(turn: Turn, node: NodeRecord): NodeRecord | undefined {
  for (const id of turn.state.runtime.lostDaemons.get(node.id) ?? []) {
    const daemon = turn.state.nodes.get(id);
    if (daemon?.role === "member" && !isTolerated(turn, daemon)) return daemon;
  }
  return undefined;
}

/**
 * Ends a boundary node as soon as a child has failed, when its template asks for that; true while nothing new may begin.
 */
export function failFast(turn: Turn, node: NodeRecord, group: NodeRecord | undefined): boolean {
  if (frameOf(turn, node).template.failFast !== true) return false;
  const count = boundaryCount(turn.state.runtime, node.id);
  if (count.unsuccessful === 0) return false;
  if (count.activeChildren === 0) {
    if (group !== undefined) end(turn, group, "Failed", FAIL_FAST_TEXT);
    end(turn, node, "Failed", FAIL_FAST_TEXT);
    change(turn, node, { outbound: [] });
  }
  return true;
}

/** What is wrong with the results of a loop in the group that has just ended. */
function checkLoops(turn: Turn, node: NodeRecord, group: NodeRecord): string | undefined {
  for (const step of frameOf(turn, node).template.steps?.[group.index ?? 0] ?? []) {
    if (!isLoop(step)) continue;
    try {
      loopOutputs(turn, { node: group, step });
    } catch (error) {
      if (!isFailure(error)) throw error;
      return error.message;
    }
  }
  return undefined;
}

function addGroup(
  turn: Turn,
  node: NodeRecord,
  index: number,
  previous: NodeRecord | undefined,
): void {
  const name = `${node.name}[${index}]`;
  const group = addNode(turn, {
    id: nodeId(workflowName(turn.state), name),
    name,
    displayName: displayNameOf(name, node.name),
    type: "StepGroup",
    phase: "Running",
    role: "group",
    owner: node.id,
    boundary: node.id,
    index,
    templateScope: scopeText(frameOf(turn, node).context),
    startedAt: turn.env.now,
    nodeFlag: {},
    ...(previous === undefined ? { parents: [node.id] } : { after: [previous.id] }),
    ...(node.isExit === true ? { isExit: true } : {}),
  });
  turn.visit?.(group);
}

/** Goes on with a step group: begins what may begin, and ends it when all its steps are done. */
export function evaluateGroup(turn: Turn, group: NodeRecord): void {
  if (hasEnded(group) || isUntouched(group)) return;
  const node = getNode(turn, group.owner);
  if (hasEnded(node)) return;
  const frame = frameOf(turn, node);
  const unit = unitOf(turn.state.runtime, group.id);
  if (unit.calls === undefined) {
    try {
      keepCalls(
        turn,
        unit,
        groupCalls(turn, node, frame, group, known),
        groupBases(frame, group),
      );
      unit.unmade = 0;
    } catch (error) {
      if (!isFailure(error)) throw error;
      end(turn, group, "Error", reasonOf(error));
      return;
    }
  }
  const calls = unit.calls ?? [];
  while (unit.unmade !== undefined && unit.unmade < calls.length) {
    createWithoutRun(turn, node, group, calls[unit.unmade] as ExpandedCall);
    unit.unmade++;
  }
  if (failFast(turn, node, group)) return;
  startCalls(turn, node, group);
  if (failFast(turn, node, group)) return;
  if (!areMembersDone(turn, group)) return;
  const failed = unit.firstFailed;
  if (failed?.isErrored === true) {
    end(
      turn,
      group,
      "Error",
      `step group deemed errored due to child ${failed.name} error: ${failed.message ?? ""}`,
    );
  } else if (unit.cursor < calls.length) return;
  else if (failed?.isTimedOut === true) {
    end(turn, group, "Failed", failed.message);
  } else if (failed !== undefined) end(turn, group, "Failed", `child '${failed.id}' failed`);
  else end(turn, group, "Succeeded");
}

/** References that can't be resolved are said to be that; other texts speak for themselves. */
function reasonOf(error: Error): string {
  return error.name === "NodeFailure"
    ? error.message
    : `failed to resolve references: ${error.message}`;
}

/**
 * Begins the calls of a group in order until the gate closes, or one of them could not be carried out.
 */
export function startCalls(turn: Turn, boundary: NodeRecord, group: NodeRecord): void {
  const unit = unitOf(turn.state.runtime, group.id);
  const calls = unit.calls ?? [];
  const workflow = workflowName(turn.state);
  while (unit.cursor < calls.length) {
    const call = calls[unit.cursor];
    if (call === undefined) return;
    const existing = turn.state.nodes.get(nodeId(workflow, call.name));
    if (existing === undefined) {
      if (unit.firstFailed?.isErrored === true) return;
      const started = createWithoutRun(turn, boundary, group, call) ??
        startCall(turn, memberCallOf(turn, boundary, group, call), group.id);
      if (started === undefined) return;
      if (started.isErrored === true) unit.firstFailed ??= started;
      // The node has its inputs now; a long loop should not keep them twice.
      call.arguments = {};
    } else {
      beginIfUntouched(turn, existing);
      if (existing.isErrored === true) unit.firstFailed ??= existing;
      if (unit.cursor % STRIDE === STRIDE - 1) {
        noteWork(turn);
        checkTurn(turn);
      }
    }
    unit.cursor++;
  }
  releaseCalls(turn.state.runtime, unit);
}

function memberCallOf(turn: Turn, boundary: NodeRecord, group: NodeRecord, call: ExpandedCall) {
  return { ...memberCall(turn, boundary, group, call), parents: [group.id] };
}

/** The node of a call that does not run: skipped, or its `when` was wrong. Undefined when it is to run. */
export function createWithoutRun(
  turn: Turn,
  boundary: NodeRecord,
  owner: NodeRecord,
  call: ExpandedCall,
  links: { parents?: string[]; after?: string[] } = { parents: [owner.id] },
): NodeRecord | undefined {
  const message = call.error ?? call.skip;
  if (message === undefined) return undefined;
  const known = nodeByName(turn, call.name);
  if (known !== undefined) return known;
  const node = addNode(turn, {
    ...identity(turn, { ...memberCall(turn, boundary, owner, call), ...links }, undefined),
    type: "Skipped",
    phase: "Running",
    nodeFlag: {},
  });
  end(turn, node, call.error === undefined ? "Skipped" : "Error", message);
  return node;
}

/** Every node of the group is done. */
export function areMembersDone(turn: Turn, group: NodeRecord): boolean {
  const members = turn.state.runtime.memberCounts.get(group.id) ?? 0;
  return unitOf(turn.state.runtime, group.id).done.size >= members;
}
