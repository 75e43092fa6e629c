/**
 * Archived workflows. A finished workflow stays where it is, found by its uid: what the archive routes list are the
 * finished workflows of the store when the archive is on, and nothing when it is off.
 */
import type { Caller } from "../auth/port.ts";
import { invalid, notFound } from "../base/problem.ts";
import { parseLabelSelector } from "../expr/label_selector.ts";
import type { Workflow } from "../spec/manifest.ts";
import { requireAccess, requireWorkflowList } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";
import { WORKFLOW } from "./kinds.ts";
import { continueToken, parseContinueToken } from "./continue_token.ts";
import { controlWorkflow, deleteWorkflow } from "./workflow_control.ts";
import { findWorkflowByUid, readWorkflow } from "./workflow_reads.ts";
import { type WorkflowListRequest, type WorkflowPage, workflowQuery } from "./workflow_list.ts";
import { resubmitFrom, type ResubmitRequest } from "./workflow_resubmit.ts";
import { workflowFromStored } from "./stored_workflow.ts";

/** Which archived workflow is meant: by uid, or by name and namespace when the uid is empty. */
export interface ArchivedRef {
  uid: string;
  namespace?: string;
  name?: string;
}

export interface ArchiveListRequest extends WorkflowListRequest {
  /** Beginning of the name; with `nameFilter=Exact` the whole name. */
  namePrefix?: string;
}

/** Objects that are looked at for label keys and values. */
const LABEL_SCAN_LIMIT = 10_000;

/** Lists archived workflows, without their nodes and templates. */
export async function listArchived(
  deps: ServiceDeps,
  caller: Caller,
  request: ArchiveListRequest,
): Promise<WorkflowPage> {
  const { query, showRemaining } = workflowQuery(request);
  const start = parseContinueToken(request.continue);
  await requireWorkflowList(caller, query.namespace ?? "");
  if (!deps.settings.archive) return { items: [], version: await deps.store.query.version() };
  const { namePrefix = "" } = request;
  const page = await deps.store.query.list({
    ...query,
    phases: ["Succeeded", "Failed", "Error"],
    withoutNodes: true,
    count: showRemaining,
    ...(namePrefix === "" ? {} : {
      name: { value: namePrefix, match: request.nameFilter === "Exact" ? "exact" : "prefix" },
    }),
    ...(start.cursor === undefined ? {} : { continue: start.cursor }),
  });
  return {
    items: page.items.map((item) => reduced(workflowFromStored(item))),
    version: page.version,
    ...(page.continue === undefined ? {} : { continue: continueToken(page.continue) }),
    ...(showRemaining && query.limit > 0 ? { remaining: page.remaining ?? 0 } : {}),
  };
}

/** Reads an archived workflow. */
export async function getArchived(
  deps: ServiceDeps,
  caller: Caller,
  ref: ArchivedRef,
): Promise<Workflow> {
  const workflow = await findArchived(deps, ref);
  const { namespace = "", name = "" } = workflow.metadata;
  await requireAccess(caller, { verb: "get", resource: WORKFLOW.resource, namespace, name });
  return workflow;
}

/** Deletes an archived workflow. */
export async function deleteArchived(
  deps: ServiceDeps,
  caller: Caller,
  ref: ArchivedRef,
): Promise<void> {
  const { metadata } = await getArchived(deps, caller, ref);
  const { namespace = "", name = "", uid } = metadata;
  await deleteWorkflow(deps, caller, { namespace, name }, uid === undefined ? {} : { uid });
}

export interface ArchivedRetryRequest {
  restartSuccessful?: boolean;
  nodeFieldSelector?: string;
  parameters?: string[];
}

/** Retries an archived workflow. It is the same object as before, so links by uid stay right. */
export async function retryArchived(
  deps: ServiceDeps,
  caller: Caller,
  ref: ArchivedRef,
  request: ArchivedRetryRequest,
): Promise<Workflow> {
  const { metadata } = await getArchived(deps, caller, ref);
  const { namespace = "", name = "" } = metadata;
  return await controlWorkflow(deps, caller, { namespace, name }, { type: "retry", ...request });
}

/** Starts an archived workflow again under a new name. */
export async function resubmitArchived(
  deps: ServiceDeps,
  caller: Caller,
  ref: ArchivedRef,
  request: ResubmitRequest,
): Promise<Workflow> {
  return await resubmitFrom(deps, caller, await getArchived(deps, caller, ref), request);
}

/** Label keys of archived workflows that the caller may see, sorted. */
export async function archivedLabelKeys(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
): Promise<string[]> {
  const keys = new Set<string>();
  for (const labels of await archivedLabels(deps, caller, namespace)) {
    for (const key of Object.keys(labels)) keys.add(key);
  }
  return [...keys].sort();
}

/**
 * Values of one label key of archived workflows, sorted.
 * @param labelSelector exactly one key
 */
export async function archivedLabelValues(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  labelSelector: string,
): Promise<string[]> {
  const terms = parseLabelSelector(labelSelector);
  const [term] = terms;
  if (term === undefined || terms.length > 1) {
    throw invalid(`only allow 1 labelRequirement, found ${terms.length}`);
  }
  if (term.operator !== "exists") throw invalid(`operation ${term.operator} is not supported`);
  const values = new Set<string>();
  for (const labels of await archivedLabels(deps, caller, namespace)) {
    const value = labels[term.key];
    if (value !== undefined) values.add(value);
  }
  return [...values].sort();
}

async function archivedLabels(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
): Promise<Record<string, string>[]> {
  await requireWorkflowList(caller, namespace);
  if (!deps.settings.archive) return [];
  const page = await deps.store.query.list({
    kind: "wf",
    limit: LABEL_SCAN_LIMIT,
    phases: ["Succeeded", "Failed", "Error"],
    parts: () => false,
    ...(namespace === "" ? {} : { namespace }),
  });
  return page.items.map(({ index }) => index.labels);
}

async function findArchived(deps: ServiceDeps, ref: ArchivedRef): Promise<Workflow> {
  const { uid, namespace = "", name = "" } = ref;
  if (uid === "" && (name === "" || namespace === "")) {
    throw invalid("both name and namespace are required if uid is not specified");
  }
  const found = !deps.settings.archive
    ? undefined
    : uid === ""
    ? await readWorkflow(deps, namespace, name)
    : await findWorkflowByUid(deps, uid);
  const isFinished = (found?.status?.finishedAt ?? null) !== null;
  if (found === undefined || !isFinished) throw notFound("not found");
  return found;
}

/** A row of the archive list. */
function reduced(workflow: Workflow): Workflow {
  const { name, namespace, uid, creationTimestamp, labels, annotations } = workflow.metadata;
  const { suspend, arguments: given } = workflow.spec;
  const status = workflow.status;
  return {
    metadata: JSON.parse(
      JSON.stringify({ name, namespace, uid, creationTimestamp, labels, annotations }),
    ),
    spec: {
      ...(suspend === undefined ? {} : { suspend }),
      arguments: given ?? {},
    },
    ...(status === undefined ? {} : {
      status: JSON.parse(JSON.stringify({
        phase: status.phase,
        startedAt: status.startedAt,
        finishedAt: status.finishedAt,
        progress: status.progress,
        message: status.message,
        estimatedDuration: status.estimatedDuration,
        resourcesDuration: status.resourcesDuration,
      })),
    }),
  };
}
