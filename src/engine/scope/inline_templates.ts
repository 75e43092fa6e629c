/** Templates that stand in a step: what the step knows is filled in, apart from what they know better themselves. */
import { isLoop } from "../../spec/loops.ts";
import type { StepLike, Template } from "../../spec/manifest.ts";
import type { Turn } from "../turn.ts";
import { itemsOnly, mayHoldTag, narrow, replaceTags, type Scope } from "./expressions.ts";

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

/**
 * A filled Steps or DAG template in which the templates that stand in its steps keep the tags of what they know themselves.
 * @param written the template before
 * @param fill fills in one of them, except for these names
 */
export function keepOwn(
  filled: Template,
  written: Template,
  fill: (inline: Template, own: ReadonlySet<string>) => Template,
): Template {
  const keep = (step: StepLike, { inline }: StepLike): StepLike =>
    inline === undefined || !mayHoldTag(inline)
      ? step
      : { ...step, inline: { ...fill(inline, ownNames(inline)), ...inputsOf(step.inline) } };
  const { steps, dag } = filled;
  return {
    ...filled,
    ...(steps === undefined ? {} : {
      steps: steps.map((group, at) =>
        group.map((step, index) => keep(step, written.steps?.[at]?.[index] ?? step))
      ),
    }),
    ...(dag === undefined ? {} : {
      dag: {
        ...dag,
        tasks: dag.tasks?.map((task, at) => keep(task, written.dag?.tasks?.[at] ?? task)) ?? [],
      },
    }),
  };
}

const OF_NODE = ["node.name", "steps.name", "tasks.name"];
const OF_ATTEMPT = [
  ...["retries", "lastRetry.exitCode", "lastRetry.status"],
  ...["lastRetry.duration", "lastRetry.message"],
];

/** Variables that a template has of its own, whatever is around it. */
function ownNames({ inputs, retryStrategy }: Template): Set<string> {
  const { parameters = [], artifacts = [] } = inputs ?? {};
  return new Set([
    ...OF_NODE,
    ...(retryStrategy === undefined ? [] : OF_ATTEMPT),
    ...(parameters.length === 0 ? [] : ["inputs.parameters"]),
    ...parameters.map(({ name }) => `inputs.parameters.${name}`),
    ...artifacts.map(({ name }) => `inputs.artifacts.${name}.path`),
  ]);
}

function inputsOf({ inputs }: Template = {}): Pick<Template, "inputs"> {
  return inputs === undefined ? {} : { inputs };
}
