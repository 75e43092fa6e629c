/** Rules for event bindings. The reference has none and reports a bad expression only when an event arrives. */
import { errorText } from "../../base/error_text.ts";
import { ARGO_FUNCTIONS } from "../../expr/functions/argo_functions.ts";
import { compileExpr } from "../../expr/language/compile.ts";
import { eventEnvironment, SENT_NAMES } from "../../expr/templates/contexts.ts";
import { ExprCompileError } from "../../expr/values/error.ts";
import { parseDuration } from "../../expr/values/go_duration.ts";
import { RunContext } from "../../expr/values/run_context.ts";
import type { BindingCallback, WorkflowEventBinding } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";
import { checkObjectName } from "./names.ts";

/** The names and kinds of the values that a binding sees. */
const ANY_EVENT = eventEnvironment({
  namespace: "",
  discriminator: "",
  headers: [],
  payload: null,
});

/**
 * Checks that a binding does something and that its expressions can be compiled.
 *
 * @throws {SpecError}
 */
export function validateEventBinding(binding: WorkflowEventBinding): void {
  checkObjectName("workflow event binding", binding.metadata.name);
  const { event, submit, resume, stop } = binding.spec;
  const context = new RunContext();
  checkExpression("spec.event.selector", event.selector, context);
  if (submit !== undefined) {
    if ((submit.workflowTemplateRef.name ?? "") === "") {
      throw new SpecError("spec.submit.workflowTemplateRef.name is required");
    }
    const { name, generateName, labels, annotations } = submit.metadata ?? {};
    checkGiven("spec.submit.metadata.name", name, context);
    checkGiven("spec.submit.metadata.generateName", generateName, context);
    checkAll("spec.submit.metadata.labels", labels, context);
    checkAll("spec.submit.metadata.annotations", annotations, context);
    for (const { name, value, valueFrom } of submit.arguments?.parameters ?? []) {
      const place = `spec.submit.arguments.parameters.${name}`;
      if (valueFrom?.event !== undefined) {
        checkExpression(`${place}.valueFrom.event`, valueFrom.event, context);
      } else if (value === undefined) {
        throw new SpecError(`${place}.value or ${place}.valueFrom.event is required`);
      }
    }
  }
  if (resume !== undefined) checkCallback("spec.resume", resume, context);
  if (stop !== undefined) {
    checkCallback("spec.stop", stop, context);
    checkGiven("spec.stop.message", stop.message, context);
  }
}

function checkCallback(place: string, callback: BindingCallback, context: RunContext): void {
  checkExpression(`${place}.nodeFieldSelector`, callback.nodeFieldSelector, context);
  checkGiven(`${place}.workflow`, callback.workflow, context);
  checkGiven(`${place}.labelSelector`, callback.labelSelector, context);
  if ((callback.workflow ?? "") === "" && (callback.labelSelector ?? "") === "") {
    throw new SpecError(`${place}.workflow or ${place}.labelSelector is required`);
  }
  checkWait(`${place}.waitFor`, callback.waitFor ?? "");
}

/** The only member that is no expression. */
function checkWait(place: string, waitFor: string): void {
  if (waitFor === "") return;
  try {
    parseDuration(waitFor);
  } catch (cause) {
    const form = `${place} is "${waitFor}", expected a duration like 10m`;
    throw new SpecError(`${form}: ${errorText(cause)}`);
  }
}

function checkAll(
  place: string,
  expressions: Record<string, string> | undefined,
  context: RunContext,
): void {
  for (const [key, expression] of Object.entries(expressions ?? {})) {
    checkExpression(`${place}.${key}`, expression, context);
  }
}

function checkGiven(place: string, expression: string | undefined, context: RunContext): void {
  if (expression !== undefined && expression !== "") checkExpression(place, expression, context);
}

/** @param context the budget that all checks of one binding share */
function checkExpression(place: string, expression: string, context: RunContext): void {
  try {
    compileExpr(expression, {
      env: ANY_EVENT,
      functions: ARGO_FUNCTIONS,
      open: SENT_NAMES,
      context,
    });
  } catch (error) {
    if (!(error instanceof ExprCompileError)) throw error;
    throw new SpecError(`${place} is not a valid expression: ${error.message}`);
  }
}
