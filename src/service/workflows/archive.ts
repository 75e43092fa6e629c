/**
 * Archived workflows: the finished workflows of the store if the archive is on, nothing if it is off. Depending on the
 * settings, a workflow that is deleted is gone, or stays in the archive until its time is over.
 */
import { archivedActorName } from "../../actors/actor_ids.ts";
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid, isProblem, notFound, ProblemCode } from "../../base/problem.ts";
import {
  matchesLabels,
  operatorName,
  parseLabelSelector,
} from "../../expr/selectors/label_selector.ts";
import {
  ARCHIVED_NAME_LABEL,
  END_PHASES,
  type ObjectMeta,
  type Workflow,
} from "../../spec/manifest.ts";
import { Turns } from "../../platform/turns.ts";
import type { ListPage, ListQuery } from "../../store/port.ts";
import { requireAccess, requireWorkflowList } from "../access.ts";
import { actorLabels } from "../caller_labels.ts";
import { withDependents } from "../deleted_owners.ts";
import type { ServiceDeps } from "../deps.ts";
import { executeOptions, type Idempotency, orFirstAnswer } from "../idempotency.ts";
import { WORKFLOW } from "../kinds.ts";
import {
  archivedSource,
  broughtBack,
  deleteFromArchive,
  deleteReturned,
  isArchivedOnly,
} from "../history/archived_source.ts";
import { parseContinueToken, tokenAfter } from "../continue_token.ts";
import { controlWorkflow, deleteWorkflow } from "./control.ts";
import { findBack, findLiveWorkflow, findWorkflowByUid, readFirst } from "./reads.ts";
import {
  reducedWorkflow,
  remainingOf,
  type WorkflowListRequest,
  type WorkflowPage,
  workflowQuery,
} from "./list.ts";
import { listOf, listOfName, pageFrom } from "./pages.ts";
import { resubmitFrom, type ResubmitRequest } from "./resubmit.ts";
import { isDeleted } from "../history/archived_form.ts";
import { requireTemplates } from "../manifests/template_access.ts";
import { MAX_PAGE_SIZE } from "../page_size.ts";
import { isNotFound, undefinedWhenNotFound } from "../problem_kinds.ts";
import { isUnreadable, requireReadable, workflowSteps } from "./stored_workflow.ts";
import { OBJECT_LABEL, SOURCE_LABEL } from "./object_origin.ts";
import { archivingStatusLabel, isOwnerLabel, withoutOwners } from "../../spec/naming.ts";

/** Which archived workflow is meant: by uid, or by name and namespace when the uid is empty. */
export interface ArchivedRef {
  uid: string;
  namespace?: string;
  name?: string;
}

export interface ArchiveListRequest extends WorkflowListRequest {
  /** Beginning of the name, or with `nameFilter=Exact` the whole name. */
  namePrefix?: string;
}

/** First wait for a workflow that is on its way into the archive; each wait is twice as long as the one before. */
const FIRST_LOOK_MS = 50;
/** The longest wait. All waits together take less than twice as long. */
const LAST_LOOK_MS = 1_000;
/** Most workflows that are read for label keys and values. */
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
  const name = wholeName(request, query);
  const wanted = { ...archived(deps, query), ...beginning(request, query) };
  const rows = { ...wanted, withoutNodes: true, maxSize: MAX_PAGE_SIZE };
  // Of one name there are the one that still exists and all deleted ones, newest first.
  const list = name !== undefined ? listOfName(deps, name) : listOf(deps);
  const page = await pageFrom(list, start, { ...rows, count: showRemaining });
  const isCounted = showRemaining && query.limit > 0;
  return {
    items: await rowsOf(deps, page.items, request.exactTimes),
    version: page.version,
    ...defined({
      continue: tokenAfter(start, page.items.length, page.continue),
      remaining: isCounted ? remainingOf(page) : undefined,
      isWithoutArchive: page.isWithoutArchive,
    }),
  };
}

/** The whole name that is asked for; undefined when it is a part of one, or none. */
function wholeName(
  { namePrefix = "", nameFilter }: ArchiveListRequest,
  { name }: ListQuery,
): string | undefined {
  if (name !== undefined) return name.match === "exact" ? name.value : undefined;
  return namePrefix !== "" && nameFilter === "Exact" ? namePrefix : undefined;
}

/** The filter for the beginning of the name, which is looked at beside what the field selector says of the name. */
function beginning({ namePrefix = "" }: ArchiveListRequest, { name }: ListQuery) {
  if (namePrefix === "") return {};
  return name === undefined
    ? { name: { value: namePrefix, match: "prefix" as const } }
    : { namePrefix };
}

/** Rows of a list, made a few at a time. */
async function rowsOf(
  { onUnreadable }: ServiceDeps,
  items: ListPage["items"],
  exactTimes: boolean | undefined,
): Promise<Workflow[]> {
  const turns = new Turns();
  const rows: Workflow[] = [];
  for (const item of items) {
    const known = { index: item.index, onUnreadable, exactTimes };
    const workflow = await turns.run(workflowSteps(item, known));
    rows.push(reducedWorkflow(workflow));
    await turns.pause();
  }
  return rows;
}

/** Narrows a query to workflows that are in the archive. */
function archived({ settings }: ServiceDeps, query: ListQuery): ListQuery {
  const labels = [...query.labels ?? [], ...settings.archiveSelector ?? []];
  return {
    ...query,
    phases: [...END_PHASES],
    ...(labels.length > 0 && { labels }),
  };
}

/** Reads an archived workflow. */
export async function getArchived(
  deps: ServiceDeps,
  caller: Caller,
  ref: ArchivedRef,
  exactTimes = false,
): Promise<Workflow> {
  const workflow = await findArchived(deps, ref, exactTimes);
  const { namespace = "", name = "" } = workflow.metadata;
  await requireAccess(caller, { verb: "get", resource: WORKFLOW.resource, namespace, name });
  return workflow;
}

/**
 * Deletes an archived workflow. If it still exists outside the archive, it is deleted there too. If somebody else deletes it
 * there at the same moment (web pages delete it in both places at once), it is on its way into the archive and is waited for.
 */
export async function deleteArchived(
  deps: ServiceDeps,
  caller: Caller,
  ref: ArchivedRef,
): Promise<void> {
  const { metadata } = await arriving(deps, () => getArchived(deps, caller, ref));
  const { namespace = "", name = "", uid = "" } = metadata;
  if (await wasMoved(deps, uid)) {
    await requireAccess(caller, { verb: "delete", resource: WORKFLOW.resource, namespace, name });
    const place = { namespace, name, uid };
    if (!isDeleted(metadata.labels, deps.settings.naming)) {
      return await withDependents(
        deps,
        place,
        () => deleteFromArchive(deps, place, { forGood: true }),
      );
    }
    await deps.history?.archive.remove([uid]);
    return await deleteReturned(deps, place, true);
  }
  if (!isDeleted(metadata.labels, deps.settings.naming)) {
    await deleteWorkflow(deps, caller, { namespace, name }, {
      forGood: true,
      ...defined({ uid }),
    }).catch(async (error: unknown) => {
      if (!isNotFound(error)) throw error;
      await arriving(deps, () => archivedCopy(deps, metadata)).catch(undefinedWhenNotFound);
    });
  }
  await requireAccess(caller, { verb: "delete", resource: WORKFLOW.resource, namespace, name });
  await forget(deps, metadata, true);
  await deleteReturned(deps, { namespace, name, uid }, true);
}

/** Tells whether a workflow is in the archive beside the store, and not on its way there because it is being deleted. */
async function wasMoved({ history }: ServiceDeps, uid: string): Promise<boolean> {
  if (history === undefined) return false;
  return await history.live.query.findByUid(uid) === undefined &&
    await history.archive.get(uid) !== undefined;
}

/** Removes a workflow that only the archive has, if there is one. For good: also what is on its way to the archive. */
async function forget(deps: ServiceDeps, metadata: ObjectMeta, forGood: boolean): Promise<void> {
  const place = await archivedCopy(deps, metadata).catch(undefinedWhenNotFound);
  if (place === undefined) return;
  const { namespace = "", uid = "" } = metadata;
  // Where there is an archive beside the store, it may be there or here.
  await deps.host.execute(namespace, place, { type: "delete", force: true, forGood })
    .catch((error: unknown) => {
      if (deps.history === undefined || !isNotFound(error)) throw error;
    });
  if (await isArchivedOnly(deps, uid)) await deps.history?.archive.remove([uid]);
}

/** Looks again and again for what may be on its way into the archive, for a while. @throws what `look` threw last */
async function arriving<T>(deps: ServiceDeps, look: () => Promise<T>): Promise<T> {
  for (let wait = FIRST_LOOK_MS;; wait *= 2) {
    try {
      return await look();
    } catch (error) {
      const isLate = wait > LAST_LOOK_MS || deps.settings.archiveDeleted !== true;
      if (isLate || !isNotFound(error)) throw error;
    }
    await deps.clock.sleep(wait);
  }
}

/** The name of the actor of a workflow that only the archive has. @throws {Problem} NotFound when there is none */
async function archivedCopy(
  deps: ServiceDeps,
  { namespace = "", name = "", uid = "" }: ObjectMeta,
): Promise<string> {
  const place = archivedActorName(name, uid);
  if (await deps.workflows.find(namespace, place) === undefined) throw notFound("not found");
  return place;
}

export interface ArchivedRetryRequest {
  restartSuccessful?: boolean;
  nodeFieldSelector?: string;
  parameters?: string[];
}

/**
 * Retries an archived workflow. It keeps its uid, so links by uid stay valid. A deleted workflow comes back.
 * @throws {Problem} AlreadyExists when there is a newer workflow of its name, or it has come back and not ended yet
 */
export async function retryArchived(
  deps: ServiceDeps,
  caller: Caller,
  ref: ArchivedRef,
  request: ArchivedRetryRequest,
  idempotency?: Idempotency,
): Promise<Workflow> {
  const retry = { type: "retry", ...request } as const;
  const options = executeOptions(idempotency);
  let workflow: Workflow;
  try {
    workflow = requireReadable(await getArchived(deps, caller, ref, true));
  } catch (error) {
    const back = isNotFound(error) && deps.settings.archive
      ? await findBack(deps, caller, ref.uid)
      : undefined;
    if (back === undefined) throw error;
    // A repeat is to get the answer that its sender never got.
    if (idempotency === undefined) throw back.refusal;
    return await controlWorkflow(deps, caller, back.ref, retry, options).catch((refusal) => {
      throw isProblem(refusal, ProblemCode.InvalidArgument) ? back.refusal : refusal;
    });
  }
  const { metadata } = workflow;
  const { namespace = "", name = "", uid = "" } = metadata;
  if (!isDeleted(metadata.labels, deps.settings.naming) && !await isArchivedOnly(deps, uid)) {
    return await controlWorkflow(deps, caller, { namespace, name }, retry, options);
  }
  for (const verb of ["create", "update"] as const) {
    await requireAccess(caller, { verb, resource: WORKFLOW.resource, namespace, name });
  }
  await requireTemplates(deps, caller, workflow.spec, namespace);
  const { [archivingStatusLabel(deps.settings.naming)]: _status, ...kept } = metadata.labels ?? {};
  // The Workflow object that it was made from will not come back.
  const { [SOURCE_LABEL]: _source, [OBJECT_LABEL]: _object, ...labels } = kept;
  const past = (await archivedSource(deps, namespace, name, uid))?.past;
  const place = { namespace, name, uid, labels: metadata.labels };
  const restored = await broughtBack(deps, place, () =>
    deps.host.execute(namespace, name, {
      type: "restore",
      workflow: { ...workflow, metadata: { ...metadata, labels } },
      ...defined({ past }),
      request: retry,
      labels: actorLabels(caller.identity, "Retry", deps.settings.naming.labelPrefix),
    }, options));
  // A row in the archive stays until the next end replaces it.
  if (isDeleted(metadata.labels, deps.settings.naming)) await forget(deps, metadata, false);
  return restored;
}

/** Starts an archived workflow again under a new name. */
export async function resubmitArchived(
  deps: ServiceDeps,
  caller: Caller,
  ref: ArchivedRef,
  request: ResubmitRequest,
): Promise<Workflow> {
  return await orFirstAnswer(deps, caller, request.idempotency, async () => {
    const workflow = requireReadable(await getArchived(deps, caller, ref));
    return await resubmitFrom(deps, caller, workflow, { ...request, namespace: ref.namespace });
  });
}

/** Label keys of archived workflows that the caller may see, sorted. */
export async function archivedLabelKeys(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
): Promise<string[]> {
  const inStore = await archivedLabels(deps, caller, namespace);
  const keys = new Set<string>(
    await deps.history?.archive.labelKeys(namespace || undefined, LABEL_SCAN_LIMIT),
  );
  for (const labels of inStore) {
    for (const key of Object.keys(labels)) keys.add(key);
  }
  return [...keys].filter((key) => !isOwnerLabel(key)).sort();
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
  if (term.operator !== "exists") throw invalid(`operation ${operatorName(term)} is not supported`);
  const inStore = await archivedLabels(deps, caller, namespace);
  const values = new Set<string>(
    await deps.history?.archive.labelValues(namespace || undefined, term.key, LABEL_SCAN_LIMIT),
  );
  for (const labels of inStore) {
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
  const page = await (deps.history?.live ?? deps.store).query.list({
    ...archived(deps, { kind: "wf", limit: LABEL_SCAN_LIMIT }),
    parts: [],
    ...(namespace !== "" && { namespace }),
  });
  return page.items.map(({ index }) => {
    const { [ARCHIVED_NAME_LABEL]: _name, ...labels } = withoutOwners(index.labels);
    return labels;
  });
}

async function findArchived(
  deps: ServiceDeps,
  ref: ArchivedRef,
  exactTimes: boolean,
): Promise<Workflow> {
  const { uid, namespace = "", name = "" } = ref;
  if (uid === "" && (name === "" || namespace === "")) {
    throw invalid("both name and namespace are required if uid is not specified");
  }
  if (!deps.settings.archive) throw notFound("not found");
  const found = uid !== ""
    ? await findWorkflowByUid(deps, uid, exactTimes)
    : await findLiveWorkflow(deps, namespace, name, exactTimes);
  const isFinished = found !== undefined &&
    ((found.status?.finishedAt ?? null) !== null || isUnreadable(found));
  const isSelected = matchesLabels(deps.settings.archiveSelector ?? [], found?.metadata.labels);
  if (isFinished && isSelected) return found;
  if (uid === "") {
    // A newer workflow of the name hides neither a deleted one nor one that has moved.
    const rows = archived(deps, { kind: "wf", namespace, limit: 1 });
    const other = await readFirst(deps, await listOfName(deps, name)(rows), exactTimes);
    if (other !== undefined && other.metadata.uid !== found?.metadata.uid) return other;
  }
  throw notFound("not found");
}
