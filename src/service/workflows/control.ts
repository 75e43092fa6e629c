/** What users do with a workflow that exists: suspend, resume, stop, terminate, set, retry, delete. */
import type { Caller, Verb } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid, isProblem, ProblemCode } from "../../base/problem.ts";
import type { ControlRequest, User } from "../../engine/command.ts";
import type { ExecuteOptions, WorkflowCommand } from "../../actors/port.ts";
import { Turns } from "../../platform/turns.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { requireAccess } from "../access.ts";
import { actorLabels, type CallerAction, type LabelChanges } from "../caller_labels.ts";
import { orphansDependents, withDependents } from "../deleted_owners.ts";
import { type DeleteRequest, isToBeDeleted } from "../deletions.ts";
import type { ServiceDeps } from "../deps.ts";
import { executeOptions, type Idempotency } from "../idempotency.ts";
import { WORKFLOW } from "../kinds.ts";
import { objectNotFound } from "../object_names.ts";
import { allowedName, readWorkflow, resolveName, type WorkflowRef } from "./reads.ts";
import { readStoredWorkflow } from "./stored_workflow.ts";
import { requireTemplates } from "../manifests/template_access.ts";
import {
  archivedSource,
  broughtBack,
  deleteFromArchive,
  isArchivedOnly,
} from "../history/archived_source.ts";
import { isGone, isNotFound } from "../problem_kinds.ts";
import { isFromObject } from "./object_origin.ts";
import type { Naming } from "../../spec/naming.ts";

const ACTIONS: Record<ControlRequest["type"], CallerAction | undefined> = {
  suspend: "Suspend",
  resume: "Resume",
  stop: "Stop",
  terminate: "Terminate",
  retry: "Retry",
  set: undefined,
};

/** How a control request is answered. */
export interface ControlAnswer {
  idempotency?: Idempotency | undefined;
  /** Nodes are not wanted. The answer has them all the same if it is kept for a repeat. */
  isBrief?: boolean;
  /** `traceparent` of what caused it, where traces are wanted. */
  cause?: string | undefined;
}

type ControlCommand = Extract<WorkflowCommand, { type: "control" }>;

/** Applies a control request and returns the workflow as it is right after it. */
export async function controlWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
  request: ControlRequest,
  { idempotency, isBrief = false, cause }: ControlAnswer = {},
): Promise<Workflow> {
  const { namespace } = ref;
  const found = resolveName(deps, caller, namespace, ref.name);
  const name = typeof found === "string" ? found : await found;
  if (caller.isUnrestricted !== true) {
    for (const verb of verbsOf(request)) {
      await requireAccess(caller, { verb, resource: WORKFLOW.resource, namespace, name });
    }
  }
  if (namespace === "" || name === "") throw objectNotFound(deps, WORKFLOW, name);
  // Only the workflow itself may skip a step.
  if (request.type === "set" && request.phase === "Skipped") {
    throw invalid(`${request.phase} is an invalid phase to set to`);
  }
  // With other parameters it may reach other templates.
  if (request.type === "retry" && caller.isUnrestricted !== true) {
    const { spec } = await readWorkflow(deps, namespace, name);
    await requireTemplates(deps, caller, spec, namespace);
  }
  const command = commandOf(deps, caller, request, cause);
  if (isBrief && idempotency === undefined) command.isBrief = true;
  const options = executeOptions(idempotency);
  try {
    return await deps.host.execute(namespace, name, command, options);
  } catch (error) {
    return await orRestored(deps, { namespace, name }, command, options, error);
  }
}

function commandOf(
  { settings }: ServiceDeps,
  caller: Caller,
  request: ControlRequest,
  cause: string | undefined,
): ControlCommand {
  const user = request.type === "resume" ? userOf(caller) : undefined;
  const command: ControlCommand = {
    type: "control",
    request: user === undefined ? request : { ...request, user } as ControlRequest,
  };
  const labels = labelsOf(caller, request, settings.naming);
  if (labels !== undefined) command.labels = labels;
  if (cause !== undefined) command.cause = cause;
  return command;
}

/** How often somebody else may restore, or move, a workflow while it is looked for. */
const MAX_CHASES = 5;

/**
 * Goes on after a request to a workflow in the store has failed. A workflow that only the archive has is asked there: it
 * comes back if it takes the request, and refuses it like any other that has ended.
 */
async function orRestored(
  deps: ServiceDeps,
  { namespace, name }: WorkflowRef,
  command: ControlCommand,
  options: ExecuteOptions,
  failure: unknown,
): Promise<Workflow> {
  const { type: _type, isBrief: _isBrief, ...order } = command;
  let error = failure;
  for (let chase = 0;; chase++) {
    if (!isNotFound(error) || deps.history === undefined) throw error;
    const source = await archivedSource(deps, namespace, name);
    if (source === undefined) throw error;
    const { uid = "", labels } = source.workflow.metadata;
    const isArchived = await isArchivedOnly(deps, uid);
    // Unless it has just come back, it is the selected node that was not found.
    if (!isArchived && chase > 0) throw error;
    if (isArchived) {
      try {
        const restore = { type: "restore", ...source, ...order } as const;
        return await broughtBack(
          deps,
          { namespace, name, uid, labels },
          () => deps.host.execute(namespace, name, restore, options),
        );
      } catch (refusal) {
        // It is there again: somebody was faster.
        if (!isProblem(refusal, ProblemCode.AlreadyExists) || chase === MAX_CHASES) throw refusal;
      }
    }
    try {
      return await deps.host.execute(namespace, name, command, options);
    } catch (next) {
      error = next;
    }
  }
}

/** The rights that the reference asks for: stop and terminate are patches, unless a stop selects nodes. */
function verbsOf(request: ControlRequest): Verb[] {
  return ["get", isPatch(request) ? "patch" : "update"];
}

function isPatch(request: ControlRequest): boolean {
  return request.type === "terminate" ||
    (request.type === "stop" && (request.nodeFieldSelector ?? "") === "");
}

function labelsOf(
  caller: Caller,
  request: ControlRequest,
  { labelPrefix }: Naming,
): LabelChanges | undefined {
  const labels = actorLabels(caller.identity, ACTIONS[request.type], labelPrefix);
  // A patch of a caller of whom nothing is known leaves the labels of the one before.
  const isKnown = !isPatch(request) || Object.values(labels).some((value) => value !== null);
  return isKnown ? labels : undefined;
}

/** The caller as node messages show it; undefined when nothing is known. */
function userOf(
  { identity: { subject, email, preferredUsername } }: Caller,
): User | undefined {
  const isKnown = subject !== undefined || email !== undefined || preferredUsername !== undefined;
  return isKnown ? defined({ subject, email, preferredUsername }) : undefined;
}

/** How a workflow is deleted. */
export interface WorkflowDeleteRequest extends DeleteRequest {
  /** Even if it has finalizers. */
  force?: boolean;
  /** It does not stay in the archive. */
  forGood?: boolean;
}

/** Deletes a workflow. */
export async function deleteWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
  request: WorkflowDeleteRequest,
): Promise<void> {
  const { namespace } = ref;
  const name = await allowedName(deps, caller, ref, "get");
  const access = { resource: WORKFLOW.resource, namespace, name };
  const stored = await deps.workflows.findHead(namespace, name);
  if (stored === undefined) throw objectNotFound(deps, WORKFLOW, name);
  if (request.force === true) await requireAccess(caller, { ...access, verb: "patch" });
  await requireAccess(caller, { ...access, verb: "delete" });
  const { uid, labels } = (await readStoredWorkflow(stored, deps, new Turns())).metadata;
  const found = { uid, resourceVersion: stored.version };
  if (!isToBeDeleted(deps, WORKFLOW, name, request, found)) return;
  const hasObject = uid !== undefined && isFromObject({ uid, labels: labels ?? {} });
  // The object goes first: otherwise it might bring the workflow back.
  if (hasObject) await deps.objects?.remove(namespace, name, uid);
  const place = { namespace, name, ...defined({ uid }) };
  const remove = () => deleteWhereItIs(deps, place, request);
  try {
    if (orphansDependents(request)) await remove();
    else await withDependents(deps, place, remove);
  } catch (error) {
    // The watch of the objects has deleted it already.
    if (!hasObject || !isGone(error)) throw error;
  }
}

/** Deletes a workflow in the store or in the archive, also if it moves meanwhile. */
async function deleteWhereItIs(
  deps: ServiceDeps,
  { namespace, name, uid }: WorkflowRef,
  { force, forGood }: WorkflowDeleteRequest,
): Promise<void> {
  for (let chase = 0;; chase++) {
    try {
      await deps.host.execute(namespace, name, {
        type: "delete",
        ...(force === true && { force }),
        ...(forGood === true && { forGood }),
        ...defined({ uid }),
      });
      return;
    } catch (error) {
      if (!isNotFound(error) || uid === undefined || deps.history === undefined) throw error;
      if (await isArchivedOnly(deps, uid)) {
        return await deleteFromArchive(deps, { namespace, name, uid }, defined({ forGood }));
      }
      if (chase === MAX_CHASES) throw error;
    }
  }
}

/**
 * Checks that options have the form NAME=VALUE.
 * @throws {Problem} InvalidArgument that names the first one without
 */
export function checkParameters(parameters: readonly string[] | undefined): void {
  for (const parameter of parameters ?? []) {
    if (!parameter.includes("=")) {
      throw invalid(`expected parameter of the form: NAME=VALUE. Received: ${parameter}`);
    }
  }
}
