/** Validation of manifests together with the templates in the store. The spec layer has the rules; this loads what they need. */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid } from "../../base/problem.ts";
import {
  type ClusterWorkflowTemplate,
  type CronWorkflow,
  type Subscription,
  type Template,
  type Workflow,
  type WorkflowEventBinding,
  type WorkflowTemplate,
} from "../../spec/manifest.ts";
import { validateEventBinding } from "../../spec/validation/event_binding.ts";
import {
  checkSubscribedNamespaces,
  validateSubscription,
} from "../../spec/validation/subscription.ts";
import type { TemplatePlace } from "../../spec/validation/owner.ts";
import type { ValidationOptions } from "../../spec/validation/validate.ts";
import type { ServiceDeps, ServiceSettings } from "../deps.ts";
import {
  checkLarge,
  checkManifest,
  checkSmall,
  type ManifestCheck,
  TemplatesNeeded,
} from "./check.ts";
import { storedTemplatesOf } from "./stored_templates.ts";
import {
  finderOf,
  loadMoreTemplates,
  loadReachedTemplates,
  type Reached,
} from "./template_access.ts";

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
  stored: Readonly<Record<string, Template>>;
  manifests: Reached;
  /** The workflow and all that it reaches are small. */
  isSmall: boolean;
}

/**
 * Checks a workflow that is about to be created.
 * @param source the template that this request has read already, see `reachedAlone`
 */
export async function validateNewWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  workflow: Workflow,
  namespace: string,
  options: ValidationOptions = NO_OPTIONS,
  source?: Reached,
): Promise<ReachedTemplates> {
  const found = loadReachedTemplates(deps, caller, workflow.spec, namespace, source);
  const templates = found instanceof Promise ? await found : found;
  const manifest = withNamespace(workflow, namespace);
  const bounded = optionsOf(deps.settings, options);
  const check = { kind: "Workflow", manifest, templates, options: bounded } as const;
  try {
    const isSmall = checkSmall(check);
    if (!isSmall) await checkLarge(check, deps.checks);
    return { stored: storedOf(manifest, namespace, templates), manifests: templates, isSmall };
  } catch (error) {
    if (!(error instanceof TemplatesNeeded)) throw error;
    const { all, isSmall } = await checkWithMore(deps, caller, check, namespace, error.places);
    return { stored: storedOf(manifest, namespace, all), manifests: all, isSmall };
  }
}

/** Most times that templates are loaded whose names stand in arguments: each may call others in the same way. */
const MAX_ROUNDS = 8;

/** Checks a manifest again, with templates that only its arguments name. @throws {Problem} as the rules of its kind */
async function checkWithMore(
  deps: ServiceDeps,
  caller: Caller,
  check: ManifestCheck,
  namespace: string,
  places: readonly TemplatePlace[],
): Promise<{ all: Reached; isSmall: boolean }> {
  let needed = places;
  let all = check.templates;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    all = await loadMoreTemplates(deps, caller, needed, namespace, all);
    const again: ManifestCheck = { ...check, templates: all };
    try {
      const isSmall = checkSmall(again);
      if (!isSmall) await checkLarge(again, deps.checks);
      return { all, isSmall };
    } catch (error) {
      if (!(error instanceof TemplatesNeeded)) throw error;
      needed = error.places;
    }
  }
  throw invalid(
    `arguments name stored templates whose arguments name others, more than ${MAX_ROUNDS} times`,
  );
}

const NO_OPTIONS: ValidationOptions = Object.freeze({});

// A memo of a pure function. So the text of these options is made once, too.
const usual = new WeakMap<ServiceSettings, ValidationOptions>();

function optionsOf(settings: ServiceSettings, options: ValidationOptions): ValidationOptions {
  const { maxNodes, naming } = settings;
  if (options !== NO_OPTIONS) return { ...options, naming, ...defined({ maxNodes }) };
  let found = usual.get(settings);
  if (found === undefined) {
    usual.set(settings, found = Object.freeze({ naming, ...defined({ maxNodes }) }));
  }
  return found;
}

// A memo of a pure function: what workflows store that take their whole spec from one template, which reaches no other.
const known = new WeakMap<Reached, ReachedTemplates["stored"]>();
const NO_TEMPLATES: ReachedTemplates["stored"] = Object.freeze({});

function storedOf(
  workflow: Workflow,
  namespace: string,
  templates: Reached,
): ReachedTemplates["stored"] {
  if (templates.size === 0) return NO_TEMPLATES;
  const { workflowTemplateRef, templates: own } = workflow.spec;
  const isPlain = templates.size === 1 && own === undefined && workflowTemplateRef !== undefined;
  if (!isPlain) return storedTemplatesOf(workflow, namespace, finderOf(templates));
  let stored = known.get(templates);
  if (stored === undefined) {
    stored = Object.freeze(storedTemplatesOf(workflow, namespace, finderOf(templates)));
    known.set(templates, stored);
  }
  return stored;
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
  try {
    await checkManifest(check as ManifestCheck, deps.checks);
  } catch (error) {
    if (!(error instanceof TemplatesNeeded)) throw error;
    await checkWithMore(deps, caller, check as ManifestCheck, namespace, error.places);
  }
}

function withNamespace<T extends { metadata: { namespace?: string } }>(
  object: T,
  namespace: string,
): T {
  if (object.metadata.namespace === namespace) return object;
  return { ...object, metadata: { ...object.metadata, namespace } };
}
