/**
 * Carries out what users ask. The statechart says whether a workflow takes a request now, and which state follows. A request
 * makes the change to the object that the API promises, or is refused and changes nothing; `advance` does what follows.
 */
import { invalid, notFound, Problem, ProblemCode } from "../../base/problem.ts";
import { runToEnd } from "../../base/steps.ts";
import { markHeader } from "../change.ts";
import type { ControlRequest } from "../command.ts";
import type { EngineEnv } from "../engine.ts";
import {
  beginEvaluation,
  matchesNode,
  NODE_FIELD_NAMES,
  type NodeTerm,
  parseNodeFieldSelector,
  unknownNodeField,
} from "../scope/expressions.ts";
import { NodeFailure } from "../failure.ts";
import { type PreparedRetry, prepareRetry, retryWorkflow } from "./manual_retry.ts";
import { enter, stateAfter } from "../life/life.ts";
import { applyTo, nodesToEnd, parseOutputs } from "./orders.ts";
import { wakeOpen } from "../runtime.ts";
import type { WorkflowState } from "../state.ts";
import { byOrder, isFulfilled, type NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { conflict, setOutputs, withDefaults } from "../nodes/suspend.ts";

/**
 * Carries out a request.
 * @param prepared What a retry does, if that is known.
 * @throws {Problem} InvalidArgument, FailedPrecondition, NotFound or Aborted. Nothing has changed then.
 */
export function control(
  state: WorkflowState,
  request: ControlRequest,
  env: EngineEnv,
  prepared?: PreparedRetry,
): void {
  const life = stateAfter(state, request, env);
  const turn: Turn = { state, env, budget: undefined };
  beginEvaluation(env);
  carryOut(turn, request, prepared);
  enter(state, life, request.type);
  state.runtime.seenRevision = state.runtime.revision;
}

function carryOut(turn: Turn, request: ControlRequest, prepared?: PreparedRetry): void {
  switch (request.type) {
    case "suspend":
      return suspend(turn);
    case "resume":
      return resume(turn, request);
    case "stop": {
      const { nodeFieldSelector = "", message } = request;
      if (nodeFieldSelector === "") return shutDown(turn, "Stop", message);
      return applyTo(turn, request, selected(turn, nodeFieldSelector));
    }
    case "terminate":
      return shutDown(turn, "Terminate");
    case "set":
      return set(turn, request);
    case "retry":
      return retryWorkflow(turn, prepared ?? runToEnd(prepareRetry(turn.state, request)));
  }
}

function suspend({ state: { specs, pending } }: Turn): void {
  if (specs.spec.suspend === true) return;
  specs.spec = { ...specs.spec, suspend: true };
  pending.specs = true;
}

function shutDown(turn: Turn, strategy: "Stop" | "Terminate", message = ""): void {
  const { state } = turn;
  state.specs.spec = { ...state.specs.spec, shutdown: strategy };
  state.pending.specs = true;
  wakeOpen(state.runtime, state.nodes);
  if (message === "" && state.header.stopMessage === undefined) return;
  if (message === "") delete state.header.stopMessage;
  else state.header.stopMessage = message;
  markHeader(turn);
}

function resume(turn: Turn, request: Extract<ControlRequest, { type: "resume" }>): void {
  const { state } = turn;
  const { nodeFieldSelector = "", onlyWorkflow } = request;
  if (nodeFieldSelector !== "") {
    const nodes = selected(turn, nodeFieldSelector);
    checkDefaults(nodes, true);
    applyTo(turn, request, nodes);
    return;
  }
  const nodes = onlyWorkflow === true ? [] : waitingNodes(turn);
  checkDefaults(nodes);
  if (state.specs.spec.suspend !== undefined) {
    const { suspend: _suspend, ...spec } = state.specs.spec;
    state.specs.spec = spec;
    state.pending.specs = true;
    // Work that was held back is looked at again.
    wakeOpen(state.runtime, state.nodes);
  }
  applyTo(turn, request, nodes);
}

/** Refuses, before anything has changed, when an open output has no default. */
function checkDefaults(nodes: readonly NodeRecord[], isSelected = false): void {
  for (const node of nodes) {
    try {
      withDefaults(node, isSelected);
    } catch (error) {
      if (error instanceof NodeFailure) {
        throw conflict(`step ${node.displayName}: ${error.message}`);
      }
      throw error;
    }
  }
}

/** Phases that users can give to a waiting step. */
const SETTABLE: ReadonlySet<string> = new Set(["Succeeded", "Failed", "Error", "Skipped"]);

function set(turn: Turn, request: Extract<ControlRequest, { type: "set" }>): void {
  const { nodeFieldSelector = "", phase = "", message = "", outputParameters = "" } = request;
  // What is to be set is checked first, as in the reference: its faults are told also without a selector.
  if (phase !== "" && !SETTABLE.has(phase)) {
    throw invalid(`${phase} is an invalid phase to set to`);
  }
  const values = parseOutputs(outputParameters);
  if (nodeFieldSelector === "") {
    throw invalid(
      "say which waiting suspend steps are to be set: nodeFieldSelector is empty",
    );
  }
  const nodes = selected(turn, nodeFieldSelector);
  if (phase === "" && message === "" && values.size === 0) {
    // The words of the reference, and what they mean here.
    const text = noMatch(nodeFieldSelector).message;
    throw invalid(`${text}; nothing is to be set: give a phase, a message or outputParameters`);
  }
  // Refuses before anything has changed.
  if (values.size > 0) { for (const node of nodes) setOutputs(node, values); }
  applyTo(turn, request, nodes);
}

/** Suspend nodes that wait and that no request is about to end. */
function waitingNodes(turn: Turn): NodeRecord[] {
  const { runtime, nodes } = turn.state;
  const ending = nodesToEnd(turn.state);
  const waiting: NodeRecord[] = [];
  for (const id of runtime.active) {
    const node = nodes.get(id);
    if (node?.type === "Suspend" && node.phase === "Running" && !ending.has(id)) waiting.push(node);
  }
  return waiting.sort(byOrder);
}

/**
 * Waiting nodes that a selector matches, at least one.
 * @throws {Problem} NotFound when there is none, Aborted when one has waited: whoever repeats a request whose answer was lost
 * can tell that from a request that came too early
 */
function selected(turn: Turn, selector: string): NodeRecord[] {
  const terms: readonly NodeTerm[] = parseNodeFieldSelector(selector);
  const nodes = waitingNodes(turn).filter((node) => matchesNode(terms, node));
  if (nodes.length > 0) return nodes;
  const refusal = noMatch(selector, terms);
  const ended = endedMatch(turn, terms);
  if (ended === undefined) throw refusal;
  const text = `${refusal.message}; ${ended.displayName} has ended already: ${ended.phase}`;
  throw new Problem(ProblemCode.Aborted, text);
}

/** Ended suspend nodes at which a request that matches no waiting one looks. */
const MAX_ENDED = 10_000;

/** The first suspend node that has ended and that a selector matches. */
function endedMatch({ state }: Turn, terms: readonly NodeTerm[]): NodeRecord | undefined {
  let looked = 0;
  for (const node of state.nodes.values()) {
    if (node.type !== "Suspend" || !isFulfilled(node)) continue;
    if (matchesNode(terms, node)) return node;
    if (++looked === MAX_ENDED) return undefined;
  }
  return undefined;
}

function noMatch(selector: string, terms: readonly NodeTerm[] = []): Problem {
  const unknown = unknownNodeField(terms);
  const hint = unknown === undefined
    ? ""
    : `; no node has a field '${unknown}': the fields are ${NODE_FIELD_NAMES}`;
  return notFound(`no suspend nodes matching nodeFieldSelector: ${selector}${hint}`);
}
