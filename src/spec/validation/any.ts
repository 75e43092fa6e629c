/** Validation by kind. */
import type { AnyManifest } from "../schema/decode_manifest.ts";
import { validateEventBinding } from "./event_binding.ts";
import { validateSubscription } from "./subscription.ts";
import {
  validateCronWorkflow,
  validateWorkflow,
  validateWorkflowTemplate,
  type ValidationContext,
  type ValidationOptions,
} from "./validate.ts";

/**
 * Checks a manifest of any kind. ConfigMaps and Secrets have no rules beyond their shape.
 *
 * @throws {SpecError} at the first rule that is broken
 * @throws {Problem} NotFound when the template of `workflowTemplateRef` does not exist
 */
export function validateAny(
  { kind, manifest }: AnyManifest,
  context: ValidationContext,
  options: ValidationOptions = {},
): void {
  switch (kind) {
    case "Workflow":
      return validateWorkflow(manifest, context, options);
    case "WorkflowTemplate":
    case "ClusterWorkflowTemplate":
      return validateWorkflowTemplate(manifest, kind, context, options);
    case "CronWorkflow":
      return validateCronWorkflow(manifest, context, options);
    case "WorkflowEventBinding":
      return validateEventBinding(manifest);
    case "Subscription":
      return validateSubscription(manifest);
    case "ConfigMap":
    case "Secret":
      return;
  }
}
