/** Reading workflows: one by name or uid, and the newest of a namespace. */
import { parseWorkflowActorId } from "../actors/actor_ids.ts";
import type { Caller } from "../auth/port.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import type { Workflow } from "../spec/manifest.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";
import { WORKFLOW } from "./kinds.ts";
import { objectNotFound } from "./object_names.ts";
import { workflowFromStored } from "./stored_workflow.ts";

/** Stands for the newest workflow of a namespace wherever a name is taken. */
export const LATEST = "@latest";

/**
 * Reads a workflow without asking for rights.
 * @throws {Problem} NotFound
 */
export async function readWorkflow(
  deps: ServiceDeps,
  namespace: string,
  name: string,
): Promise<Workflow> {
  const stored = await deps.workflows.find(namespace, name);
  if (stored === undefined) throw objectNotFound(WORKFLOW, name);
  return workflowFromStored(stored);
}

/**
 * The name that a request means: `@latest` becomes the newest workflow's.
 * @throws {Problem} NotFound when the namespace has none, PermissionDenied when the caller may not list there
 */
export async function resolveName(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  name: string,
): Promise<string> {
  if (name !== LATEST) return name;
  await requireAccess(caller, { verb: "list", resource: WORKFLOW.resource, namespace });
  const page = await deps.store.query.list({
    kind: "wf",
    ...(namespace === "" ? {} : { namespace }),
    limit: 1,
    parts: () => false,
  });
  const [newest] = page.items;
  if (newest === undefined) throw new Problem(ProblemCode.NotFound, "no workflows found");
  return newest.index.name;
}

/** Which workflow is asked for. */
export interface WorkflowRef {
  namespace: string;
  name: string;
  /** Must be the uid of the workflow found, when given. */
  uid?: string;
}

/** Reads a workflow for a caller. */
export async function getWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
): Promise<Workflow> {
  const { namespace } = ref;
  const name = await resolveName(deps, caller, namespace, ref.name);
  await requireAccess(caller, { verb: "get", resource: WORKFLOW.resource, namespace, name });
  const workflow = await readWorkflow(deps, namespace, name);
  if (ref.uid !== undefined && ref.uid !== "" && workflow.metadata.uid !== ref.uid) {
    throw objectNotFound(WORKFLOW, name);
  }
  return workflow;
}

/** Finds a workflow by its uid, for a caller; undefined when there is none or it may not be seen. */
export async function findWorkflowByUid(
  deps: ServiceDeps,
  uid: string,
): Promise<Workflow | undefined> {
  const id = await deps.store.query.findByUid(uid);
  const place = id === undefined ? undefined : parseWorkflowActorId(id);
  if (place === undefined) return undefined;
  const stored = await deps.workflows.find(place.namespace, place.name);
  return stored === undefined ? undefined : workflowFromStored(stored);
}
