/** Rules for event bindings. The reference has none and reports a bad expression only when an event arrives. */
import { ARGO_FUNCTIONS } from "../expr/argo_functions.ts";
import { compileExpr } from "../expr/compile.ts";
import { eventEnvironment } from "../expr/contexts.ts";
import { ExprCompileError } from "../expr/error.ts";
import type { BindingCallback, WorkflowEventBinding } from "./manifest.ts";
import { SpecError } from "./spec_error.ts";
import { checkObjectName } from "./validate_names.ts";

/** Any JSON may be posted; an expression need not fit all of it. */
const PAYLOADS = [{}, [], "", 0, true, null];

/**
 * Checks that a binding does something and that its expressions can be compiled.
 *
 * @throws {SpecError}
 */
export function validateEventBinding(binding: WorkflowEventBinding): void {
  checkObjectName("workflow event binding", binding.metadata.name);
  const { event, submit, resume, stop } = binding.spec;
  checkExpression("spec.event.selector", event.selector);
  if (submit !== undefined) {
    if ((submit.workflowTemplateRef.name ?? "") === "") {
      throw new SpecError("spec.submit.workflowTemplateRef.name is required");
    }
    const { name, generateName, labels, annotations } = submit.metadata ?? {};
    checkGiven("spec.submit.metadata.name", name);
    checkGiven("spec.submit.metadata.generateName", generateName);
    checkAll("spec.submit.metadata.labels", labels);
    checkAll("spec.submit.metadata.annotations", annotations);
    for (const { name, value, valueFrom } of submit.arguments?.parameters ?? []) {
      const place = `spec.submit.arguments.parameters.${name}`;
      if (valueFrom?.event !== undefined) {
        checkExpression(`${place}.valueFrom.event`, valueFrom.event);
      } else if (value === undefined) {
        throw new SpecError(`${place}.value or ${place}.valueFrom.event is required`);
      }
    }
  }
  if (resume !== undefined) checkCallback("spec.resume", resume);
  if (stop !== undefined) {
    checkCallback("spec.stop", stop);
    checkGiven("spec.stop.message", stop.message);
  }
}

function checkCallback(place: string, callback: BindingCallback): void {
  checkExpression(`${place}.nodeFieldSelector`, callback.nodeFieldSelector);
  checkGiven(`${place}.workflow`, callback.workflow);
  checkGiven(`${place}.labelSelector`, callback.labelSelector);
  if ((callback.workflow ?? "") === "" && (callback.labelSelector ?? "") === "") {
    throw new SpecError(`${place}.workflow or ${place}.labelSelector is required`);
  }
}

function checkAll(place: string, expressions: Record<string, string> | undefined): void {
  for (const [key, expression] of Object.entries(expressions ?? {})) {
    checkExpression(`${place}.${key}`, expression);
  }
}

function checkGiven(place: string, expression: string | undefined): void {
  if (expression !== undefined && expression !== "") checkExpression(place, expression);
}

function checkExpression(place: string, expression: string): void {
  let first: ExprCompileError | undefined;
  for (const payload of PAYLOADS) {
    const event = { namespace: "", discriminator: "", headers: [], payload };
    try {
      compileExpr(expression, { env: eventEnvironment(event), functions: ARGO_FUNCTIONS });
      return;
    } catch (error) {
      if (!(error instanceof ExprCompileError)) throw error;
      first ??= error;
    }
  }
  throw new SpecError(`${place} is not a valid expression: ${first?.message}`);
}
