/** Replaces the tags of a template whose values are known now. Other tags stay for later. */
import type { Json } from "../../base/json.ts";
import type { Inputs, Template } from "../../spec/manifest.ts";
import type { Turn } from "../turn.ts";
import { joinScopes, narrow, NOTHING_MUST_EXIST, replaceTags, type Scope } from "./expressions.ts";
import { keepOwn } from "./inline_templates.ts";
import type { CallVariables } from "./inputs.ts";
import { planOf } from "./template_plan.ts";
import { GlobalScope, type GlobalScopeOptions, parametersJson } from "./workflow_variables.ts";

/** A template with its inputs, and with every tag replaced that is known now. */
export function fillTemplate(
  turn: Turn,
  template: Template,
  inputs: Inputs,
  variables: CallVariables,
): Template {
  const { body, isTagged, hasInline, settings } = planOf(template);
  if (!isTagged) return template.inputs === undefined ? template : { ...body, inputs };
  let filled = fillFor(turn, body, template, inputs, variables);
  if (hasInline) {
    filled = keepOwn(
      filled,
      body,
      (inline, own) => fillFor(turn, inline, template, inputs, variables, own),
    );
  }
  if (settings !== undefined) {
    const known = fillFor(turn, settings, template, inputs, variables, undefined, false);
    filled = { ...filled, ...known };
  }
  return template.inputs === undefined ? filled : { ...filled, inputs };
}

/**
 * Replaces, in any value, the tags that a template may have.
 * @param hidden names whose tags stay
 * @param isEarly keeps the tags whose values change while the template runs
 */
export function fillFor<T>(
  turn: Turn,
  value: T,
  template: Template,
  inputs: Inputs,
  variables: CallVariables,
  hidden?: ReadonlySet<string>,
  isEarly = variables.isEarly,
): T {
  const all = joinScopes(
    new InputScope(inputs),
    planOf(template).paths,
    variables,
    new GlobalScope(turn, isEarly ? variables : atBegin(variables)),
  );
  const scope = hidden === undefined ? all : narrow(all, (name) => !hidden.has(name));
  return replaceTags(value, scope, isEarly ? "early" : NOTHING_MUST_EXIST, turn.env);
}

/** All that is known when a node begins, also what changes while its template runs. */
export function atBegin(variables: CallVariables): GlobalScopeOptions {
  const { isEarly, hasEnd } = variables;
  return isEarly ? { isEarly: false, hasEnd } : variables;
}

const PARAMETER = "inputs.parameters.";
/** Up to so many parameters are searched one by one. */
const FEW = 8;

/** The variables `inputs.*` of a template. */
export class InputScope implements Scope {
  readonly #inputs: Inputs | undefined;
  #values: Map<string, string> | undefined;

  constructor(inputs: Inputs | undefined) {
    this.#inputs = inputs;
  }

  find(name: string): Json | undefined {
    if (!name.startsWith("inputs.")) return undefined;
    const { parameters = [] } = this.#inputs ?? {};
    if (name === "inputs.parameters") {
      // So Go writes a list that was never made.
      return parameters.length === 0 ? "null" : parametersJson(parameters);
    }
    if (parameters.length > FEW || !name.startsWith(PARAMETER)) return this.#known().get(name);
    const wanted = name.slice(PARAMETER.length);
    return parameters.find((parameter) => parameter.name === wanted)?.value;
  }

  *names(root: string): Iterable<string> {
    if (root === "inputs") yield* this.#known().keys();
  }

  #known(): ReadonlyMap<string, string> {
    return this.#values ??= inputValues(this.#inputs ?? {});
  }
}

function inputValues({ parameters = [], artifacts = [] }: Inputs): Map<string, string> {
  const values = new Map<string, string>();
  for (const { name, value } of parameters) {
    if (value !== undefined) values.set(`${PARAMETER}${name}`, value);
  }
  for (const { name, path } of artifacts) {
    if (path !== undefined) values.set(`inputs.artifacts.${name}.path`, path);
  }
  return values;
}
