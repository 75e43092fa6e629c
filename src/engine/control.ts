/**
 * What users ask. Each request makes the change to the object that the API promises, or is refused with nothing changed;
 * what follows from it is `advance`'s business.
 */
import { invalid, notFound, Problem, ProblemCode } from "../base/problem.ts";
import type { NodePhase, Outputs } from "../spec/manifest.ts";
import { change, end, markHeader } from "./change.ts";
import type { ControlRequest, User } from "./command.ts";
import type { EngineEnv } from "./engine.ts";
import {
  beginEvaluation,
  type FieldTerm,
  matchesNode,
  parseNodeFieldSelector,
} from "./expressions.ts";
import { NodeFailure } from "./failure.ts";
import { publishGlobals } from "./global_outputs.ts";
import { retryWorkflow } from "./manual_retry.ts";
import { wake } from "./runtime.ts";
import {
  isCompleted,
  type NodeRecord,
  type Turn,
  workflowName,
  workflowNamespace,
  type WorkflowState,
} from "./state.ts";
import { resumeNode, withDefaults } from "./suspend.ts";

/**
 * Carries out a request.
 * @throws {Problem} InvalidArgument, FailedPrecondition or NotFound; nothing has changed then
 */
export function control(state: WorkflowState, request: ControlRequest, env: EngineEnv): void {
  const turn: Turn = { state, env };
  beginEvaluation(env);
  carryOut(turn, request);
  state.runtime.seenRevision = state.runtime.revision;
}

function carryOut(turn: Turn, request: ControlRequest): void {
  switch (request.type) {
    case "suspend":
      return suspend(turn);
    case "resume":
      return resume(turn, request);
    case "stop":
      if ((request.nodeFieldSelector ?? "") === "") return shutDown(turn, "Stop", request.message);
      return stopNodes(turn, request.nodeFieldSelector ?? "", request.message);
    case "terminate":
      return shutDown(turn, "Terminate");
    case "set":
      return set(turn, request);
    case "retry":
      return retryWorkflow(turn, request);
  }
}

function isOver(turn: Turn): boolean {
  const { header } = turn.state;
  return header.metadata.labels?.[`${turn.env.labelPrefix}completed`] === "true" ||
    isCompleted(header.phase);
}

function suspend(turn: Turn): void {
  if (isOver(turn)) throw conflict("cannot suspend completed workflows");
  const { specs, pending } = turn.state;
  if (specs.spec.suspend === true) return;
  specs.spec = { ...specs.spec, suspend: true };
  pending.specs = true;
}

function shutDown(turn: Turn, strategy: "Stop" | "Terminate", message = ""): void {
  const { state } = turn;
  if (isOver(turn)) {
    throw conflict(
      `cannot shutdown a completed workflow: workflow: ${
        JSON.stringify(workflowName(state))
      }, namespace: ${JSON.stringify(workflowNamespace(state))}`,
    );
  }
  state.specs.spec = { ...state.specs.spec, shutdown: strategy };
  state.pending.specs = true;
  if (message === "" && state.header.stopMessage === undefined) return;
  if (message === "") delete state.header.stopMessage;
  else state.header.stopMessage = message;
  markHeader(turn);
}

function resume(turn: Turn, request: Extract<ControlRequest, { type: "resume" }>): void {
  const { state } = turn;
  const { nodeFieldSelector: selector, user, onlyWorkflow } = request;
  if ((selector ?? "") !== "") {
    const nodes = selected(turn, selector ?? "");
    checkDefaults(nodes, true);
    const options = { isByUser: true, isSelected: true };
    for (const node of nodes) resumeNode(turn, node, resumedBy(user) ?? node.message, options);
    return;
  }
  const nodes = onlyWorkflow === true ? [] : waitingNodes(turn);
  checkDefaults(nodes);
  if (state.specs.spec.suspend !== undefined) {
    const { suspend: _suspend, ...spec } = state.specs.spec;
    state.specs.spec = spec;
    state.pending.specs = true;
    // Work that was held back is looked at again.
    for (const [id] of state.nodes) wake(state.runtime, id);
  }
  for (const node of nodes) {
    const text = resumedBy(user);
    // Intentionally also without a user: clients know the text with its trailing separator.
    const message = node.message === undefined ? text : `${node.message}; ${text ?? ""}`;
    resumeNode(turn, node, message, { isByUser: true });
  }
}

/** Refuses before anything is changed when an open output has no default. */
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

/** `Resumed by: NAME (EMAIL)`; undefined when nobody is known. */
function resumedBy(user: User | undefined): string | undefined {
  const { email, preferredUsername, subject } = user ?? {};
  const [name, ...more] = [preferredUsername, subject, email]
    .filter((one) => one !== undefined && one !== "");
  if (name === undefined) return undefined;
  const isMail = email !== undefined && more.includes(email);
  return `Resumed by: ${name}${isMail ? ` (${email})` : ""}`;
}

function stopNodes(turn: Turn, selector: string, message: string | undefined): void {
  for (const node of selected(turn, selector)) end(turn, node, "Failed", message ?? node.message);
}

/** Phases that a waiting step can be given. */
const SETTABLE: ReadonlySet<string> = new Set(["Succeeded", "Failed", "Error", "Skipped"]);

function set(turn: Turn, request: Extract<ControlRequest, { type: "set" }>): void {
  const { nodeFieldSelector = "", phase = "", message = "", outputParameters = "", user } = request;
  if (nodeFieldSelector === "") {
    throw invalid(
      "say which waiting suspend steps are to be set: nodeFieldSelector is empty",
    );
  }
  if (phase !== "" && !SETTABLE.has(phase)) {
    throw invalid(`${phase} is an invalid phase to set to`);
  }
  const values = parseOutputs(outputParameters);
  const nodes = selected(turn, nodeFieldSelector);
  if (phase === "" && message === "" && values.size === 0) throw noMatch(nodeFieldSelector);
  const outputs = nodes.map((node) => values.size === 0 ? node.outputs : setOutputs(node, values));
  for (const [index, node] of nodes.entries()) {
    const own = outputs[index];
    if (values.size > 0 && own !== undefined) {
      change(turn, node, { outputs: own });
      publishGlobals(turn, node, own);
    }
    const text = textAfterSet(node.message, message, phase, user);
    if (phase !== "") end(turn, node, phase as NodePhase, text, { isByUser: true });
    else if (text !== node.message) change(turn, node, { message: text });
  }
}

function textAfterSet(
  before: string | undefined,
  message: string,
  phase: string,
  user: User | undefined,
): string | undefined {
  if (message !== "") return before === undefined ? message : `${before}; ${message}`;
  const resumed = phase === "Succeeded" ? resumedBy(user) : undefined;
  return resumed ?? before;
}

function parseOutputs(text: string): Map<string, string> {
  if (text === "") return new Map();
  const refuse = (reason: string) =>
    invalid(`unable to parse output parameter set request: ${reason}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refuse("expected an object of strings");
  }
  return new Map(
    Object.entries(value).map(([name, one]) => {
      if (typeof one !== "string") throw refuse(`value of '${name}' is not a string`);
      return [name, one];
    }),
  );
}

function setOutputs(node: NodeRecord, values: ReadonlyMap<string, string>): Outputs {
  const parameters = node.outputs?.parameters ?? [];
  if (node.outputs === undefined) {
    throw conflict("cannot set output parameters because node is not expecting any raw parameters");
  }
  for (const name of values.keys()) {
    const parameter = parameters.find((one) => one.name === name);
    if (parameter === undefined) throw conflict(`node is not expecting output parameter '${name}'`);
    if (parameter.valueFrom?.supplied === undefined) {
      throw conflict(
        `cannot set output parameter '${name}' because it does not use valueFrom.raw or it was already set`,
      );
    }
  }
  return {
    ...node.outputs,
    parameters: parameters.map((parameter) => {
      const value = values.get(parameter.name);
      if (value === undefined) return parameter;
      const { valueFrom: _valueFrom, ...rest } = parameter;
      return { ...rest, value };
    }),
  };
}

/** Suspend nodes that wait. */
function waitingNodes(turn: Turn): NodeRecord[] {
  const { runtime, nodes } = turn.state;
  return [...runtime.active].map((id) => nodes.get(id)).filter((node) => node !== undefined)
    .filter((node) => node.type === "Suspend" && node.phase === "Running")
    .sort((a, b) => a.order - b.order);
}

/** Waiting nodes that a selector matches; at least one. @throws {Problem} */
function selected(turn: Turn, selector: string): NodeRecord[] {
  const terms: readonly FieldTerm[] = parseNodeFieldSelector(selector);
  const nodes = waitingNodes(turn).filter((node) => matchesNode(terms, node));
  if (nodes.length === 0) throw noMatch(selector);
  return nodes;
}

function noMatch(selector: string): Problem {
  return notFound(
    `no suspend nodes matching nodeFieldSelector: ${selector}`,
  );
}

function conflict(message: string): Problem {
  return new Problem(ProblemCode.FailedPrecondition, message);
}
