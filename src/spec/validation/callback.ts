/** Rules for suspend templates with a callback, and for the steps that wait for one. */
import { errorText } from "../../base/error_text.ts";
import { CALLBACK_FORMS, callbackExpiresMs } from "../callback.ts";
import { hasElements } from "../loops.ts";
import type { StepLike, Template } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";
import type { CallChecker } from "./group.ts";
import { holdsTag } from "./inputs_outputs.ts";
import type { Owner } from "./owner.ts";

/** @param place of the template, for errors. @throws {SpecError} */
export function checkCallback(place: string, template: Template): void {
  const at = `${place}.suspend.callback`;
  const { callback = {}, duration = "" } = template.suspend ?? {};
  try {
    if (!holdsTag(callback.expires ?? "")) callbackExpiresMs(callback);
  } catch (error) {
    throw new SpecError(`${at}.expires: ${errorText(error)}`);
  }
  const parameters = template.outputs?.parameters ?? [];
  for (const [index, name] of (callback.outputs ?? []).entries()) {
    const known = parameters.find((one) => one.name === name);
    if (known?.valueFrom?.supplied === undefined) {
      throw new SpecError(
        `${at}.outputs[${index}]: '${name}' is not an output parameter with valueFrom.supplied`,
      );
    }
  }
  if (duration !== "" && (template.timeout ?? "") !== "") {
    throw new SpecError(`${place}.suspend.duration and ${place}.timeout cannot be used together`);
  }
}

/** A URL belongs to one node, so a loop can't wait for it. @throws {SpecError} */
export function checkAwaited(at: string, step: StepLike, called: Template | undefined): void {
  if (called?.suspend?.callback === undefined || !hasElements(step)) return;
  throw new SpecError(
    `${at} loops over a template with suspend.callback: put trigger and wait into a template, and loop over that`,
  );
}

const CALLBACK_NAME = /^(steps|tasks)\.([^.]+)\.callback\.([a-z]+)/;

/** Tells whether a text begins with the name of a callback variable. */
export function isCallbackName(text: string): boolean {
  const form = CALLBACK_NAME.exec(text)?.[3];
  return CALLBACK_FORMS.some((one) => one === form);
}

/**
 * A rule for the callback variables inside a template: each names a step, earlier or later, that waits for a callback. The
 * called template is looked up only when a text asks for it.
 */
export function callbackNames(
  walk: CallChecker,
  root: "steps" | "tasks",
  { steps, dag }: Template,
  owner: Owner,
): (name: string) => boolean {
  return (name) => {
    const [whole, kind, step] = CALLBACK_NAME.exec(name) ?? [];
    if (whole !== name || kind !== root || !isCallbackName(name)) return false;
    const all: readonly StepLike[] = steps?.flat() ?? dag?.tasks ?? [];
    const found = all.find((one) => one.name === step);
    if (found === undefined) return false;
    const called = walk.checkCall(found, owner);
    return called === undefined || called.suspend?.callback !== undefined;
  };
}
