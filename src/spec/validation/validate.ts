/**
 * Whether a manifest can run: every rule of the reference, with its texts. Creation and `lint` call the same functions;
 * lint does not ask for values that a submission provides.
 */
import { defined } from "../../base/defined.ts";
import { checkWorkflowMetrics } from "./metrics.ts";
import { Problem } from "../../base/problem.ts";
import { anyArguments, givenArguments } from "../bind_arguments.ts";
import { checkForeseenNodes } from "./foreseen_nodes.ts";
import { checkOnce } from "./known_valid.ts";
import type {
  Arguments,
  CronWorkflow,
  Template,
  Workflow,
  WorkflowMetadata,
  WorkflowSpec,
  WorkflowTemplate,
  WorkflowTemplateRef,
} from "../manifest.ts";
import { MAX_LABELS } from "../manifest.ts";
import { cronLabel, type Naming, scheduledTimeAnnotation, STANDARD_NAMING } from "../naming.ts";
import { mergeArguments } from "../resolve.ts";
import { SpecError, withPrefix } from "../spec_error.ts";
import { CheckWork } from "./check_work.ts";
import { checkArguments } from "./arguments.ts";
import { checkCronSpec } from "./cron.ts";
import { checkExecutorPlugins } from "./executor_plugins.ts";
import { checkHooks } from "./hooks.ts";
import { holdsTag } from "./inputs_outputs.ts";
import { checkNames, checkObjectName, MAX_CRON_NAME } from "./names.ts";
import {
  type Call,
  missingTemplate,
  type Owner,
  ownerOf,
  placeOf,
  type TemplateFinder,
  type TemplateKind,
} from "./owner.ts";
import { checkPodResources } from "./pod.ts";
import { checkPodGc } from "./pod_gc.ts";
import { ANY_GLOBAL_ARTIFACT } from "./tags.ts";
import { TemplateWalk } from "./template.ts";
import { ALWAYS_KNOWN } from "./variables.ts";

/** What a manifest is checked against. */
export interface ValidationContext extends TemplateFinder {
  /** Labels and annotations that every workflow gets from the server's settings. */
  defaultMetadata?: WorkflowMetadata | undefined;
  /** Others wait meanwhile: more than a little work ends with a `CheckTooCostly`. @default {false} */
  isShort?: boolean;
}

export interface ValidationOptions {
  /** Values of workflow arguments may be missing. */
  lint?: boolean;
  /** Only the given manifests exist; a missing template is reported as not among them. */
  offline?: boolean;
  /** Names of the deployment. @default those of the reference */
  naming?: Naming;
  /** Most nodes that the workflow may have, as far as that can be foreseen. @default no bound */
  maxNodes?: number;
}

/**
 * Checks a workflow.
 *
 * @throws {SpecError} at the first rule that is broken
 * @throws {Problem} NotFound when the template of `workflowTemplateRef` does not exist
 */
export function validateWorkflow(
  workflow: Workflow,
  context: ValidationContext,
  options: ValidationOptions = {},
): void {
  checkObjectName("workflow", workflow.metadata.name);
  validateSpec(workflow, context, optionsOfWorkflow(options));
}

/** Checks a workflow template or a cluster workflow template. Errors as {@link validateWorkflow}. */
export function validateWorkflowTemplate(
  template: WorkflowTemplate,
  kind: TemplateKind,
  context: ValidationContext,
  options: ValidationOptions = {},
): void {
  const what = kind === "WorkflowTemplate" ? "workflow template" : "cluster workflow template";
  checkObjectName(what, template.metadata.name);
  const { name: _name, generateName: _generateName, ...metadata } = template.metadata;
  validateSpec({ metadata, spec: template.spec }, context, { ...options, isTemplate: true });
}

/** Checks a cron workflow and the workflow it makes. Errors as {@link validateWorkflow}. */
export function validateCronWorkflow(
  cron: CronWorkflow,
  context: ValidationContext,
  options: ValidationOptions = {},
): void {
  checkObjectName("cron workflow", cron.metadata.name, MAX_CRON_NAME);
  checkCronSpec(cron.spec);
  const { naming = STANDARD_NAMING } = options;
  const { labels, annotations } = cron.spec.workflowMetadata ?? {};
  const workflow: Workflow = {
    metadata: {
      ...defined({ namespace: cron.metadata.namespace }),
      labels: { ...labels, [cronLabel(naming)]: cron.metadata.name ?? "" },
      annotations: { ...annotations, [scheduledTimeAnnotation(naming)]: "" },
    },
    spec: cron.spec.workflowSpec,
  };
  try {
    // Intentionally without lint: nobody provides the arguments of a cron workflow later.
    validateWorkflow(workflow, context, { ...options, lint: false });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new SpecError(`cannot validate Workflow: ${error.message}`);
  }
}

interface SpecOptions extends ValidationOptions {
  isTemplate: boolean;
}

// A memo of a pure function, by frozen options.
const ofWorkflows = new WeakMap<ValidationOptions, SpecOptions>();

function optionsOfWorkflow(options: ValidationOptions): SpecOptions {
  const known = ofWorkflows.get(options);
  if (known !== undefined) return known;
  const made: SpecOptions = Object.freeze({ ...options, isTemplate: false });
  if (Object.isFrozen(options)) ofWorkflows.set(options, made);
  return made;
}

function validateSpec(workflow: Workflow, context: ValidationContext, options: SpecOptions): void {
  const { spec, metadata } = workflow;
  const namespace = metadata.namespace ?? "";
  const stored = findReferenced(spec, namespace, context, options);
  checkNames(spec.templates, "field", "spec.templates");
  checkWorkflowMetrics(spec.metrics);
  const given = stored === undefined
    ? spec.arguments ?? {}
    : mergeArguments(spec.arguments, stored.spec.arguments);
  const mayBeEmpty = options.lint === true || options.isTemplate;
  checkArguments("spec.arguments.", given, mayBeEmpty ? "template" : "workflow");
  checkOnce(
    { own: spec, stored: stored?.spec, metadata: [metadata, context.defaultMetadata], options },
    () => walkTemplates(workflow, stored, given, context, options),
  );
}

function walkTemplates(
  workflow: Workflow,
  stored: WorkflowTemplate | undefined,
  given: Arguments,
  context: ValidationContext,
  options: SpecOptions,
): void {
  const { spec, metadata } = workflow;
  const sources = [
    metadata,
    spec.workflowMetadata,
    context.defaultMetadata,
    stored?.spec.workflowMetadata,
  ];
  const namespace = metadata.namespace ?? "";
  const walk = new TemplateWalk(context, namespace, {
    isTemplate: options.isTemplate,
    isOffline: options.offline === true,
    missing: missingTemplate(options),
  }, new CheckWork(context.isShort === true));
  addWorkflowVariables(walk, workflow, given, sources);
  const owner = ownerOf("local", metadata.name ?? "", spec);
  const call = (template: string): Call =>
    stored === undefined
      ? { template }
      : { templateRef: { ...spec.workflowTemplateRef, template } };
  checkEntrypoint(walk, owner, call, given, spec, stored, options);
  checkExitHandler(walk, owner, call, spec, stored);
  checkHooks("hooks", spec.hooks);
  checkPodGc(spec);
  checkPodResources("spec.podResources", spec.podResources);
  checkExecutorPlugins(spec.executorPlugins);
  for (const { name = "" } of (stored?.spec ?? spec).templates ?? []) {
    withPrefix(`templates.${name} `, () => walk.checkCall(call(name), owner));
  }
  if (options.maxNodes !== undefined && !options.isTemplate) {
    const entrypoint = spec.entrypoint ?? stored?.spec.entrypoint;
    checkForeseenNodes(stored?.spec ?? spec, entrypoint, options.maxNodes);
  }
}

/** The stored template from which the whole spec is taken. */
function findReferenced(
  spec: WorkflowSpec,
  namespace: string,
  context: ValidationContext,
  options: ValidationOptions,
): WorkflowTemplate | undefined {
  const ref = spec.workflowTemplateRef;
  if (ref === undefined) return undefined;
  if ((spec.templates ?? []).length > 0) {
    throw new SpecError(
      "Templates is invalid field in spec if workflow referred WorkflowTemplate reference",
    );
  }
  return getReferencedTemplate(ref, namespace, context, options);
}

/**
 * Finds the template that a `workflowTemplateRef` names.
 *
 * @throws {Problem} NotFound when it does not exist
 */
function getReferencedTemplate(
  ref: WorkflowTemplateRef,
  namespace: string,
  finder: TemplateFinder,
  options: ValidationOptions = {},
): WorkflowTemplate {
  const place = placeOf(ref, namespace);
  const found = finder.findTemplate(...place);
  if (found !== undefined) return found;
  throw missingTemplate(options)(...place);
}

function addWorkflowVariables(
  walk: TemplateWalk,
  workflow: Workflow,
  given: Arguments,
  sources: readonly (WorkflowMetadata | undefined)[],
): void {
  walk.addGlobals(ALWAYS_KNOWN);
  const parameters = given.parameters ?? [];
  if (parameters.length > 0) {
    walk.addGlobals(["workflow.parameters", "workflow.parameters.json"]);
  }
  for (const { name, value } of parameters) {
    walk.globals.set(`workflow.parameters.${name}`, value ?? walk.nextPlaceholder());
  }
  for (const source of sources) {
    const labels = [...Object.keys(source?.labels ?? {}), ...Object.keys(source?.labelsFrom ?? {})];
    if (labels.length > MAX_LABELS) {
      throw new SpecError(`a workflow has at most ${MAX_LABELS} labels, not ${labels.length}`);
    }
    walk.addGlobals(labels.map((key) => `workflow.labels.${key}`));
    const annotations = Object.keys(source?.annotations ?? {});
    walk.addGlobals(annotations.map((key) => `workflow.annotations.${key}`));
  }
  const priority = workflow.spec.priority;
  if (priority !== undefined) walk.globals.set("workflow.priority", String(priority));
}

function checkEntrypoint(
  walk: TemplateWalk,
  owner: Owner,
  call: (template: string) => Call,
  given: Arguments,
  spec: WorkflowSpec,
  stored: WorkflowTemplate | undefined,
  { isTemplate }: SpecOptions,
): void {
  // A template need not name an entrypoint.
  if (isTemplate && (spec.entrypoint ?? "") === "") return;
  const entrypoint = spec.entrypoint || stored?.spec.entrypoint || "";
  if (entrypoint === "") throw new SpecError("spec.entrypoint is required");
  const source = isTemplate ? anyArguments(walk.nextPlaceholder) : givenArguments(given);
  walk.checkCall(call(entrypoint), owner, source);
}

function checkExitHandler(
  walk: TemplateWalk,
  owner: Owner,
  call: (template: string) => Call,
  spec: WorkflowSpec,
  stored: WorkflowTemplate | undefined,
): void {
  const handler = spec.onExit || stored?.spec.onExit || "";
  if (handler === "") return;
  walk.addGlobals(["workflow.failures"]);
  const templates: Template[] = [...spec.templates ?? [], ...stored?.spec.templates ?? []];
  const named = templates.some(({ outputs }) =>
    (outputs?.artifacts ?? []).some(({ globalName = "" }) => holdsTag(globalName))
  );
  if (named) walk.addGlobals([ANY_GLOBAL_ARTIFACT]);
  walk.checkCall(call(handler), owner, givenArguments(spec.arguments));
}
