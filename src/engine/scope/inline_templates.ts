/** Templates that stand in a step: what the step knows is filled in, apart from what they know better themselves. */
import { isLoop } from "../../spec/loops.ts";
import type { Inputs, StepLike, Template } from "../../spec/manifest.ts";
import type { Turn } from "../turn.ts";
import { itemsOnly, mayHoldTag, narrow, replaceTags, type Scope } from "./expressions.ts";

const PARAMETER = "inputs.parameters.";

/**
 * Fills in the element of the loop around the step, and in the inputs also what other steps left. Other tags stay: the
 * template may fill them in itself.
 */
export function fillInline(turn: Turn, inline: Template, scope: Scope): Template {
  if (!mayHoldTag(inline)) return inline;
  const { inputs, steps, dag, ...rest } = inline;
  const items = itemsOnly(scope);
  const outside = narrow(scope, (name) => !name.startsWith("inputs."));
  const fill = <T>(value: T): T => replaceTags(value, items, "keep", turn.env);
  // The steps of a loop have elements of their own.
  const fillStep = (step: StepLike) => isLoop(step) ? step : fill(step);
  return {
    ...fill(rest),
    ...(inputs === undefined ? {} : { inputs: replaceTags(inputs, outside, "keep", turn.env) }),
    ...(steps === undefined ? {} : { steps: steps.map((group) => group.map(fillStep)) }),
    ...(dag === undefined ? {} : { dag: { ...dag, tasks: dag.tasks?.map(fillStep) ?? [] } }),
  };
}

/** A filled Steps or DAG template in which the inline templates have their own inputs wherever those have the same names. */
export function withOwnInputs(
  filled: Template,
  written: Template,
  inputs: Inputs,
  fill: (inline: Template, hidden: ReadonlySet<string>) => Template,
): Template {
  const around = new Set(inputs.parameters?.map(({ name }) => name));
  const own = (step: StepLike, before: StepLike | undefined): StepLike => {
    const { inline } = before ?? {};
    const names = inline?.inputs?.parameters?.map(({ name }) => name) ?? [];
    const hidden = new Set(
      names.filter((name) => around.has(name)).map((name) => PARAMETER + name),
    );
    if (inline === undefined || hidden.size === 0) return step;
    return { ...step, inline: { ...fill(inline, hidden), ...inputsOf(step.inline) } };
  };
  const { steps, dag } = filled;
  return {
    ...filled,
    ...(steps === undefined ? {} : {
      steps: steps.map((group, at) =>
        group.map((step, index) => own(step, written.steps?.[at]?.[index]))
      ),
    }),
    ...(dag === undefined ? {} : {
      dag: {
        ...dag,
        tasks: dag.tasks?.map((task, at) => own(task, written.dag?.tasks?.[at])) ?? [],
      },
    }),
  };
}

function inputsOf({ inputs }: Template = {}): Pick<Template, "inputs"> {
  return inputs === undefined ? {} : { inputs };
}
