/** Why an event binding selects an event, or does not. */
import { ARGO_FUNCTIONS } from "../expr/functions/argo_functions.ts";
import { eventEnvironment, type EventInput, SENT_NAMES } from "../expr/templates/contexts.ts";
import { type ConditionPart, explainCondition } from "../expr/templates/explain.ts";
import type { RunOptions } from "../expr/values/run_context.ts";
import type { WorkflowEventBinding } from "../spec/manifest.ts";

/**
 * What the parts of a binding's selector say about an event.
 *
 * @param run clock and randomness, as for `BoundEvent`
 * @param open the event with something else in place of secrets, if it has any: what is shown does not tell them
 * @returns undefined when the selector does not compile; `BoundEvent.isSelected` says why
 */
export function explainSelector(
  event: EventInput,
  { spec }: WorkflowEventBinding,
  run?: RunOptions,
  open?: EventInput,
): ConditionPart | undefined {
  return explainCondition(spec.event.selector, () => eventEnvironment(event), {
    functions: ARGO_FUNCTIONS,
    open: SENT_NAMES,
    ...(run && { run }),
    ...(open && { makeOpenEnv: () => eventEnvironment(open) }),
  });
}
