/**
 * Begins a call: finds the template, resolves the inputs, passes the gate, and creates the node. From then on the node
 * looks after itself. A call that cannot begin becomes a node with the error.
 */
import { defined } from "../../base/defined.ts";
import type { Inputs, NodeType } from "../../spec/manifest.ts";
import { hasResult } from "../../spec/template_type.ts";
import { MAX_DEPTH } from "../../spec/validation/foreseen_nodes.ts";
import { addNode, askForLocks, change, holderOf } from "../change.ts";
import type { LockKey } from "../effect.ts";
import { isFailure, NodeFailure } from "../failure.ts";
import { lockKeys } from "../locks/keys.ts";
import { boundaryOf, membersOf } from "../live.ts";
import { isExecutable, isUntouched, type NodeRecord } from "../records.ts";
import {
  argumentsOf,
  type Call,
  callOf,
  fillWork,
  findWork,
  type Work,
  workOf,
  type WrittenWork,
} from "../scope/call.ts";
import { hasPlace, wake } from "../runtime.ts";
import type { GivenArguments } from "../scope/arguments.ts";
import { beginEvaluation } from "../scope/expressions.ts";
import { mayHoldTag } from "../scope/expressions.ts";
import { fillFor } from "../scope/fill.ts";
import { resolveInputs } from "../scope/inputs.ts";
import { nodeByName } from "../tree.ts";
import type { Turn } from "../turn.ts";
import { checkTurn } from "../turn_budget.ts";
import { begin } from "./begin.ts";
import { timeoutMs } from "./duration.ts";
import { failNode } from "./fail_node.ts";
import { type Asker, isGateOpen, isPlaceFree } from "./gate.ts";
import { findMemo, type MemoLookup, missOf } from "./memo.ts";
import { getBodyType, newNode, retryStrategyOf } from "./new_node.ts";
import { isResultWanted } from "./wanted_result.ts";

/**
 * Begins a call whose node does not exist. A call that cannot begin leaves a node in phase Error.
 * @returns undefined when the gate is closed; `waiter` is then looked at again when it opens
 */
export function startCall(
  turn: Turn,
  call: Call,
  given: GivenArguments,
  waiter: string,
): NodeRecord | undefined {
  checkTurn(turn);
  beginEvaluation(turn.env);
  try {
    checkDepth(turn, call);
    const found = findWork(turn, call);
    const inputs = resolveInputs(turn, found.written, given, found.variables);
    const { boundary, isExit } = call;
    if (!isGateOpen(turn, boundary, { waiter, isExit })) return undefined;
    return startWork(turn, found, inputs);
  } catch (error) {
    if (!isFailure(error)) throw error;
    return failToStart(turn, call, error.message);
  }
}

function checkDepth(turn: Turn, call: Call): void {
  let depth = 0;
  for (let at = call.boundary; at !== undefined; at = boundaryOf(turn.state.nodes, at)) depth++;
  if (depth < MAX_DEPTH) return;
  throw new NodeFailure(
    `Maximum recursion depth exceeded: templates call each other more than ${MAX_DEPTH} levels deep`,
  );
}

/** Creates the node of a call, and begins it unless it must wait for locks. */
function startWork(turn: Turn, found: WrittenWork, inputs: Inputs): NodeRecord {
  const work = fillWork(turn, found, inputs);
  const { template } = work;
  const type = typeOf(turn, work);
  const keys = lockKeys(turn, template.synchronization);
  // Before the node exists: a cache that is not loaded yet must leave nothing behind.
  const memo = memoFor(turn, work);
  const node = newNode(turn, work.call, type, "Pending", template);
  giveInputs(node, inputs);
  addNode(turn, node);
  if (keys.length === 0) begin(turn, node, work, memo);
  else waitForLocks(turn, node, work, keys);
  return node;
}

/** What stands in for the work. Outputs without the result that is wanted, which nobody wanted before, do not: it is made anew. */
function memoFor(turn: Turn, work: Work): MemoLookup | undefined {
  const { call, template } = work;
  const memo = findMemo(turn, template);
  if (memo?.outputs === undefined || memo.outputs.result !== undefined) return memo;
  const isUnusable = getBodyType(work) === "Pod" && hasResult(template) &&
    isResultWanted(turn, call.boundary, call.step, call.flag);
  return isUnusable ? missOf(template) : memo;
}

function waitForLocks(turn: Turn, node: NodeRecord, work: Work, keys: LockKey[]): void {
  const { timeout = "" } = work.template;
  // That of a suspend step is about the call that it waits for.
  const isTimed = timeout !== "" && getBodyType(work) !== "Suspend";
  const until = isTimed ? turn.env.now + timeoutMs(timeout) : undefined;
  change(turn, node, {
    lock: { isHeld: false, keys, ...defined({ until }) },
    synchronizationStatus: { waiting: keys[0]?.key ?? "" },
  });
  askForLocks(turn, holderOf(turn, node), keys);
}

/** The type of a node that runs a template, with retries if it asks for them. @throws {NodeFailure} */
function typeOf(turn: Turn, work: Work): NodeType {
  return retryStrategyOf(turn, work.template) === undefined ? getBodyType(work) : "Retry";
}

function giveInputs(node: NodeRecord, inputs: Inputs): void {
  if (Object.keys(inputs).length > 0) node.inputs = inputs;
  if (isExecutable(node.type)) node.progress = "0/1";
}

/** Makes a node for a call that cannot begin, with the reason. */
export function failToStart(turn: Turn, call: Call, message: string): NodeRecord {
  const node = nodeByName(turn, call.name) ??
    addNode(turn, newNode(turn, call, "Skipped", "Running"));
  failNode(turn, node, message);
  return node;
}

/** Starts an attempt of a retry node. */
export function startAttempt(
  turn: Turn,
  { inputs: given = {} }: NodeRecord,
  call: Call,
  deadline: number | undefined,
): void {
  const found = findWork(turn, call);
  const { written, variables } = found;
  // Tags that each attempt has a value of its own for, such as `retries`.
  const inputs = mayHoldTag(given) ? fillFor(turn, given, written, given, variables) : given;
  const work = fillWork(turn, found, inputs);
  const type = getBodyType(work);
  const node = newNode(turn, call, type, "Pending", work.template);
  giveInputs(node, inputs);
  if (deadline !== undefined) node.deadline = deadline;
  addNode(turn, node);
  begin(turn, node, work, missOf(work.template));
}

/** Begins a node that holds its locks, as soon as there is a place for it. */
export function beginLocked(turn: Turn, node: NodeRecord): void {
  const isReady = node.lock?.isHeld === true && node.phase === "Pending" &&
    node.synchronizationStatus?.waiting !== undefined;
  if (!isReady || (!hasPlace(node) && !isPlaceFree(turn, { waiter: node.id }))) return;
  try {
    const work = workOf(turn, node);
    const memo = memoFor(turn, work);
    change(turn, node, {
      lock: { isHeld: true, keys: node.lock?.keys ?? [] },
      synchronizationStatus: undefined,
      message: undefined,
      // Each attempt has a timeout of its own.
      ...(node.type === "Retry" ? { dueAt: undefined } : {}),
    });
    begin(turn, node, work, memo);
  } catch (error) {
    if (!isFailure(error)) throw error;
    failNode(turn, node, error.message);
  }
}

/**
 * Begins a node of a copied tree, unless it has begun.
 * @returns false when the gate is closed; `waiter` is then looked at again when it opens
 */
export function beginIfUntouched(turn: Turn, node: NodeRecord, waiter: string): boolean {
  if (!isUntouched(node)) return true;
  const { runtime, nodes } = turn.state;
  // These run no template, and take no place.
  const isPlain = node.type === "StepGroup" || node.type === "TaskGroup";
  if (isPlain) change(turn, node, { phase: "Running", startedAt: turn.env.now });
  else {
    const counted = node.role === "attempt" ? "activePods" : "activeChildren";
    const asker: Asker = { waiter, counted, isExit: node.isExit };
    if (!isGateOpen(turn, boundaryOf(nodes, node), asker)) return false;
    beginCopied(turn, node);
  }
  for (const member of membersOf(node)) wake(runtime, member);
  return true;
}

function beginCopied(turn: Turn, node: NodeRecord): void {
  try {
    const found = findWork(turn, callOf(turn, node));
    const given = argumentsOf(turn, node);
    const inputs = resolveInputs(turn, found.written, given, found.variables);
    const work = fillWork(turn, found, inputs);
    const keys = node.role === "attempt" ? [] : lockKeys(turn, work.template.synchronization);
    const memo = memoFor(turn, work);
    // What did not run before may run now. The retry node of an attempt is the one around it.
    const made = node.role === "attempt" ? getBodyType(work) : typeOf(turn, work);
    const type = node.type === "Skipped" ? made : node.type;
    change(turn, node, {
      type,
      inputs: Object.keys(inputs).length === 0 ? undefined : inputs,
      ...(isExecutable(type) ? { progress: node.progress ?? "0/1" } : {}),
      ...(work.call.isExit ? { isExit: true } : {}),
    });
    if (keys.length === 0) begin(turn, node, work, memo);
    else waitForLocks(turn, node, work, keys);
  } catch (error) {
    if (!isFailure(error)) throw error;
    failNode(turn, node, error.message);
  }
}
