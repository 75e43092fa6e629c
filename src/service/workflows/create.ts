/** Creating workflows from a manifest, with name, uid and creator. */
import type { ExecuteOptions, WorkflowCommand } from "../../actors/port.ts";
import type { Caller } from "../../auth/port.ts";
import { invalid, isProblem, ProblemCode } from "../../base/problem.ts";
import type { TraceOrigin } from "../../base/trace_context.ts";
import { rfc3339 } from "../../engine/scope/time_text.ts";
import { nextTurn } from "../../platform/clock.ts";
import type { ObjectMeta, Workflow, WorkflowStatus } from "../../spec/manifest.ts";
import { normalForm } from "../../spec/normal_form.ts";
import { WORKFLOW_SCHEMA } from "../../spec/schema/kinds.ts";
import { requireAccess } from "../access.ts";
import { withCreatorLabels } from "../caller_labels.ts";
import type { ServiceDeps } from "../deps.ts";
import { fractionsOf, type Idempotency, orFirstAnswer } from "../idempotency.ts";
import { WORKFLOW } from "../kinds.ts";
import { ManifestsChanged } from "../../store/manifest_port.ts";
import type { Version } from "../../store/version.ts";
import { isLarge } from "../manifests/check.ts";
import {
  checkMetadata,
  generateName,
  isNamespace,
  NAME_ATTEMPTS,
  namespaceOf,
  objectExists,
} from "../object_names.ts";
import { type ReachedTemplates, validateNewWorkflow } from "../manifests/validation.ts";

export interface CreateWorkflowRequest {
  namespace: string;
  workflow: Workflow | undefined;
  /** Does everything but store it: the answer has name and uid. */
  serverDryRun?: boolean | undefined;
  /** Answers with the checked request itself. */
  dryRun?: boolean;
  idempotency?: Idempotency | undefined;
  trace?: TraceOrigin | undefined;
}

/** Creates a workflow from a manifest. */
export async function createWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  request: CreateWorkflowRequest,
): Promise<Workflow> {
  const { namespace } = request;
  if (request.workflow === undefined) throw invalid("workflow body not specified");
  const given = newWorkflow(deps, request.workflow, caller);
  const place = placeOf(given, namespace);
  const workflow: Workflow = (given.metadata.namespace ?? "") === "" && place !== ""
    ? { ...given, metadata: { ...given.metadata, namespace: place } }
    : given;
  await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace: place });
  const { idempotency } = request;
  return await orFirstAnswer(deps, caller, idempotency, async () => {
    const reached = await validateNewWorkflow(deps, caller, workflow, place);
    const checked = withStoredTemplates(workflow, reached);
    if (request.dryRun === true) return normalForm(checked, WORKFLOW_SCHEMA);
    const { manifests, isSmall } = reached;
    const isChecked = manifests.size === 0;
    const known = { isChecked, manifests, isSmall };
    return await storeWorkflow(deps, caller, { ...request, workflow: checked, ...known });
  });
}

/**
 * A workflow without what only the server may write, with the labels of its creator. It is checked in the form in which it is
 * stored: a template with an empty list of steps is one without a type.
 */
export function newWorkflow(
  deps: Pick<ServiceDeps, "settings">,
  { metadata, spec }: Workflow,
  caller: Caller,
): Workflow {
  return withCreatorLabels(deps, normalForm({ metadata, spec }, WORKFLOW_SCHEMA), caller);
}

/**
 * The namespace in which a workflow is checked: its own, in which its templates are, or that of the request. What can't be a
 * namespace gets into no key or rule.
 */
export function placeOf({ metadata: { namespace = "" } }: Workflow, requested: string): string {
  return isNamespace(namespace) ? namespace : requested;
}

/** Adds the templates that the validation found by reference. */
export function withStoredTemplates(
  workflow: Workflow,
  { stored: storedTemplates }: Pick<ReachedTemplates, "stored">,
): Workflow {
  for (const _ in storedTemplates) return withStatus(workflow, { storedTemplates });
  return workflow;
}

function withStatus(workflow: Workflow, members: Partial<WorkflowStatus>): Workflow {
  const status = { startedAt: null, finishedAt: null, ...workflow.status, ...members };
  return { ...workflow, status };
}

export interface StoreWorkflowRequest {
  namespace: string;
  workflow: Workflow;
  serverDryRun?: boolean | undefined;
  /** The manifest is valid, whatever becomes of stored templates. */
  isChecked?: boolean;
  /** It is known not to be large. */
  isSmall?: boolean;
  /** Manifests that the workflow reaches, as they were just read. */
  manifests?: ReachedTemplates["manifests"];
  /** Version of all manifests at which they were read, if it is to be found out when the workflow is written. */
  ifManifests?: Version | undefined;
  /** The answer has name, namespace and uid only. */
  isBrief?: boolean;
  /** @default a new one */
  uid?: string;
  idempotency?: Idempotency | undefined;
  /** What caused it, where traces are wanted. */
  trace?: TraceOrigin | undefined;
}

type SubmitCommand = Extract<WorkflowCommand, { type: "submit" }>;

/**
 * Names and stores a checked workflow. When a generated name is taken, another one is generated.
 * @throws {Problem} AlreadyExists, PermissionDenied, InvalidArgument for its metadata
 * @throws {ManifestsChanged} the manifests have another version than `ifManifests`; nothing is stored
 */
export async function storeWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  request: StoreWorkflowRequest,
): Promise<Workflow> {
  const normal = normalForm(request.workflow, WORKFLOW_SCHEMA);
  // The shard's owner needs time for a large one too.
  if (request.isSmall !== true && isLarge(normal.spec, [normal.metadata])) await nextTurn();
  const isDry = request.serverDryRun === true;
  const requested = isDry ? normal.metadata.namespace ?? request.namespace : request.namespace;
  const namespace = namespaceOf(normal.metadata, requested);
  if (caller.isUnrestricted !== true) {
    await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace });
  }
  const { resourceVersion: _version, deletionTimestamp: _deleted, ...own } = normal.metadata;
  const { name: given = "", generateName: base = "" } = own;
  const estimate = isDry ? undefined : deps.estimates?.of(namespace, normal);
  const seconds = estimate instanceof Promise ? await estimate : estimate;
  // As the reference leaves out an estimate of 0.
  const estimated = seconds === undefined || seconds === 0
    ? normal
    : withStatus(normal, { estimatedDuration: seconds });
  // A repeated request must generate the same names as the first one.
  const fraction = fractionsOf(request.idempotency);
  const newName = () =>
    fraction === undefined
      ? deps.host.chooseName(namespace, () => generateName(base, deps.ids.fraction))
      : generateName(base, fraction);
  const options: ExecuteOptions = {};
  if (request.idempotency !== undefined) options.idempotency = request.idempotency;
  if (request.manifests !== undefined) options.manifests = request.manifests;
  for (let attempt = 1;; attempt++) {
    const name = given === "" && base !== "" ? newName() : given;
    const metadata: ObjectMeta = {
      ...own,
      name,
      namespace,
      uid: request.uid ?? deps.ids.uuid(),
      generation: 1,
      creationTimestamp: rfc3339(deps.clock.now()),
    };
    checkMetadata(deps, WORKFLOW, metadata, true);
    const workflow: Workflow = { ...estimated, metadata };
    try {
      if (isDry) return await dryRun(deps, workflow, namespace, name);
      const command: SubmitCommand = { type: "submit", workflow };
      if (request.isChecked === true) command.isChecked = true;
      if (request.isBrief === true) command.isBrief = true;
      if (request.trace !== undefined) command.trace = request.trace;
      const toFind = versionToFind(deps, request, namespace, name);
      options.ifManifests = toFind instanceof Promise ? await toFind : toFind;
      return await deps.host.execute(namespace, name, command, options);
    } catch (error) {
      if (!isProblem(error, ProblemCode.AlreadyExists) || given !== "") throw error;
      if (attempt === NAME_ATTEMPTS) throw objectExists(deps, WORKFLOW, name, true);
    }
  }
}

/** The version that the commit is to find. The owner of another shard is not asked to look: that is done here. */
function versionToFind(
  { store, host }: ServiceDeps,
  { ifManifests }: StoreWorkflowRequest,
  namespace: string,
  name: string,
): Version | undefined | Promise<undefined> {
  if (ifManifests === undefined || host.owns(namespace, name)) return ifManifests;
  return Promise.resolve(store.manifests.isCurrent?.(ifManifests)).then((isCurrent) => {
    if (isCurrent !== true) throw new ManifestsChanged();
    return undefined;
  });
}

async function dryRun(
  deps: ServiceDeps,
  workflow: Workflow,
  namespace: string,
  name: string,
): Promise<Workflow> {
  // The name of an archived one is free.
  const { items: [taken] } = await (deps.history?.live ?? deps.store).query.list({
    kind: "wf",
    namespace,
    name: { value: name, match: "exact" },
    limit: 1,
    parts: [],
  });
  if (taken !== undefined) throw objectExists(deps, WORKFLOW, name);
  return workflow;
}
