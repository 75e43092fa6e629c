/** The variables `steps.NAME.callback.*` and `tasks.NAME.callback.*`: marks that stand for URLs of a step, also of a later one. */
import {
  CALLBACK_FORMS,
  callbackExpiresMs,
  type CallbackForm,
  MAX_CALLBACK_NAME,
  writeMark,
} from "../../spec/callback.ts";
import { markHeader } from "../change.ts";
import { NodeFailure } from "../failure.ts";
import type { NodeRecord } from "../records.ts";
import type { Frame } from "../runtime.ts";
import type { Turn } from "../turn.ts";
import { findStep, isLoop, placeOf } from "./frame_steps.ts";
import { resolveTemplate } from "./templates.ts";

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
  if (header.makesCallbacks !== true) {
    header.makesCallbacks = true;
    markHeader(turn);
  }
  const seconds = Math.ceil(callbackExpiresMs(callback) / 1_000);
  return writeMark({ form, workflowUid: header.metadata.uid ?? "", nodeName, seconds });
}

function checkName(name: string): void {
  if (Buffer.byteLength(name) <= MAX_CALLBACK_NAME) return;
  throw new NodeFailure(
    `step ${
      name.slice(0, 100)
    }… can't have a callback: the name of its node is longer than ${MAX_CALLBACK_NAME} bytes`,
  );
}
