/** Rules for steps templates, and for loops, which tasks of a dag have too. */
import { isJsonObject } from "../base/json.ts";
import { givenArguments } from "./bind_arguments.ts";
import type { StepLike, Template } from "./manifest.ts";
import { SpecError, withPrefix } from "./spec_error.ts";
import { checkArguments } from "./validate_arguments.ts";
import { checkHooks } from "./validate_hooks.ts";
import { nameProblems } from "./validate_names.ts";
import type { Owner, TemplateWalk } from "./validate_template.ts";
import { ANY_ITEM, checkTags, layerOver, type Names } from "./validate_tags.ts";

/** @throws {SpecError} */
export function checkSteps(
  walk: TemplateWalk,
  template: Template,
  owner: Owner,
  names: Names,
): void {
  const place = `templates.${template.name ?? ""}`;
  checkGroupLimits(place, template);
  const taken = new Set<string>();
  (template.steps ?? []).forEach((group, index) => {
    for (const step of group) {
      const at = `${place}.steps[${index}]`;
      checkStepName(at, step.name ?? "", taken);
      checkStep(walk, place, `${at}.${step.name}`, step, owner, names);
    }
  });
}

/** What steps and dag templates must not have. */
export function checkGroupLimits(place: string, template: Template): void {
  if (template.activeDeadlineSeconds !== undefined) {
    throw new SpecError(`${place}.activeDeadlineSeconds is only valid for leaf templates`);
  }
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
  walk: TemplateWalk,
  place: string,
  at: string,
  step: StepLike,
  owner: Owner,
  names: Names,
): void {
  names.add(`steps.${step.name}.status`);
  withPrefix(`${at} `, () => addItems(step, names));
  checkArguments(`${at}.arguments.`, step.arguments, false);
  const called = withPrefix(`${at} `, () => walk.checkCall(step, owner));
  if (hasExitHook(step)) walk.addOutputs(called, "steps", step.name, names);
  checkHooks(at, step.hooks);
  checkTags(step, walk.scope(withInlineInputs(step, names)), `${place}.steps `);
  walk.addOutputs(called, "steps", step.name, names, isAggregated(step));
  withPrefix(`${at} `, () => walk.checkCall(step, owner, givenArguments(step.arguments)));
}

/** A step whose end starts another template. */
export function hasExitHook(step: StepLike): boolean {
  return (step.onExit ?? "") !== "" || step.hooks?.exit !== undefined;
}

/** A loop whose outputs others read as lists. */
export function isAggregated(step: StepLike): boolean {
  return (step.withItems ?? []).length > 0 || (step.withParam ?? "") !== "";
}

/** An inline template's text sits in the step, so its inputs are known there. */
export function withInlineInputs(step: StepLike, names: Names): Names {
  const inputs = step.inline?.inputs?.parameters ?? [];
  if (inputs.length === 0) return names;
  const layer = layerOver(names);
  for (const { name } of inputs) layer.add(`inputs.parameters.${name}`);
  return layer;
}

/**
 * Adds what the elements of a step's loop can be called.
 *
 * @throws {SpecError} when a loop is given in more than one way
 */
export function addItems(step: StepLike, names: Names): void {
  const items = step.withItems ?? [];
  const param = step.withParam ?? "";
  const sequence = step.withSequence;
  const ways = [items.length > 0, param !== "", sequence !== undefined].filter(Boolean).length;
  if (ways > 1) {
    throw new SpecError("only one of withItems, withParam, withSequence can be specified");
  }
  for (const item of items) {
    if (Array.isArray(item)) item.forEach((_, index) => names.add(`item.[${index}]`));
    else if (isJsonObject(item)) Object.keys(item).forEach((key) => names.add(`item.${key}`));
    else names.add("item");
  }
  if (param !== "") {
    names.add("item");
    names.add(ANY_ITEM);
  }
  if (sequence !== undefined) {
    if (sequence.count !== undefined && sequence.end !== undefined) {
      throw new SpecError("only one of count or end can be defined in withSequence");
    }
    names.add("item");
  }
}
