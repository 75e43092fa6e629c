/** Rules that hold for steps templates and dag templates alike, and for their members: steps and tasks. */
import { isJsonObject } from "../../base/json.ts";
import type { ArgumentSource } from "../bind_arguments.ts";
import type { StepLike, Template } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";
import type { Call, Owner } from "./owner.ts";
import { ANY_ITEM, layerOver, type Names, type Scope } from "./tags.ts";

/** What the rules for a group need from the walk over all templates. */
export interface CallChecker {
  /** Everything that tags may name, with the names of one template. */
  scope(names: Names): Scope;
  /**
   * Checks a call and the template it names.
   *
   * @param source the arguments; any, if not given
   * @returns the template; undefined if its name is known only at run time
   * @throws {SpecError}
   */
  checkCall(call: Call, owner: Owner, source?: ArgumentSource): Template | undefined;
  /**
   * Adds the names by which others may refer to a step or task that has run.
   *
   * @param template what it runs; undefined if that is known only at run time
   * @param names undefined: no text uses any of them
   * @param aggregate it is a loop, whose outputs are lists
   */
  addOutputs(
    template: Template | undefined,
    kind: "steps" | "tasks",
    name: string,
    names: Names | undefined,
    aggregate?: boolean,
  ): void;
}

/** What steps and dag templates must not have. */
export function checkGroupLimits(place: string, template: Template): void {
  if (template.activeDeadlineSeconds !== undefined) {
    throw new SpecError(`${place}.activeDeadlineSeconds is only valid for leaf templates`);
  }
}

/** The text of an inline template is part of the step, so its inputs are known there. */
export function withInlineInputs(step: StepLike, names: Names): Names {
  const inputs = step.inline?.inputs?.parameters ?? [];
  if (inputs.length === 0) return names;
  const layer = layerOver(names);
  for (const { name } of inputs) layer.add(`inputs.parameters.${name}`);
  return layer;
}

/**
 * Adds the names of the elements of a step's loop.
 *
 * @throws {SpecError} when more than one kind of loop is given
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
