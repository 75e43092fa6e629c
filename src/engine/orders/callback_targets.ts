/** For which steps users can get callback URLs: those that wait, and those that will. */
import { invalid, notFound } from "../../base/problem.ts";
import { STEP_SIZE, type Steps } from "../../base/steps.ts";
import { callbackExpiresMs, MAX_CALLBACK_NAME } from "../../spec/callback.ts";
import { isLoop } from "../../spec/loops.ts";
import type { SuspendCallback } from "../../spec/manifest.ts";
import type { EngineEnv } from "../engine.ts";
import { isFailure, ManifestNeeded } from "../failure.ts";
import { ownerOf } from "../live.ts";
import { hasEnded, type NodeRecord } from "../records.ts";
import { frameOf } from "../scope/call.ts";
import { beginEvaluation, matchesNode, parseNodeFieldSelector } from "../scope/expressions.ts";
import { placeOf } from "../scope/frame_steps.ts";
import { nodeId } from "../scope/names.ts";
import { resolveTemplate } from "../scope/templates.ts";
import { workflowName, type WorkflowState } from "../state.ts";
import { nodeByName } from "../tree.ts";
import type { Turn } from "../turn.ts";

/** A step that waits or will wait. */
export interface CallbackStep {
  /** Full name of its node; without the number of an attempt. */
  name: string;
  displayName: string;
  /** What its template says about callbacks. */
  callback: SuspendCallback;
}

/** Most steps that one request may be about. */
const MAX_STEPS = 100;

/**
 * The steps that a selector chooses: suspend nodes that wait; if there are none, steps that have not begun to wait and whose
 * template has a callback. Changes nothing.
 * @throws {Problem} InvalidArgument, or NotFound when there is none
 */
export function* callbackSteps(
  state: WorkflowState,
  selector: string,
  env: EngineEnv,
): Steps<CallbackStep[]> {
  if (selector === "") throw invalid("say which steps: nodeFieldSelector is empty");
  const terms = parseNodeFieldSelector(selector);
  beginEvaluation(env);
  const turn: Turn = { state, env, budget: undefined };
  const waiting: CallbackStep[] = [];
  const coming: CallbackStep[] = [];
  let looked = 0;
  for (const node of state.nodes.values()) {
    if (++looked % STEP_SIZE === 0) yield;
    if (hasEnded(node)) continue;
    if (node.type === "Suspend" && node.phase === "Running" && matchesNode(terms, node)) {
      const outer = node.role === "attempt" ? ownerOf(state.nodes, node) ?? node : node;
      waiting.push({ name: outer.name, displayName: outer.displayName, callback: {} });
    }
    if (node.type !== "Steps" && node.type !== "DAG") continue;
    for (const step of stepsToCome(turn, node)) {
      const { name, displayName, templateName } = step;
      const shown = { id: nodeId(workflowName(state), name), name, displayName, templateName };
      if (matchesNode(terms, { ...shown, phase: "Pending" })) coming.push(step);
    }
  }
  return checked(waiting.length > 0 ? waiting : coming, selector);
}

function checked(steps: CallbackStep[], selector: string): CallbackStep[] {
  if (steps.length === 0) {
    throw notFound(`no step that waits, or will wait for a callback, matches: ${selector}`);
  }
  if (steps.length > MAX_STEPS) {
    throw invalid(`${selector} matches ${steps.length} steps, at most ${MAX_STEPS} are allowed`);
  }
  const long = steps.find(({ name }) => Buffer.byteLength(name) > MAX_CALLBACK_NAME);
  if (long === undefined) return steps;
  throw invalid(`the name of step ${long.displayName} has more than ${MAX_CALLBACK_NAME} bytes`);
}

/** Steps of a group that take callbacks and do not wait yet. What can't be found out now has none. */
function* stepsToCome(
  turn: Turn,
  boundary: NodeRecord,
): Iterable<CallbackStep & { templateName: string | undefined }> {
  try {
    const frame = frameOf(turn, boundary);
    for (const step of frame.template.steps?.flat() ?? frame.template.dag?.tasks ?? []) {
      const name = `${placeOf(boundary, frame, step.name)}.${step.name}`;
      const node = nodeByName(turn, name);
      if (isLoop(step) || (node !== undefined && hasEnded(node))) continue;
      const { callback } = resolveTemplate(turn, step, frame.context).template.suspend ?? {};
      if (callback === undefined) continue;
      yield { name, displayName: step.name, templateName: step.template, callback };
    }
  } catch (error) {
    if (!(error instanceof ManifestNeeded) && !isFailure(error)) throw error;
  }
}

/** How long URLs are good, s: as asked, or as the template says. @throws {Problem} InvalidArgument */
export function secondsOf({ callback }: CallbackStep, expires: string | undefined): number {
  try {
    return Math.ceil(callbackExpiresMs(expires === undefined ? callback : { expires }) / 1_000);
  } catch (error) {
    throw invalid(`expires: ${(error as Error).message}`);
  }
}
