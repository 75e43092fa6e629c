/** Validation of manifests together with the templates in the store. The spec layer has the rules; this loads what they need. */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import {
  type ClusterWorkflowTemplate,
  type CronWorkflow,
  type Template,
  type Workflow,
  type WorkflowEventBinding,
  type WorkflowTemplate,
} from "../../spec/manifest.ts";
import { validateEventBinding } from "../../spec/validation/event_binding.ts";
import type { ValidationOptions } from "../../spec/validation/validate.ts";
import type { ServiceDeps } from "../deps.ts";
import { checkManifest, type ManifestCheck } from "./check.ts";
import { storedTemplatesOf } from "./stored_templates.ts";
import { finderOf, loadReachedTemplates, type Reached } from "./template_access.ts";

/** Manifests that are checked before they are stored: types by kind. */
export interface CheckedManifests {
  WorkflowTemplate: WorkflowTemplate;
  ClusterWorkflowTemplate: ClusterWorkflowTemplate;
  CronWorkflow: CronWorkflow;
  WorkflowEventBinding: WorkflowEventBinding;
}

export type CheckedKind = keyof CheckedManifests;

/** A manifest of one of these kinds. */
export type CheckedManifest = {
  [K in CheckedKind]: { kind: K; manifest: CheckedManifests[K] };
}[CheckedKind];

/** The templates that a workflow reaches by reference. */
export interface ReachedTemplates {
  /** Under the keys of `status.storedTemplates`. */
  stored: Record<string, Template>;
  manifests: Reached;
}

/**
 * Checks a workflow that is about to be created.
 * @param known templates that this request has read already
 */
export async function validateNewWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  workflow: Workflow,
  namespace: string,
  options: ValidationOptions = {},
  known?: Reached,
): Promise<ReachedTemplates> {
  const templates = await loadReachedTemplates(deps, caller, workflow.spec, namespace, known);
  const manifest = withNamespace(workflow, namespace);
  const { maxNodes, naming } = deps.settings;
  const bounded = { ...options, naming, ...defined({ maxNodes }) };
  await checkManifest({ kind: "Workflow", manifest, templates, options: bounded }, deps.checks);
  const stored = templates.size === 0
    ? {}
    : storedTemplatesOf(manifest, namespace, finderOf(templates));
  return { stored, manifests: templates };
}

/** Checks a manifest that is about to be stored. @throws {Problem} as the rules of its kind */
export async function validateManifest(
  deps: ServiceDeps,
  caller: Caller,
  { kind, manifest }: CheckedManifest,
  namespace: string,
  options: ValidationOptions = {},
): Promise<void> {
  if (kind === "WorkflowEventBinding") return validateEventBinding(manifest);
  const spec = kind === "CronWorkflow" ? manifest.spec.workflowSpec : manifest.spec;
  const templates = await loadReachedTemplates(deps, caller, spec, namespace);
  const check = {
    kind,
    manifest: withNamespace(manifest, namespace),
    templates,
    options: { ...options, naming: deps.settings.naming },
  };
  await checkManifest(check as ManifestCheck, deps.checks);
}

function withNamespace<T extends { metadata: { namespace?: string } }>(
  object: T,
  namespace: string,
): T {
  return { ...object, metadata: { ...object.metadata, namespace } };
}
