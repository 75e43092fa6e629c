/** Validation of manifests together with the templates in the store. The spec layer has the rules; this loads what they need. */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { isShared } from "../../base/shared_json.ts";
import {
  type ClusterWorkflowTemplate,
  type CronWorkflow,
  type Subscription,
  type Template,
  type Workflow,
  type WorkflowEventBinding,
  type WorkflowSpec,
  type WorkflowTemplate,
} from "../../spec/manifest.ts";
import { validateEventBinding } from "../../spec/validation/event_binding.ts";
import {
  checkSubscribedNamespaces,
  validateSubscription,
} from "../../spec/validation/subscription.ts";
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
  Subscription: Subscription;
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
  return { stored: storedOf(manifest, namespace, templates), manifests: templates };
}

// A memo of a pure function, by shared specs: the stored templates of workflows that take their whole spec from a manifest
// of this name, which reaches no other.
const known = new WeakMap<WorkflowSpec, { name: string; stored: ReachedTemplates["stored"] }>();

function storedOf(
  workflow: Workflow,
  namespace: string,
  templates: Reached,
): ReachedTemplates["stored"] {
  if (templates.size === 0) return {};
  const { workflowTemplateRef, templates: own } = workflow.spec;
  const [[name, only] = ["", undefined]] = templates;
  const isPlain = templates.size === 1 && own === undefined && workflowTemplateRef !== undefined;
  if (!isPlain || only === undefined || !isShared(only.spec)) {
    return storedTemplatesOf(workflow, namespace, finderOf(templates));
  }
  let found = known.get(only.spec);
  if (found?.name !== name) {
    const stored = storedTemplatesOf(workflow, namespace, finderOf(templates));
    known.set(only.spec, found = { name, stored });
  }
  return { ...found.stored };
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
  if (kind === "Subscription") {
    validateSubscription(manifest);
    return checkSubscribedNamespaces(manifest, namespace, deps.settings.webhookAdminNamespace);
  }
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
