/** The variables `steps.NAME.callback.*` and `tasks.NAME.callback.*`: marks that stand for URLs of a step, also of a later one. */
import {
  CALLBACK_FORMS,
  callbackExpiresMs,
  type CallbackForm,
  MAX_CALLBACK_NAME,
  writeMark,
} from "../../spec/callback.ts";
import { writeJson } from "../../base/json_text.ts";
import { isLoop } from "../../spec/loops.ts";
import type { Template } from "../../spec/manifest.ts";
import { markHeader } from "../change.ts";
import { isFailure, ManifestNeeded, NodeFailure } from "../failure.ts";
import type { NodeRecord } from "../records.ts";
import type { Frame } from "../live.ts";
import type { Turn } from "../turn.ts";
import { findStep, placeOf, stepNames } from "./frame_steps.ts";
import { resolveTemplate } from "./templates.ts";

/** Characters of a workflow's secret, each of which says about five bits. */
const SECRET_LENGTH = 32;

const PREFIX = "callback.";

/** What a member of a step asks for, if it is about its callback. */
export function callbackForm(member: string): CallbackForm | undefined {
  if (!member.startsWith(PREFIX)) return undefined;
  return CALLBACK_FORMS.find((form) =>
    member.length === PREFIX.length + form.length &&
    member.endsWith(form)
  );
}

/**
 * The mark for a step; undefined when the step takes no callbacks.
 * @throws {NodeFailure} when the step can't have a URL
 * @throws {ManifestNeeded} when its template is not loaded
 */
export function callbackMark(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  name: string,
  form: CallbackForm,
): string | undefined {
  const step = findStep(frame, name);
  if (step === undefined || isLoop(step)) return undefined;
  const { callback } = resolveTemplate(turn, step, frame.context).template.suspend ?? {};
  if (callback === undefined) return undefined;
  const nodeName = `${placeOf(boundary, frame, name)}.${name}`;
  checkName(nodeName);
  const { header } = turn.state;
  if (header.callbackSecret === undefined) {
    header.callbackSecret = turn.env.randomSuffix(SECRET_LENGTH);
    markHeader(turn);
  }
  const seconds = Math.ceil(callbackExpiresMs(callback) / 1_000);
  const workflowUid = header.metadata.uid ?? "";
  return writeMark({ form, workflowUid, nodeName, seconds }, header.callbackSecret);
}

/**
 * Full names of all callback variables, for an expression, which reads the variables of all steps at once.
 * @throws {ManifestNeeded} when the template of a step is not loaded
 */
export function* callbackNames(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  root: "steps" | "tasks",
): Iterable<string> {
  if (!mentionsCallbacks(frame.template)) return;
  for (const step of stepNames(frame)) {
    if (!canBeCalled(turn, boundary, frame, step)) continue;
    for (const form of CALLBACK_FORMS) yield `${root}.${step}.${PREFIX}${form}`;
  }
}

// A memo of a pure function. Nobody changes a template that belongs to a workflow.
const mentions = new WeakMap<Template, boolean>();

/** Most groups have no callbacks: their expressions need not look up the templates of all steps. */
function mentionsCallbacks(template: Template): boolean {
  let known = mentions.get(template);
  if (known === undefined) {
    known = writeJson(template.steps ?? template.dag ?? null).includes("callback");
    mentions.set(template, known);
  }
  return known;
}

/** Tells whether a step has callback variables. What is wrong with others is no concern of an expression. */
function canBeCalled(turn: Turn, boundary: NodeRecord, frame: Frame, name: string): boolean {
  try {
    return callbackMark(turn, boundary, frame, name, "resume") !== undefined;
  } catch (error) {
    if (error instanceof ManifestNeeded || !isFailure(error)) throw error;
    return false;
  }
}

function checkName(name: string): void {
  if (Buffer.byteLength(name) <= MAX_CALLBACK_NAME) return;
  throw new NodeFailure(
    `step ${
      name.slice(0, 100)
    }… can't have a callback: the name of its node is longer than ${MAX_CALLBACK_NAME} bytes`,
  );
}
