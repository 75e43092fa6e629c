/** Rules for steps templates. */
import { givenArguments } from "../bind_arguments.ts";
import { isAggregated } from "../loops.ts";
import type { StepLike, Template } from "../manifest.ts";
import { SpecError, withPrefix } from "../spec_error.ts";
import { checkArguments } from "./arguments.ts";
import { callbackNames, checkAwaited } from "./callback.ts";
import { addItems, type CallChecker, checkGroupLimits, withInlineInputs } from "./group.ts";
import { checkHooks } from "./hooks.ts";
import { nameProblems } from "./names.ts";
import type { Owner } from "./owner.ts";
import { checkTags, layerOver, type Names } from "./tags.ts";

/** @throws {SpecError} */
export function checkSteps(
  walk: CallChecker,
  template: Template,
  owner: Owner,
  names: Names,
): void {
  const place = `templates.${template.name ?? ""}`;
  checkGroupLimits(place, template);
  const taken = new Set<string>();
  const isCallback = callbackNames(walk, "steps", template, owner);
  (template.steps ?? []).forEach((group, index) => {
    for (const step of group) {
      const at = `${place}.steps[${index}]`;
      checkStepName(at, step.name ?? "", taken);
      checkStep(walk, place, `${at}.${step.name}`, step, owner, names, isCallback);
    }
  });
}

function checkStepName(at: string, name: string, taken: Set<string>): void {
  if (name === "") throw new SpecError(`${at}.name is required`);
  if (taken.has(name)) throw new SpecError(`${at}.name '${name}' is not unique`);
  const problems = nameProblems(name, "field");
  if (problems.length > 0) {
    throw new SpecError(`${at}.name '${name}' is invalid: ${problems.join(";")}`);
  }
  taken.add(name);
}

function checkStep(
  walk: CallChecker,
  place: string,
  at: string,
  step: StepLike,
  owner: Owner,
  names: Names,
  isCallback: (name: string) => boolean,
): void {
  names.add(`steps.${step.name}.status`);
  withPrefix(`${at} `, () => addItems(step, names));
  checkArguments(`${at}.arguments.`, step.arguments, "call");
  const called = withPrefix(`${at} `, () => walk.checkCall(step, owner));
  checkAwaited(at, step, called);
  if (hasExitHook(step)) walk.addOutputs(called, "steps", step.name, names);
  checkHooks(at, step.hooks);
  const known = layerOver(withInlineInputs(step, names), isCallback);
  checkTags(step, walk.scope(known), `${place}.steps `);
  walk.addOutputs(called, "steps", step.name, names, isAggregated(step));
  withPrefix(`${at} `, () => walk.checkCall(step, owner, givenArguments(step.arguments)));
}

/** Tells whether the end of a step starts another template. */
function hasExitHook(step: StepLike): boolean {
  return (step.onExit ?? "") !== "" || step.hooks?.exit !== undefined;
}
