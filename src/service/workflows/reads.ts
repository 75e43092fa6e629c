/** Reading workflows: one by name or uid, and the newest of a namespace. */
import type { Caller, Verb } from "../../auth/port.ts";
import { alreadyExists, Problem, ProblemCode } from "../../base/problem.ts";
import { loadSteps } from "../../engine/codec.ts";
import type { WorkflowState } from "../../engine/state.ts";
import type { ViewOptions } from "../../engine/view.ts";
import type { LabelTerm } from "../../expr/selectors/label_selector.ts";
import { Turns } from "../../platform/turns.ts";
import { ARCHIVED_NAME_LABEL, type Workflow } from "../../spec/manifest.ts";
import type { IndexEntry, ListPage, StoredActor } from "../../store/port.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { WORKFLOW } from "../kinds.ts";
import { objectNotFound } from "../object_names.ts";
import {
  findIndex,
  headFromStored,
  readStoredWorkflow,
  requireReadable,
  workflowSteps,
} from "./stored_workflow.ts";
import { withWait } from "./waits.ts";

/** Selects workflows that were not deleted. */
export const NOT_ARCHIVED: LabelTerm = {
  key: ARCHIVED_NAME_LABEL,
  operator: "!exists",
  values: [],
};

/** Stands for the newest workflow of a namespace, wherever a name is expected. */
export const LATEST = "@latest";

/** So many workflows of the newest second are compared to find the newest. */
const SAME_SECOND = 50;

/**
 * Reads a workflow without asking for rights.
 * @throws {Problem} NotFound, FailedPrecondition when its record cannot be read
 */
export async function readWorkflow(
  deps: ServiceDeps,
  namespace: string,
  name: string,
): Promise<Workflow> {
  const stored = await findStored(deps, namespace, name);
  return requireReadable(await readStoredWorkflow(stored, deps, new Turns()));
}

/** Finds a workflow that is in the store or has moved to the archive. @throws {Problem} NotFound */
export async function findStored(
  deps: ServiceDeps,
  namespace: string,
  name: string,
): Promise<StoredActor> {
  const stored = await deps.workflows.find(namespace, name);
  if (stored === undefined) throw objectNotFound(deps, WORKFLOW, name);
  return stored;
}

/**
 * Loads the state of a workflow for a look at what a request would do with it.
 * @throws {Problem} PermissionDenied when the caller may not see and change it, NotFound, FailedPrecondition when its record
 *   cannot be read
 */
export async function stateForCaller(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
): Promise<{ workflow: Workflow; state: WorkflowState }> {
  const { namespace } = ref;
  const name = await allowedName(deps, caller, ref, "get", "update");
  const stored = await findStored(deps, namespace, name);
  const turns = new Turns();
  const workflow = requireReadable(await readStoredWorkflow(stored, deps, turns));
  return { workflow, state: await turns.run(loadSteps(stored.parts)) };
}

/** As `resolveName`, for a caller who has these rights to the workflow. @throws {Problem} also PermissionDenied */
export async function allowedName(
  deps: ServiceDeps,
  caller: Caller,
  { namespace, name: asked }: WorkflowRef,
  ...verbs: Verb[]
): Promise<string> {
  const name = await resolveName(deps, caller, namespace, asked);
  for (const verb of verbs) {
    await requireAccess(caller, { verb, resource: WORKFLOW.resource, namespace, name });
  }
  return name;
}

/**
 * The name that a request means: `@latest` becomes the newest workflow's.
 * @throws {Problem} NotFound when the namespace has none, PermissionDenied when the caller may not list there
 */
export function resolveName(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  name: string,
): string | Promise<string> {
  if (name === LATEST) return newestName(deps, caller, namespace);
  // The names of archived actors are not names of workflows.
  if (name.includes("@")) throw objectNotFound(deps, WORKFLOW, name);
  return name;
}

async function newestName(deps: ServiceDeps, caller: Caller, namespace: string): Promise<string> {
  await requireAccess(caller, { verb: "list", resource: WORKFLOW.resource, namespace });
  const page = await deps.store.query.list({
    kind: "wf",
    ...(namespace !== "" && { namespace }),
    labels: [NOT_ARCHIVED],
    limit: SAME_SECOND,
    parts: [],
  });
  const newest = newestOf(page.items.map(({ index }) => index));
  if (newest === undefined) throw new Problem(ProblemCode.NotFound, "no workflows found");
  return newest.name;
}

/** The newest of what a list shows first: a list knows the second of a creation only, a start tells more. */
export function newestOf<T extends Pick<IndexEntry, "createdAt" | "startedAt">>(
  listed: readonly T[],
): T | undefined {
  const second = listed[0]?.createdAt;
  // One that has not started is newer than those that have.
  const startOf = ({ startedAt = Infinity }: T) => startedAt;
  return listed.filter(({ createdAt }) => createdAt === second)
    .reduce<T | undefined>(
      (best, one) => best === undefined || startOf(one) > startOf(best) ? one : best,
      undefined,
    );
}

/** Which workflow is asked for. */
export interface WorkflowRef {
  namespace: string;
  name: string;
  /** If given, the workflow must have this uid. */
  uid?: string;
}

interface ReadOptions extends ViewOptions {
  /** It is shown since when a step waits. */
  waits?: boolean;
}

/**
 * Reads a workflow for a caller.
 * @param shown `withoutNodes`: its nodes, and what follows from them, are not even loaded
 */
export async function getWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
  { withoutNodes = false, exactTimes = false, waits = false }: ReadOptions = {},
): Promise<Workflow> {
  const { namespace } = ref;
  const name = await allowedName(deps, caller, ref, "get");
  const { uid = "" } = ref;
  const stored = withoutNodes
    ? await deps.workflows.findHead(namespace, name)
    : await deps.workflows.find(namespace, name);
  const head = withoutNodes ? stored && headFromStored(stored, exactTimes) : undefined;
  const workflow = head ??
    (stored && await readStoredWorkflow(stored, deps, new Turns(), exactTimes));
  if (workflow !== undefined && (uid === "" || workflow.metadata.uid === uid)) {
    const index = waits && stored ? await findIndex(deps.store, stored) : undefined;
    return withWait(workflow, index?.waitsSince);
  }
  const archived = uid === ""
    ? await findDeletedWorkflow(deps, namespace, name, exactTimes)
    : await findWorkflowByUid(deps, uid, exactTimes);
  const { metadata } = archived ?? {};
  if (archived === undefined || metadata?.name !== name || metadata.namespace !== namespace) {
    throw objectNotFound(deps, WORKFLOW, name);
  }
  return archived;
}

/** The newest deleted workflow of a name that the archive keeps. */
export async function findDeletedWorkflow(
  deps: ServiceDeps,
  namespace: string,
  name: string,
  exactTimes = false,
): Promise<Workflow | undefined> {
  if (!deps.settings.archive || namespace === "") return undefined;
  const page = await deps.store.query.list({
    kind: "wf",
    namespace,
    labels: [{ key: ARCHIVED_NAME_LABEL, operator: "=", values: [name] }],
    limit: 1,
  });
  return await readFirst(deps, page, exactTimes);
}

/** Reads the first workflow of a page; undefined when it is empty. */
export async function readFirst(
  { onUnreadable }: ServiceDeps,
  { items: [first] }: ListPage,
  exactTimes: boolean,
): Promise<Workflow | undefined> {
  return first &&
    await new Turns().run(workflowSteps(first, { index: first.index, onUnreadable, exactTimes }));
}

/** Finds a workflow by its uid without asking for rights; undefined when there is none. */
export async function findWorkflowByUid(
  deps: ServiceDeps,
  uid: string,
  exactTimes = false,
): Promise<Workflow | undefined> {
  const id = await deps.store.query.findByUid(uid);
  const [kind, namespace, name] = id?.split("/") ?? [];
  if (kind !== "wf" || namespace === undefined || name === undefined) return undefined;
  const stored = await deps.workflows.find(namespace, name);
  return stored && await readStoredWorkflow(stored, deps, new Turns(), exactTimes);
}

/**
 * For a retry of an archived workflow that is not in the archive: another retry may have brought it back, perhaps with an
 * answer that its sender never got.
 * @returns where it is, and the refusal of another retry; undefined unless it has come back and not ended yet
 */
export async function findBack(
  deps: ServiceDeps,
  caller: Caller,
  uid: string,
): Promise<{ ref: WorkflowRef; refusal: Problem } | undefined> {
  const found = uid === "" ? undefined : await findWorkflowByUid(deps, uid);
  if (found === undefined || (found.status?.finishedAt ?? null) !== null) return undefined;
  const { namespace = "", name = "" } = found.metadata;
  await requireAccess(caller, { verb: "get", resource: WORKFLOW.resource, namespace, name });
  const refusal = alreadyExists(
    `Workflow ${name} is still there: retry it instead of its archived copy`,
  );
  return { ref: { namespace, name }, refusal };
}

/** The workflow of a name that is not only in the archive. */
export async function findLiveWorkflow(
  deps: ServiceDeps,
  namespace: string,
  name: string,
  exactTimes: boolean,
): Promise<Workflow | undefined> {
  const stored = await deps.workflows.find(namespace, name);
  return stored && await readStoredWorkflow(stored, deps, new Turns(), exactTimes);
}
