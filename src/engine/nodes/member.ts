/**
 * Decides when a step or task is done for its owner: when the step, its hooks that have begun, and its exit handler have
 * ended. Begins the hooks, each at most once.
 */
import type { StepLike } from "../../spec/manifest.ts";
import { findExpandedCall, frameOf, hookArguments, hookCall } from "../scope/call.ts";
import { targetsOf } from "../scope/dag_plan.ts";
import { hookReferences } from "../scope/references.ts";
import { getBoundary, getOwner, nodeByName } from "../tree.ts";
import { isWatching, watch } from "../change.ts";
import { waitAgain } from "../scope/dag_plan.ts";
import { isTrue, mayPassLater } from "../scope/expressions.ts";
import { findHook, hasHooks, hookNames } from "../scope/hook_definitions.ts";
import { hookName } from "../scope/names.ts";
import { LIVE, membersOf, memoryOf } from "../live.ts";
import { noteBrokenHook, noteFailure, wake } from "../runtime.ts";
import { findStep, tolerates } from "../scope/frame_steps.ts";
import { isNext, isShut } from "./gate.ts";
import { openBoundary } from "./group.ts";
import { beginIfUntouched, failToStart, startCall } from "./start.ts";
import { isFailure } from "../failure.ts";
import {
  hasEnded,
  isCompleted,
  isFailedOrError,
  isFulfilled,
  isUntouched,
  type NodeRecord,
} from "../records.ts";
import type { Turn } from "../turn.ts";

/** Looks at a step, task or loop element after a change, and tells its owner when it is done. */
export function lookAtMember(turn: Turn, node: NodeRecord): void {
  if (node.owner === undefined) return;
  const owner = getOwner(turn, node);
  const live = node[LIVE];
  const memory = memoryOf(owner);
  // A daemon is done when it runs. When it ends by itself, its hooks may begin, and it has failed.
  const isLost = node.isLostDaemon === true && !hasEnded(owner);
  if (live.isDone) {
    if (isLost && !live.isLost) live.isLost = true;
    else if (!beginsLateHook(turn, node, owner)) return;
    live.isDone = false;
    memory.doneCount--;
    if (memory.news?.includes(node)) memory.news = memory.news.filter((other) => other !== node);
    else if (memory.dag !== undefined) waitAgain(memory.dag, node.step ?? "");
  }
  // What a copied tree passes on may not be known before its groups begin.
  if (isUntouched(node) || isUntouched(owner) || !isDone(turn, node)) return;
  live.isDone = true;
  memory.doneCount++;
  if (owner.type === "DAG") (memory.news ??= []).push(node);
  live.isLost = isLost;
  // What could not be carried out is the fault of the group, whatever the step tolerates.
  if (isFailedOrError(node) && (isFault(turn, node) || !isTolerated(turn, node))) {
    noteFailure(memory, node);
  }
  wake(turn.state.runtime, owner);
}

/**
 * Looks at the hooks of a step that is done, as long as its group goes on: one that reads other steps may begin. Tells
 * whether one has, for which the group then waits.
 */
function beginsLateHook(turn: Turn, node: NodeRecord, owner: NodeRecord): boolean {
  if (!isWatching(turn, node)) return false;
  if (!hasEnded(owner)) return !isDone(turn, node);
  watch(turn, node, false);
  return false;
}

/** Tells whether a step could not be carried out. Its group ends because of that, and no hook of the step begins any more. */
function isFault(turn: Turn, node: NodeRecord): boolean {
  return node.isErrored === true && getOwner(turn, node).type === "StepGroup";
}

/** Tells whether the step tolerates this failure. */
export function isTolerated(turn: Turn, node: NodeRecord): boolean {
  const step = node.step === undefined || node.boundary === undefined
    ? undefined
    : findStep(frameOf(turn, getBoundary(turn, node)), node.step);
  return tolerates(step, node.phase);
}

function isDone(turn: Turn, node: NodeRecord): boolean {
  const step = stepOf(turn, node);
  if (step === undefined || !hasHooks(step)) return isFulfilled(node);
  if (isPassedOver(turn, node)) return true;
  if (isJustBegun(node)) {
    wake(turn.state.runtime, node);
    return false;
  }
  const areHooksDone = runHooks(turn, node, step);
  if (!areHooksDone || !isFulfilled(node)) return false;
  return isExitDone(turn, node, step);
}

/**
 * Tells whether what a group began first is still to be looked at. All of that may end at once, and then nobody has seen the
 * group run.
 */
function isJustBegun(node: NodeRecord): boolean {
  const { group } = node[LIVE];
  if (group === undefined || group.hasSettled || hasEnded(node)) return false;
  if (isAnyWoken(node)) return true;
  group.hasSettled = true;
  return false;
}

/**
 * Begins the hooks of a loop that goes on. As in the reference they come before its next elements, and before its end: they get
 * a place that has become free.
 */
export function beginLoopHooks(turn: Turn, loop: NodeRecord): void {
  if (!isWatchedByHooks(turn, loop)) return;
  const step = stepOf(turn, loop);
  if (step !== undefined) runHooks(turn, loop, step);
}

/** Tells whether a hook of a loop has its turn for a free place, so that the loop must not end yet. */
export function isHookNext(turn: Turn, loop: NodeRecord): boolean {
  const boundary = getBoundary(turn, loop);
  return isWatchedByHooks(turn, loop) && !isShut(turn, boundary) && isNext(turn, loop, boundary);
}

/** Tells whether hooks may already have looked at a loop. Its first elements begin before them. */
function isWatchedByHooks(turn: Turn, loop: NodeRecord): boolean {
  return memoryOf(loop).hasSettled && frameOf(turn, getBoundary(turn, loop)).hasHooks &&
    membersOf(loop).some((member) => member.role === "member" && !isUntouched(member));
}

function isAnyWoken(node: NodeRecord): boolean {
  return membersOf(node).some((member) => member[LIVE].isQueued || isAnyWoken(member));
}

/** Tells whether a step did not run because of its `when`. Its hooks do not run either. */
function isPassedOver(turn: Turn, node: NodeRecord): boolean {
  return node.type === "Skipped" && node.phase === "Skipped" && node.isImported !== true &&
    getBoundary(turn, node).type === "Steps";
}

function stepOf(turn: Turn, node: NodeRecord): StepLike | undefined {
  if (node.boundary === undefined || node.step === undefined) return undefined;
  const frame = frameOf(turn, getBoundary(turn, node));
  const written = frame.hasHooks ? findStep(frame, node.step) : undefined;
  if (written === undefined || !hasHooks(written)) return written;
  // In a DAG the hooks of a loop belong to the loop as a whole. Its exit handler runs for each element too.
  if (node.role === "loop") return written;
  if (node.index === undefined) return written;
  // A group whose calls can't be worked out ends. Its members have nothing more to do.
  const owner = getOwner(turn, node);
  if (owner.type !== "DAG" && openBoundary(turn, owner) === undefined) return undefined;
  const step = findExpandedCall(turn, node)?.step;
  return step !== undefined && isLoopElementOfDag(turn, node) ? onlyExit(step) : step;
}

function onlyExit(step: StepLike): StepLike {
  const { exit } = step.hooks ?? {};
  return { ...step, hooks: exit === undefined ? {} : { exit } };
}

function isLoopElementOfDag(turn: Turn, node: NodeRecord): boolean {
  return node.owner !== undefined && getOwner(turn, node).type === "TaskGroup";
}

/**
 * Begins the hooks whose condition holds. True when all hooks that have begun have ended. A hook that is a group is looked at
 * before the next hook begins.
 */
function runHooks(turn: Turn, node: NodeRecord, step: StepLike): boolean {
  let areAllEnded = true;
  let isWaiting = false;
  // A step that ends after its group begins no hook.
  const isTooLate = isFault(turn, node) ||
    (isFulfilled(node) && hasEnded(getOwner(turn, node)));
  for (const name of hookNames(step.hooks)) {
    const hook = findHook(turn, step, name);
    if (hook === undefined) continue;
    let hooked = nodeByName(turn, hookName(node.name, name));
    if (hooked === undefined) {
      if (isTooLate) continue;
      const verdict = holds(turn, node, hook.expression ?? "");
      if (verdict === false) {
        isWaiting ||= readsOthers(hook.expression ?? "", node.step ?? "");
        continue;
      }
      hooked = begin(turn, node, name, hook, verdict);
    } else beginIfUntouched(turn, hooked, node.id);
    if (turn.state.runtime.opened.length > 0) return false;
    if (hooked === undefined || !isFulfilled(hooked)) areAllEnded = false;
    if (hooked !== undefined) noteBrokenHook(turn.state.nodes, hooked);
  }
  watch(turn, node, isWaiting);
  return areAllEnded;
}

/** True when the exit handler has ended, or there is none to run. */
function isExitDone(turn: Turn, node: NodeRecord, step: StepLike): boolean {
  const hook = findHook(turn, step, "exit");
  if (hook === undefined || !isCompleted(node.phase)) return true;
  const known = nodeByName(turn, hookName(node.name, "exit"));
  if (known !== undefined) {
    beginIfUntouched(turn, known, node.id);
    noteBrokenHook(turn.state.nodes, known);
    return isFulfilled(known);
  }
  if (turn.state.specs.spec.shutdown === "Terminate" || isFault(turn, node)) return true;
  const { expression = "" } = hook;
  const verdict = expression === "" || holds(turn, node, expression);
  if (verdict === false) return true;
  const boundary = getBoundary(turn, node);
  // A DAG does without an exit handler that is broken, unless its verdict hangs on the task.
  if (verdict !== true && boundary.type === "DAG" && !isTarget(turn, boundary, node)) return true;
  const begun = begin(turn, node, "exit", hook, verdict);
  if (begun !== undefined) noteBrokenHook(turn.state.nodes, begun);
  return begun !== undefined && isFulfilled(begun);
}

function isTarget(turn: Turn, boundary: NodeRecord, { role, step, index }: NodeRecord): boolean {
  return role === "member" && index === undefined &&
    targetsOf(frameOf(turn, boundary)).includes(step ?? "");
}

/** Begins a hook. One that cannot be carried out becomes a node with the error. @param fault what is wrong with it */
function begin(
  turn: Turn,
  node: NodeRecord,
  name: string,
  hook: Parameters<typeof hookCall>[3],
  fault: true | Error,
): NodeRecord | undefined {
  const call = hookCall(turn, node, name, hook);
  if (fault !== true) return failToStart(turn, call, fault.message);
  try {
    return startCall(turn, call, hookArguments(turn, node, hook), node.id);
  } catch (error) {
    if (!isFailure(error)) throw error;
    return failToStart(turn, call, error.message);
  }
}

/**
 * Decides a condition from what is known now. While the step goes on, names that do not exist yet make it false. An error
 * is the answer for one that can't be decided.
 */
function holds(turn: Turn, node: NodeRecord, expression: string): boolean | Error {
  if (expression === "") return false;
  const boundary = getBoundary(turn, node);
  const { scope } = hookReferences(turn, boundary, frameOf(turn, boundary), node);
  try {
    return isTrue(expression, scope, turn.env);
  } catch (error) {
    if (!isFailure(error)) throw error;
    const isOpen = !isCompleted(node.phase) || readsOthers(expression, node.step ?? "");
    return isOpen && mayPassLater(error) ? false : error;
  }
}

/** Tells whether an expression reads other steps. */
function readsOthers(expression: string, step: string): boolean {
  for (
    const [, dotted, quoted] of expression.matchAll(
      /(?:steps|tasks)(?:\.([-\w]+)|\[['"]([^'"]+)['"]\])/g,
    )
  ) {
    if ((dotted ?? quoted) !== step) return true;
  }
  return false;
}
