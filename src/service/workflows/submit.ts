/** Creating workflows from stored templates and cron workflows. */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid } from "../../base/problem.ts";
import { freezeAll, isShared } from "../../base/shared_json.ts";
import type { TraceOrigin } from "../../base/trace_context.ts";
import { rfc3339 } from "../../engine/scope/time_text.ts";
import {
  type Arguments,
  type Artifact,
  type CronWorkflow,
  ManifestKind,
  type ObjectMeta,
  type OwnerReference,
  type Parameter,
  type Workflow,
  type WorkflowSpec,
  type WorkflowTemplate,
} from "../../spec/manifest.ts";
import {
  cronLabel,
  type Naming,
  scheduledTimeAnnotation,
  templateLabel,
} from "../../spec/naming.ts";
import { normalForm } from "../../spec/normal_form.ts";
import { WORKFLOW_SCHEMA } from "../../spec/schema/kinds.ts";
import { ownedBy } from "../../events/cron.ts";
import { requireAccess } from "../access.ts";
import { changedLabels, creatorLabels, type LabelChanges } from "../caller_labels.ts";
import type { ServiceDeps } from "../deps.ts";
import { type Idempotency, orFirstAnswer } from "../idempotency.ts";
import { WORKFLOW } from "../kinds.ts";
import { manifestObject } from "../../store/manifest_object.ts";
import { ManifestsChanged, type StoredManifest } from "../../store/manifest_port.ts";
import type { Version } from "../../store/version.ts";
import { findManifest, getManifest, requireManifestAccess } from "../manifests/reads.ts";
import { reachedAlone } from "../manifests/template_access.ts";
import { type ReachedTemplates, validateNewWorkflow } from "../manifests/validation.ts";
import { withArtifacts } from "./artifact_overrides.ts";
import { checkParameters } from "./control.ts";
import { storeWorkflow, withStoredTemplates } from "./create.ts";

/** What a submission changes in the workflow that the template gives. */
export interface SubmitOptions {
  name?: string;
  generateName?: string;
  entryPoint?: string;
  /** `name=value`. */
  parameters?: string[];
  serviceAccount?: string;
  dryRun?: boolean;
  serverDryRun?: boolean;
  /** `a=b,c=d`. */
  labels?: string;
  annotations?: string;
  ownerReference?: OwnerReference;
  podPriorityClassName?: string;
  priority?: number;
  /** `name=key`. */
  artifacts?: string[];
}

export interface SubmitRequest {
  namespace: string;
  resourceKind: string;
  resourceName: string;
  options: SubmitOptions;
  idempotency?: Idempotency | undefined;
  /** What caused it, where traces are wanted. */
  trace?: TraceOrigin | undefined;
}

type SourceKind = Extract<
  ManifestKind,
  "WorkflowTemplate" | "ClusterWorkflowTemplate" | "CronWorkflow"
>;

const SOURCES: Readonly<Record<string, SourceKind>> = {
  WorkflowTemplate: ManifestKind.WorkflowTemplate,
  workflowtemplate: ManifestKind.WorkflowTemplate,
  workflowtemplates: ManifestKind.WorkflowTemplate,
  wftmpl: ManifestKind.WorkflowTemplate,
  ClusterWorkflowTemplate: ManifestKind.ClusterWorkflowTemplate,
  clusterworkflowtemplate: ManifestKind.ClusterWorkflowTemplate,
  clusterworkflowtemplates: ManifestKind.ClusterWorkflowTemplate,
  cwftmpl: ManifestKind.ClusterWorkflowTemplate,
  CronWorkflow: ManifestKind.CronWorkflow,
  cronworkflow: ManifestKind.CronWorkflow,
  cronworkflows: ManifestKind.CronWorkflow,
  cronwf: ManifestKind.CronWorkflow,
};

/** @throws {Problem} InvalidArgument when nothing of this kind can be submitted */
function kindOf(resourceKind: string): SourceKind {
  const kind = Object.hasOwn(SOURCES, resourceKind) ? SOURCES[resourceKind] : undefined;
  if (kind === undefined) {
    throw invalid(`Resource kind '${resourceKind}' is not supported for submitting`);
  }
  return kind;
}

/** The namespace of a template. */
function placeOf(kind: ManifestKind, namespace: string): string {
  return kind === ManifestKind.ClusterWorkflowTemplate ? "" : namespace;
}

/** Submits a workflow from a stored resource. */
export async function submitWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  request: SubmitRequest,
): Promise<Workflow> {
  const { namespace } = request;
  // Refused first, whoever asks, as in the reference.
  kindOf(request.resourceKind);
  if (caller.isUnrestricted !== true) {
    await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace });
  }
  const make = () => makeWorkflow(deps, caller, request);
  return await orFirstAnswer(deps, caller, request.idempotency, make);
}

async function makeWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  request: SubmitRequest,
): Promise<Workflow> {
  const known = knownTemplate(deps, request);
  if (known !== undefined) {
    // What is wrong with a template of before may have been mended, so only the second look tells.
    const ready = await prepare(deps, caller, request, known.stored).catch(() => undefined);
    try {
      if (ready !== undefined) {
        return await storeReady(deps, caller, request, ready, known.manifests);
      }
    } catch (error) {
      if (!(error instanceof ManifestsChanged)) throw error;
    }
  }
  const ready = await prepare(deps, caller, request);
  return request.options.dryRun === true
    ? normalForm(ready.workflow, WORKFLOW_SCHEMA)
    : await storeReady(deps, caller, request, ready);
}

/** The template of a request as it was read before, if whoever writes the workflow finds out whether it has changed since. */
function knownTemplate(
  { store }: ServiceDeps,
  { namespace, resourceKind, resourceName, options }: SubmitRequest,
): { stored: StoredManifest; manifests: Version } | undefined {
  const kind = kindOf(resourceKind);
  const isTemplate = kind === ManifestKind.WorkflowTemplate ||
    kind === ManifestKind.ClusterWorkflowTemplate;
  if (!isTemplate || options.dryRun === true || options.serverDryRun === true) return undefined;
  const found = store.manifests.known?.(kind, placeOf(kind, namespace), resourceName);
  return found?.stored && { stored: found.stored, manifests: found.manifests };
}

/** A checked workflow, and what it reaches. */
interface Ready {
  workflow: Workflow;
  reached: ReachedTemplates;
}

/** @param template as it was read before. @default it is read now */
async function prepare(
  deps: ServiceDeps,
  caller: Caller,
  request: SubmitRequest,
  template?: StoredManifest,
): Promise<Ready> {
  const { namespace, options } = request;
  const source = await readSource(deps, caller, request, template);
  const isDry = options.dryRun === true;
  const labels = creatorLabels(caller.identity, deps.settings.naming.labelPrefix);
  const overridden = withOptions(source.workflow, options, labels);
  if (!isDry) overridden.metadata.namespace = namespace;
  const workflow = withArtifacts(overridden, source.artifacts, options.artifacts, namespace);
  const { known } = source;
  const reached = await validateNewWorkflow(deps, caller, workflow, namespace, undefined, known);
  return { workflow: withStoredTemplates(workflow, reached), reached };
}

/** @param ifManifests version of the manifests that were used, if nobody has asked yet whether it is the current one */
function storeReady(
  deps: ServiceDeps,
  caller: Caller,
  { namespace, options, idempotency, trace }: SubmitRequest,
  { workflow, reached: { manifests, isSmall } }: Ready,
  ifManifests?: Version,
): Promise<Workflow> {
  const { serverDryRun } = options;
  return storeWorkflow(deps, caller, {
    ...{ namespace, workflow, serverDryRun, manifests, ifManifests, isSmall, idempotency, trace },
  });
}

/** The workflow that a stored resource gives, and the artifacts whose keys a submission may override. */
interface Source {
  workflow: Workflow;
  artifacts: readonly Artifact[];
  /** What was read for that. */
  known?: ReachedTemplates["manifests"];
}

// A memo of a pure function, by shared templates, whose texts hold their names.
const sources = new WeakMap<WorkflowTemplate, Source & { place: string; labelPrefix: string }>();

async function readSource(
  deps: ServiceDeps,
  caller: Caller,
  request: SubmitRequest,
  given?: StoredManifest,
): Promise<Source> {
  const { namespace, resourceKind, resourceName } = request;
  const kind = kindOf(resourceKind);
  switch (kind) {
    case ManifestKind.WorkflowTemplate:
    case ManifestKind.ClusterWorkflowTemplate: {
      const isCluster = kind === ManifestKind.ClusterWorkflowTemplate;
      const place = placeOf(kind, namespace);
      const access = requireManifestAccess(caller, "get", kind, place, resourceName);
      if (access !== undefined) await access;
      const stored = given ?? await findManifest(deps, kind, place, resourceName);
      const template = manifestObject<WorkflowTemplate>(stored);
      const { naming } = deps.settings;
      const { labelPrefix } = naming;
      const before = sources.get(template);
      if (before?.place === place && before.labelPrefix === labelPrefix) return before;
      const source = {
        workflow: freezeAll(workflowFromTemplate(resourceName, isCluster, naming)),
        artifacts: template.spec.arguments?.artifacts ?? [],
        known: reachedAlone(`${kind}/${place}/${resourceName}`, template),
        place,
        labelPrefix,
      };
      if (isShared(template)) sources.set(template, source);
      return source;
    }
    case ManifestKind.CronWorkflow: {
      const cron = await getManifest<CronWorkflow>(deps, caller, kind, namespace, resourceName);
      const workflow = workflowFromCron(cron, deps.clock.now(), deps.settings.naming);
      return { workflow, artifacts: workflow.spec.arguments?.artifacts ?? [] };
    }
  }
}

/** A workflow that refers to a template. */
function workflowFromTemplate(name: string, clusterScope: boolean, naming: Naming): Workflow {
  return {
    metadata: {
      generateName: `${name}-`,
      labels: { [templateLabel(naming, clusterScope)]: name },
    },
    spec: {
      arguments: {},
      workflowTemplateRef: { name, ...(clusterScope && { clusterScope }) },
    },
  };
}

/** A copy of a cron workflow's workflow, scheduled now, owned by the cron workflow. */
function workflowFromCron(cron: CronWorkflow, nowMs: number, naming: Naming): Workflow {
  const name = cron.metadata.name ?? "";
  const { labels, annotations, finalizers } = cron.spec.workflowMetadata ?? {};
  return {
    metadata: {
      generateName: `${name}-`,
      labels: { ...labels, [cronLabel(naming)]: name },
      annotations: { ...annotations, [scheduledTimeAnnotation(naming)]: rfc3339(nowMs) },
      ...ownedBy(cron, naming),
      ...defined({ finalizers }),
    },
    spec: structuredClone(cron.spec.workflowSpec),
  };
}

/** Applies what submit options override, except artifacts, and then changes of labels. */
function withOptions(
  workflow: Workflow,
  options: SubmitOptions,
  changes: LabelChanges,
): Workflow {
  const given = parseMap(options.labels, "labels", options.labels);
  // Intentionally the labels' text, as in the reference.
  const annotations = parseMap(options.annotations, "Annotations", options.labels);
  const { ownerReference, priority, parameters } = options;
  const { labels: own, ...others } = workflow.metadata;
  const metadata: ObjectMeta = others;
  if (options.name) metadata.name = options.name;
  if (options.generateName) metadata.generateName = options.generateName;
  if (annotations !== undefined) metadata.annotations = { ...metadata.annotations, ...annotations };
  if (ownerReference !== undefined) {
    metadata.ownerReferences = [...metadata.ownerReferences ?? [], ownerReference];
  }
  const labels = changedLabels(given === undefined ? own : { ...own, ...given }, changes);
  if (labels !== undefined) metadata.labels = labels;
  const spec: WorkflowSpec = { ...workflow.spec };
  if (options.entryPoint) spec.entrypoint = options.entryPoint;
  if (options.serviceAccount) spec.serviceAccountName = options.serviceAccount;
  if (options.podPriorityClassName) spec.podPriorityClassName = options.podPriorityClassName;
  if (priority !== undefined) spec.priority = priority;
  if (parameters !== undefined && parameters.length > 0) {
    spec.arguments = withParameters(spec.arguments, parameters);
  }
  return { metadata, spec };
}

/**
 * Argument parameters with `name=value` overrides in front, which replace those of the same name.
 * @throws {Problem} InvalidArgument for an override without `=`
 */
function withParameters(given: Arguments | undefined, overrides: readonly string[]): Arguments {
  checkParameters(overrides);
  const parameters: Parameter[] = overrides.map((override) => {
    const at = override.indexOf("=");
    return { name: override.slice(0, at), value: override.slice(at + 1) };
  });
  const before = given?.parameters ?? [];
  if (before.length > 0) {
    const names = new Set(parameters.map(({ name }) => name));
    parameters.push(...before.filter(({ name }) => !names.has(name)));
  }
  return { ...given, parameters };
}

function parseMap(
  text: string | undefined,
  what: string,
  shown: string | undefined,
): Record<string, string> | undefined {
  if (text === undefined || text === "") return undefined;
  const refuse = (reason: string) =>
    invalid(
      `expected ${what} of the form: NAME1=VALUE2,NAME2=VALUE2. Received: ${
        shown ?? ""
      }: ${reason}`,
    );
  const pairs = text.split(",").map((part): [string, string] => {
    const [key = "", value, ...rest] = part.split("=");
    if (value === undefined || rest.length > 0) throw refuse(`unexpected label spec: ${part}`);
    if (key === "") throw refuse("unexpected empty label key");
    return [key, value];
  });
  return Object.fromEntries(pairs);
}
