/** Replaces the tags of a template whose values are known now. Other tags stay for later. */
import type { Inputs, Template } from "../../spec/manifest.ts";
import type { Turn } from "../turn.ts";
import { joinScopes, replaceTags } from "./expressions.ts";
import { type CallVariables, InputScope } from "./inputs.ts";
import { planOf } from "./template_plan.ts";
import { GlobalScope } from "./workflow_variables.ts";

/** A template with its inputs, and with every tag replaced that is known now. */
export function fillTemplate(
  turn: Turn,
  template: Template,
  inputs: Inputs,
  variables: CallVariables,
): Template {
  const { body, isTagged } = planOf(template);
  if (!isTagged) return template.inputs === undefined ? template : { ...body, inputs };
  const filled = fillFor(turn, body, template, inputs, variables);
  return template.inputs === undefined ? filled : { ...filled, inputs };
}

/** Replaces, in any value, the tags that a template may have. */
export function fillFor<T>(
  turn: Turn,
  value: T,
  template: Template,
  inputs: Inputs,
  variables: CallVariables,
): T {
  const scope = joinScopes(
    new InputScope(inputs),
    planOf(template).paths,
    variables,
    new GlobalScope(turn, variables),
  );
  return replaceTags(value, scope, "keep", turn.env);
}
