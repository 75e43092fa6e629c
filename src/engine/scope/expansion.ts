/**
 * Turns a step or task into the calls it stands for: resolves its references, decides its `when`, and makes one call
 * for each element of its loop.
 */
import type { Json } from "../../base/json.ts";
import { freezeAll } from "../../base/shared_json.ts";
import { isLoop } from "../../spec/loops.ts";
import type { StepLike } from "../../spec/manifest.ts";
import { isFailure, NodeFailure } from "../failure.ts";
import { checkBytes } from "../limits.ts";
import type { ExpandedCall, Expansion, Frame, GroupMemory } from "../live.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { nodeByName } from "../tree.ts";
import { checkTurn, hasDearWork, noteWork, TurnOver } from "../turn_budget.ts";
import {
  beginEvaluation,
  isWhenTrue,
  itemsOnly,
  joinScopes,
  mayHoldTag,
  type MissingRule,
  replaceTags,
  replaceTagsIn,
  type Scope,
} from "./expressions.ts";
import { fillInline } from "./inline_templates.ts";
import { asNodeFailure, itemScope, itemsOfSkipped, loopItems } from "./loop_items.ts";
import { loopName } from "./names.ts";
import { inPlace } from "./place.ts";
import type { References } from "./references.ts";
import { resolveArguments, STEPS_MUST_EXIST } from "./resolve_arguments.ts";

/** Elements of a loop to work out between two looks at the clock. */
const STRIDE = 64;

/** What a call takes in memory besides its texts, in characters. */
const CALL_SIZE = 64;

const EMPTY_LOOP = "Skipped, empty params";

/** Tells whether a step stands for one call, which is as the step is written. */
export function isPlain(step: StepLike, { isTagged }: Frame): boolean {
  if ((step.when ?? "") !== "" || isLoop(step) || step.arguments?.artifacts !== undefined) {
    return false;
  }
  for (const { valueFrom } of step.arguments?.parameters ?? []) {
    if (valueFrom?.expression !== undefined) return false;
  }
  return !(isTagged && mayHoldTag(step));
}

/**
 * The calls of a step or task, in order; at least one.
 * @param base full node name of the step without a loop's suffix
 * @param group of the step; a task has none
 * @throws {TemplateError | NodeFailure | WhenError}
 */
export function expandStep(
  turn: Turn,
  step: StepLike,
  base: string,
  references: References,
  group?: NodeRecord,
): ExpandedCall[] {
  const expansion = turn.state.runtime.expansions?.get(base);
  if (expansion !== undefined && expansion.calls.length === expansion.items.length) {
    return expansion.calls;
  }
  if (!isLoop(step)) return expand(turn, step, base, references, undefined);
  // In a copied tree the node of a task that was left out has its name, too.
  const own = group ?? nodeByName(turn, base);
  const since = own?.type === "Skipped" ? undefined : own?.startedAt;
  const at = expansion?.at ?? since ?? turn.env.now;
  return inPlace(turn, base, at, () => expand(turn, step, base, references, expansion));
}

function expand(
  turn: Turn,
  step: StepLike,
  base: string,
  references: References,
  expansion: Expansion | undefined,
): ExpandedCall[] {
  beginEvaluation(turn.env);
  const when = resolveWhen(turn, step, references.scope);
  const isLooping = isLoop(step);
  if (when !== undefined && isKnownFalse(turn, when, isLooping)) {
    const skip = `when '${when}' evaluated false`;
    if (!isLooping) return [{ step, name: base, skip, arguments: {} }];
    const items = itemsOfSkipped(turn, step, references.scope);
    if (items.length === 0) return [{ step, name: base, skip: EMPTY_LOOP, arguments: {} }];
    return items.map((item, index) => ({
      step,
      name: loopName(base, index, item),
      index,
      item,
      skip,
      arguments: {},
    }));
  }
  // What is frozen is searched for tags only once.
  if (isLooping) freezeAll(step.arguments);
  const resolved = resolveStep(turn, step, references.scope, STEPS_MUST_EXIST);
  if (!isLooping) {
    if (when !== undefined && !isWhenTrue(when, turn.env)) {
      return [{
        step: resolved,
        name: base,
        skip: `when '${when}' evaluated false`,
        arguments: {},
      }];
    }
    return [{ step: resolved, name: base, arguments: resolveArguments(turn, step, references) }];
  }
  const items = expansion?.items ?? itemsOf(turn, step, references.scope, when);
  if (items.length === 0) {
    return [{ step: resolved, name: base, skip: EMPTY_LOOP, arguments: {} }];
  }
  const at = turn.env.place?.at ?? turn.env.now;
  const growing: Expansion = expansion ?? { at, items, calls: [], characters: 0 };
  (turn.state.runtime.expansions ??= new Map()).set(base, growing);
  try {
    expandItems(turn, growing, { step: resolved, base, when }, references);
  } catch (error) {
    if (!(error instanceof TurnOver)) forgetExpansion(turn, base);
    // What fails without an element too is no fault of the element.
    if (isFailure(error)) resolveArguments(turn, step, references);
    throw error;
  }
  return growing.calls;
}

/** Tells whether a `when` is false before the loop is known. What is wrong with it, each element says for itself. */
function isKnownFalse({ env }: Turn, when: string, isLooping: boolean): boolean {
  if (when.includes("{{")) return false;
  try {
    return !isWhenTrue(when, env);
  } catch (error) {
    if (isLooping && isFailure(error)) return false;
    throw error;
  }
}

/**
 * The elements of a loop. None if its list can't be read, and its `when` would be false as it is written: nobody needs them.
 * @throws {NodeFailure | TemplateError} when they cannot be worked out
 */
function itemsOf(turn: Turn, step: StepLike, scope: Scope, when: string | undefined): Json[] {
  try {
    return loopItems(turn, step, scope);
  } catch (error) {
    const isUnread = error instanceof NodeFailure && when !== undefined;
    if (isUnread && isFalseAsWritten(turn, when)) return [];
    throw error;
  }
}

/** Works out the calls of a loop, as many as the turn allows. @throws {TurnOver} after which the calls so far are kept */
function expandItems(
  turn: Turn,
  growing: Expansion,
  loop: { step: StepLike; base: string; when: string | undefined },
  references: References,
): void {
  const { items, calls } = growing;
  const { when } = loop;
  const missing = when !== undefined && isFalseAsWritten(turn, when) ? "keep" : "error";
  for (let index = calls.length; index < items.length; index++) {
    const item = items[index] as Json;
    const before = turn.budget?.characters ?? 0;
    const name = loopName(loop.base, index, item);
    turn.env.place?.moveTo(name);
    calls.push(expandItem(turn, loop.step, { name, when, missing, item, index }, references));
    const added = CALL_SIZE + loop.base.length + (turn.budget?.characters ?? 0) - before;
    growing.characters += added;
    turn.state.runtime.callCharacters += added;
    const isDue = index % STRIDE === STRIDE - 1 || hasDearWork(turn);
    if (!isDue || index === items.length - 1) continue;
    checkBytes(turn);
    noteWork(turn);
    checkTurn(turn);
  }
}

/** Keeps the calls of a group in its memory. @param basesOf names of the loops among them */
export function keepCalls(
  turn: Turn,
  memory: GroupMemory,
  calls: ExpandedCall[],
  basesOf: () => readonly string[],
): void {
  const { expansions } = turn.state.runtime;
  memory.calls = calls;
  if (expansions === undefined) return;
  for (const base of basesOf()) {
    memory.callCharacters += expansions.get(base)?.characters ?? 0;
    expansions.delete(base);
  }
}

/** Forgets the calls of a loop, none of which will begin. */
function forgetExpansion(turn: Turn, base: string): void {
  const { runtime } = turn.state;
  runtime.callCharacters -= runtime.expansions?.get(base)?.characters ?? 0;
  runtime.expansions?.delete(base);
}

interface Element {
  name: string;
  when: string | undefined;
  /** What a tag of the `when` that the element has no value for does. */
  missing: MissingRule;
  item: Json;
  index: number;
}

function expandItem(
  turn: Turn,
  step: StepLike,
  { name, when, missing, item, index }: Element,
  references: References,
): ExpandedCall {
  beginEvaluation(turn.env);
  const scope = joinScopes(itemScope(item), references.scope);
  const call = () => ({
    step: resolveStep(turn, step, scope, "error"),
    name,
    index,
    item,
    arguments: resolveArguments(turn, step, { ...references, scope }, "error"),
  });
  if (when === undefined) return asNodeFailure(call);
  // What an element lacks ends the loop, as in the reference, also if its `when` would leave it out.
  const found = missing === "error" ? asNodeFailure(call) : undefined;
  const text = asNodeFailure(() => replaceTagsIn(when, scope, missing, turn.env));
  try {
    if (!isWhenTrue(text, turn.env)) {
      const skip = `when '${text}' evaluated false`;
      return { step, name, index, item, skip, arguments: {} };
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { step, name, index, item, error: error.message, arguments: {} };
  }
  return found ?? asNodeFailure(call);
}

/** Tells whether a `when` is false although the tags of its loop are not filled in. */
function isFalseAsWritten({ env }: Turn, when: string): boolean {
  try {
    return !isWhenTrue(when, env);
  } catch (error) {
    if (!isFailure(error)) throw error;
    return false;
  }
}

/** The `when` with its tags replaced, except those of a loop. Undefined when there is none. */
function resolveWhen(turn: Turn, step: StepLike, scope: Scope): string | undefined {
  if (step.when === undefined || step.when === "") return undefined;
  return replaceTagsIn(step.when, scope, STEPS_MUST_EXIST, turn.env);
}

/** Replaces the tags in what names the template, in the hooks' names and in a template that stands in the step. */
function resolveStep(
  turn: Turn,
  step: StepLike,
  scope: Scope,
  missing: MissingRule,
): StepLike {
  const { template, templateRef, inline } = step;
  if (
    template !== undefined && !template.includes("{{") && templateRef === undefined &&
    step.hooks === undefined
  ) {
    return step;
  }
  const hooks = step.hooks === undefined
    ? undefined
    : replaceTags(step.hooks, itemsOnly(scope), "keep", turn.env);
  return {
    ...step,
    ...(template === undefined
      ? {}
      : { template: replaceTagsIn(template, scope, missing, turn.env) }),
    ...(templateRef === undefined
      ? {}
      : { templateRef: replaceTags(templateRef, scope, missing, turn.env) }),
    ...(hooks === undefined ? {} : { hooks }),
    ...(inline === undefined ? {} : { inline: fillInline(turn, inline, scope) }),
  };
}
