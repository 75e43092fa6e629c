/** Rules for event bindings. The reference has none and reports a bad expression only when an event arrives. */
import type { WorkflowEventBinding } from "./manifest.ts";
import { SpecError } from "./spec_error.ts";
import { checkObjectName } from "./validate_names.ts";

/** @throws {SpecError} */
export function validateEventBinding(binding: WorkflowEventBinding): void {
  checkObjectName("workflow event binding", binding.metadata.name);
  if (binding.spec.event.selector.trim() === "") {
    throw new SpecError("spec.event.selector is required");
  }
}
