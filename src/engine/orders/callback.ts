/**
 * Callbacks: another system ends the wait of one step, or makes its timeout begin anew. The first use counts for each attempt
 * of the wait. It may come before the step waits; then the header keeps it.
 */
import { defined } from "../../base/defined.ts";
import { invalid, Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import { callbackOutputs, type CallbackVerb } from "../../spec/callback.ts";
import { isLoop } from "../../spec/loops.ts";
import type { Parameter, Template } from "../../spec/manifest.ts";
import { markHeader } from "../change.ts";
import type { EngineEnv } from "../engine.ts";
import { isFailure, ManifestNeeded } from "../failure.ts";
import { endByCallback } from "../nodes/callback.ts";
import { limitWait } from "../nodes/suspend.ts";
import { type CallbackNote, hasEnded, isCompleted, type NodeRecord } from "../records.ts";
import { latestAttempt } from "../scope/attempts.ts";
import { frameOf, workOf } from "../scope/call.ts";
import { beginEvaluation } from "../scope/expressions.ts";
import { findStep, placeOf } from "../scope/frame_steps.ts";
import { resolveTemplate } from "../scope/templates.ts";
import type { WorkflowState } from "../state.ts";
import { nodeByName } from "../tree.ts";
import type { Turn } from "../turn.ts";
import { nodesToEnd } from "./orders.ts";

/** One use of a callback. Its token was checked. */
export interface CallbackUse {
  /** Uid of the workflow for which the token was made. */
  uid: string;
  /** Full name of the node that waits, or will wait; without the number of an attempt. */
  node: string;
  verb: CallbackVerb;
  /** Identifies verb and body: a repeat has the same. */
  digest: string;
  /** Of a resume. */
  outputs?: Record<string, string>;
  /** Of a stop. */
  message?: string;
}

/** Most callbacks that one workflow keeps for steps that do not wait yet, and most characters of them. */
const MAX_EARLY = 1_000;
const MAX_EARLY_CHARACTERS = 2 ** 18;

/**
 * Carries out a callback; a repeat changes nothing.
 * @returns whether it is a repeat
 * @throws {Problem} and has changed nothing: InvalidArgument when the outputs do not fit; status 409 when the step has ended
 * otherwise; 410 when workflow or step are gone for good; Unavailable while it can't be taken
 */
export function useCallback(state: WorkflowState, use: CallbackUse, env: EngineEnv): boolean {
  if (state.header.metadata.uid !== use.uid) throw goneWith("the workflow is gone");
  if (state.retrying !== undefined) {
    throw unavailable("the workflow is being made ready for a retry; try again");
  }
  const turn: Turn = { state, env, budget: undefined };
  beginEvaluation(env);
  let isRepeat: boolean;
  try {
    isRepeat = carryOut(turn, use);
  } catch (error) {
    if (error instanceof ManifestNeeded) {
      throw unavailable(`the template of ${use.node} is not loaded; try again`);
    }
    if (!(error instanceof Problem) && isFailure(error)) throw conflictWith(use, error.message);
    throw error;
  }
  state.runtime.seenRevision = state.runtime.revision;
  return isRepeat;
}

/** @returns whether it was carried out before */
function carryOut(turn: Turn, use: CallbackUse): boolean {
  const { state } = turn;
  const outer = nodeByName(turn, use.node);
  const node = outer?.type === "Retry" ? latestAttempt(outer) : outer;
  const isOver = isCompleted(state.header.phase);
  if (node !== undefined && isWaiting(state, node)) {
    applyNow(turn, use, node);
    return false;
  }
  // A use that differs is for the next attempt, if there will be one.
  const isLast = outer === node || (outer !== undefined && hasEnded(outer));
  if (node?.callback !== undefined && (isLast || node.callback.digest === use.digest)) {
    answerAgain(use, node.callback, isOver);
    return true;
  }
  if (outer !== undefined && hasEnded(outer)) {
    const { phase, message } = node ?? outer;
    const how = `the step has ended: ${phase}${message === undefined ? "" : `: ${message}`}`;
    throw isOver ? goneWith(how) : conflictWith(use, how);
  }
  const early = state.header.earlyCallbacks ?? {};
  if (Object.hasOwn(early, use.node)) {
    answerAgain(use, early[use.node], isOver);
    return true;
  }
  if (isOver) throw goneWith("the workflow is over");
  keep(turn, use);
  return false;
}

function isWaiting(state: WorkflowState, node: NodeRecord): boolean {
  return node.type === "Suspend" && node.phase === "Running" && !nodesToEnd(state).has(node.id);
}

function applyNow(turn: Turn, use: CallbackUse, node: NodeRecord): void {
  const { template } = workOf(turn, node);
  const { verb, digest, outputs, message } = use;
  if (verb === "heartbeat") return limitWait(turn, node, template);
  if (verb === "resume") {
    const taken = template.suspend?.callback?.outputs;
    const open = (node.outputs?.parameters ?? []).filter(isOpen);
    const names = open.map(({ name }) => name).filter((name) => taken?.includes(name) ?? true);
    checkOutputs(names, outputs);
    const inputs = node.inputs?.parameters ?? [];
    checkComplete(open, outputs, (name) => inputs.find((one) => one.name === name)?.value);
  }
  endByCallback(turn, node, { verb, digest, ...defined({ outputs, message }) });
}

/** The answer when a callback was taken before. @throws {Problem} unless this is a repeat */
function answerAgain(use: CallbackUse, before: CallbackNote | undefined, isOver: boolean): void {
  if (before === undefined || use.digest === before.digest) return;
  const done = before.verb === "stop" ? "stopped" : "resumed";
  const how = `another callback has ${done} the step`;
  throw isOver ? goneWith(how) : conflictWith(use, how);
}

/** Keeps a callback until its step waits. A heartbeat has nothing to extend yet. */
function keep(turn: Turn, use: CallbackUse): void {
  const template = declared(turn, use);
  const { verb, digest, outputs, message, node } = use;
  if (verb === "heartbeat") return;
  if (verb === "resume") {
    checkOutputs(callbackOutputs(template), outputs);
    const inputs = template.inputs?.parameters ?? [];
    const open = (template.outputs?.parameters ?? []).filter(isOpen);
    // What an input of the same name will hold is not known yet.
    checkComplete(open, outputs, (name) => inputs.find((one) => one.name === name)?.name);
  }
  const { header } = turn.state;
  const early = {
    ...header.earlyCallbacks,
    [node]: { verb, digest, ...defined({ outputs, message }) },
  };
  const isTooMuch = Object.keys(early).length > MAX_EARLY ||
    JSON.stringify(early).length > MAX_EARLY_CHARACTERS;
  if (isTooMuch) {
    throw unavailable(
      "too many callbacks of this workflow came before their steps wait; try again",
    );
  }
  header.earlyCallbacks = early;
  markHeader(turn);
}

/** The template of a step that has no node yet. @throws {Problem} when no step will have this name */
function declared(turn: Turn, use: CallbackUse): Template {
  const at = /^(.*?)(?:\[\d+\])?\.([^.[\]]+)$/s.exec(use.node);
  const boundary = at === null ? undefined : nodeByName(turn, at[1] ?? "");
  const name = at?.[2] ?? "";
  if (boundary === undefined || (boundary.type !== "Steps" && boundary.type !== "DAG")) {
    throw conflictWith(use, "no such step is on its way");
  }
  if (hasEnded(boundary)) throw conflictWith(use, `${boundary.name} has ended`);
  const frame = frameOf(turn, boundary);
  const step = findStep(frame, name);
  if (
    step === undefined || isLoop(step) || `${placeOf(boundary, frame, name)}.${name}` !== use.node
  ) {
    throw conflictWith(use, "no such step is on its way");
  }
  const { template } = resolveTemplate(turn, step, frame.context);
  if (template.suspend?.callback === undefined) {
    throw conflictWith(use, "its template has no suspend.callback");
  }
  return template;
}

function isOpen({ valueFrom }: Parameter): boolean {
  return valueFrom?.supplied !== undefined;
}

function checkOutputs(names: readonly string[], outputs: CallbackUse["outputs"] = {}): void {
  for (const name of Object.keys(outputs)) {
    if (names.includes(name)) continue;
    const takes = names.length === 0 ? "takes no outputs" : `takes ${names.join(", ")}`;
    throw invalid(`outputs.${name}: the step ${takes}`);
  }
}

/** @param inputOf an output without a value may stay open when this is not undefined */
function checkComplete(
  open: readonly Parameter[],
  outputs: CallbackUse["outputs"] = {},
  inputOf: (name: string) => unknown,
): void {
  for (const { name, valueFrom } of open) {
    if (Object.hasOwn(outputs, name) || valueFrom?.default !== undefined) continue;
    if (inputOf(name) !== undefined) continue;
    throw invalid(`outputs.${name}: a value is needed, since the output has no default`);
  }
}

function conflictWith({ node }: CallbackUse, how: string): Problem {
  return new Problem(ProblemCode.Aborted, `the callback for ${node} can't be taken: ${how}`);
}

/** The callback can never be taken. */
export function goneWith(how: string): Problem {
  return new Problem(ProblemCode.FailedPrecondition, `the callback is over: ${how}`, {
    status: 410,
  });
}
